//! A WireGuard tunnel that ends here, with clients that others wrote: two in user space, and the one that makes a network
//! device, in a network name space of its own.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use boringtun::x25519::{PublicKey, StaticSecret};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::matrix::checks;
use crate::matrix::socks::Association;
use crate::matrix::targets::{BYTES, DOWNLOAD, ECHO, Targets, hash};
use crate::support::{Engine, House, PATIENCE, Peer, Process, free_port, program, until};

/// Where flows are headed inside: everything goes to loopback in the end.
const INSIDE: [u8; 4] = [10, 99, 0, 1];
const INSIDE_V6: &str = "fd99::1";

fn secret(seed: u8) -> String {
    BASE64_STANDARD.encode([seed; 32])
}

fn public(seed: u8) -> String {
    BASE64_STANDARD.encode(PublicKey::from(&StaticSecret::from([seed; 32])).as_bytes())
}

/// The seeds of the server's key, of the keys of both of its peers, of that which the first has besides, and of a
/// stranger's.
const SERVER: u8 = 1;
const ANN: u8 = 2;
const BOB: u8 = 3;
const SHARED: u8 = 4;
const STRANGER: u8 = 5;

/// A server with two peers at this place.
fn server(listen: &str, port: u16) -> Value {
    let way = |tag: &str, to: &str| {
        json!({
            "tag": tag, "protocol": "freedom",
            "settings": { "redirect": format!("{to}:0"), "finalRules": [{ "action": "allow" }] }
        })
    };
    json!({
        "inbounds": [{
            "tag": "tunnel", "listen": listen, "port": port, "protocol": "wireguard",
            "settings": {
                "secretKey": secret(SERVER), "address": ["10.77.0.1/24", "fd77::1/64"],
                "peers": [
                    {
                        "publicKey": public(ANN), "preSharedKey": secret(SHARED), "email": "ann",
                        "allowedIPs": ["10.77.0.2/32", "fd77::2/128"]
                    },
                    { "publicKey": public(BOB), "email": "bob", "allowedIPs": ["10.77.0.3", "fd77::3"] }
                ]
            }
        }],
        // The targets of the tests sit at these two addresses.
        "outbounds": [way("streams", "127.0.0.1"), way("datagrams", "127.0.0.2")],
        "routing": { "rules": [{ "network": "udp", "outboundTag": "datagrams" }] }
    })
}

/// Who calls, at which address inside.
struct Caller {
    key: u8,
    number: u8,
}

const AS_ANN: Caller = Caller { key: ANN, number: 2 };
/// Somebody with the right preshared key, whose own is known to nobody.
const AS_STRANGER: Caller = Caller { key: STRANGER, number: 2 };

fn sing_box(to: u16, caller: &Caller) -> Peer {
    crate::support::sing_box(|door| {
        json!({
            "log": { "level": "debug" },
            "inbounds": [{ "type": "mixed", "listen": "127.0.0.1", "listen_port": door }],
            "endpoints": [{
                "type": "wireguard", "tag": "tunnel", "system": false, "mtu": 1408,
                "address": [format!("10.77.0.{}/32", caller.number), format!("fd77::{}/128", caller.number)],
                "private_key": secret(caller.key),
                "peers": [{
                    "address": "127.0.0.1", "port": to, "public_key": public(SERVER),
                    "pre_shared_key": secret(SHARED), "allowed_ips": ["0.0.0.0/0", "::/0"], "reserved": [7, 8, 9]
                }]
            }],
            "route": { "final": "tunnel" }
        })
    })
}

fn mihomo(to: u16, caller: &Caller) -> Peer {
    Peer::start("mihomo", |door, folder| {
        let config = json!({
            "mode": "rule", "log-level": "debug", "ipv6": true, "find-process-mode": "off", "geo-auto-update": false,
            "profile": { "store-selected": false, "store-fake-ip": false },
            "listeners": [{ "name": "in", "type": "socks", "listen": "127.0.0.1", "port": door, "udp": true, "proxy": "way" }],
            "proxies": [{
                "name": "way", "type": "wireguard", "server": "127.0.0.1", "port": to, "udp": true, "mtu": 1408,
                "ip": format!("10.77.0.{}", caller.number), "ipv6": format!("fd77::{}", caller.number),
                "private-key": secret(caller.key), "public-key": public(SERVER), "pre-shared-key": secret(SHARED),
                "allowed-ips": ["0.0.0.0/0", "::/0"], "reserved": [7, 8, 9]
            }],
            "rules": ["MATCH,DIRECT"]
        });
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let mut command = Command::new(program("mihomo"));
        command.args(["-d", ".", "-f", "config.json"]).current_dir(folder);
        command.env("DISABLE_LOOPBACK_DETECTOR", "true");
        command
    })
}

/// The targets, as they are called inside.
async fn targets() -> Targets {
    let mut targets = Targets::start().await;
    targets.streams.set_ip(INSIDE.into());
    targets.datagrams.set_ip(INSIDE.into());
    targets
}

/// The client opens its door before its tunnel is ready.
async fn ready(door: u16, targets: &Targets) {
    let began = Instant::now();
    while let Err(failure) = echoes(door, targets.streams).await {
        assert!(began.elapsed() < Duration::from_secs(30), "{failure}");
        sleep(Duration::from_millis(200)).await;
    }
}

/// Whether a flow through a door comes back.
async fn echoes(door: u16, target: SocketAddr) -> Result<(), String> {
    let once = async {
        let mut stream = socks(door, target).await?;
        stream.write_all(&[ECHO]).await?;
        stream.write_all(b"hello").await?;
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await?;
        if &heard == b"hello" { Ok(()) } else { Err(std::io::Error::other("other bytes")) }
    };
    match timeout(Duration::from_secs(5), once).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("nothing within 5 s".to_owned()),
    }
}

/// A SOCKS5 tunnel, to either family.
async fn socks(door: u16, target: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", door)).await?;
    stream.write_all(&[5, 1, 0]).await?;
    stream.read_exact(&mut [0; 2]).await?;
    let mut request = vec![5, 1, 0];
    match target.ip() {
        IpAddr::V4(ip) => request.extend([1].into_iter().chain(ip.octets())),
        IpAddr::V6(ip) => request.extend([4].into_iter().chain(ip.octets())),
    }
    request.extend(target.port().to_be_bytes());
    stream.write_all(&request).await?;
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await?;
    if reply[1] != 0 {
        return Err(std::io::Error::other(format!("refused with {}", reply[1])));
    }
    let rest = if reply[3] == 4 { 18 } else { 6 };
    stream.read_exact(&mut vec![0; rest]).await?;
    Ok(stream)
}

/// All that a client has to carry.
async fn carries(door: u16) {
    let targets = targets().await;
    ready(door, &targets).await;
    checks::download(door, &targets).await.unwrap();
    checks::upload(door, &targets).await.unwrap();
    checks::many(door, &targets).await.unwrap();
    checks::half_close(door, &targets).await.unwrap();
    checks::datagrams(door, &targets).await.unwrap();
    let v6 = SocketAddr::new(INSIDE_V6.parse().unwrap(), targets.streams.port());
    echoes(door, v6).await.unwrap();
    let mut stream = socks(door, v6).await.unwrap();
    stream.write_all(&[DOWNLOAD]).await.unwrap();
    let mut all = vec![];
    timeout(Duration::from_secs(20), stream.read_to_end(&mut all)).await.unwrap().unwrap();
    assert!(hash(&all) == hash(&BYTES), "{} bytes over IPv6", all.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sing_box_comes_in() {
    let port = free_port();
    let _house = House::start_there(&server("127.0.0.1", port));
    carries(sing_box(port, &AS_ANN).port()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mihomo_comes_in() {
    let port = free_port();
    let _house = House::start_there(&server("127.0.0.1", port));
    carries(mihomo(port, &AS_ANN).port()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_hears_nothing() {
    let port = free_port();
    let _house = House::start_there(&server("127.0.0.1", port));
    let targets = targets().await;
    // Bob's own key is known, but he has no preshared one.
    for caller in [AS_STRANGER, Caller { key: BOB, number: 3 }] {
        let client = sing_box(port, &caller);
        assert!(echoes(client.port(), targets.streams).await.is_err());
        let association = Association::open(client.port()).await.unwrap();
        association.send(targets.datagrams, b"exists").await.unwrap();
        assert!(association.receive(Duration::from_secs(1)).await.is_none());
    }
    // Whoever has the keys is heard, but not from the address of another.
    let client = sing_box(port, &Caller { key: ANN, number: 3 });
    assert!(echoes(client.port(), targets.streams).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_again_is_found_and_tells_who_came() {
    let (port, targets) = (free_port(), targets().await);
    let mut config = server("127.0.0.1", port);
    config["log"] = json!({ "loglevel": "info" });
    let mut first = Engine::json(&config, &[]);
    first.wait_to_take(port);
    let client = sing_box(port, &AS_ANN);
    ready(client.port(), &targets).await;
    let told = until(PATIENCE, || {
        let log = first.output();
        log.lines().any(|said| said.contains("from 10.77.0.2:") && said.ends_with("email: ann")).then_some(())
    });
    assert!(told.is_some(), "{}", first.output());
    first.process.kill();
    let mut second = Engine::json(&config, &[]);
    second.wait_to_take(port);
    // The client learns of it by its own clock: a session in which nothing is answered is begun anew after 15 s.
    let began = Instant::now();
    while let Err(failure) = echoes(client.port(), targets.streams).await {
        assert!(began.elapsed() < Duration::from_secs(40), "{failure}\n{}", client.process.output());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_keeps_a_tunnel_that_is_the_same_and_lets_new_peers_in() {
    let port = free_port();
    let config = server("127.0.0.1", port);
    let house = House::start_there(&config);
    let targets = targets().await;
    let client = sing_box(port, &AS_ANN);
    ready(client.port(), &targets).await;
    let mut stream = socks(client.port(), targets.streams).await.unwrap();
    stream.write_all(&[ECHO]).await.unwrap();
    let mut still_echoes = async |said: &[u8]| {
        stream.write_all(said).await?;
        let mut heard = vec![0; said.len()];
        timeout(Duration::from_secs(5), stream.read_exact(&mut heard)).await??;
        Ok::<_, std::io::Error>(heard == said)
    };
    assert!(still_echoes(b"before").await.unwrap());
    // Another name, another level: the tunnel is the same.
    let mut renamed = config.clone();
    renamed["inbounds"][0]["settings"]["peers"][0]["email"] = "anna".into();
    house.apply_there(&renamed).await.unwrap();
    assert!(still_echoes(b"renamed").await.unwrap());
    echoes(client.port(), targets.streams).await.unwrap();
    // Another peer: all begin anew, and whoever was not known is.
    let mut more = config.clone();
    let stranger = json!({
        "publicKey": public(STRANGER), "preSharedKey": secret(SHARED), "allowedIPs": ["10.77.0.4", "fd77::4"]
    });
    more["inbounds"][0]["settings"]["peers"].as_array_mut().unwrap().push(stranger);
    house.apply_there(&more).await.unwrap();
    let other = sing_box(port, &Caller { key: STRANGER, number: 4 });
    ready(other.port(), &targets).await;
    ready(client.port(), &targets).await;
    // None of it: nobody is served any more.
    let mut none = config;
    none["inbounds"] = json!([]);
    none["policy"] = json!({ "drain": 0 });
    house.apply_there(&none).await.unwrap();
    assert!(echoes(client.port(), targets.streams).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn masked_messages_are_read_by_whoever_has_the_mask() {
    let (port, targets) = (free_port(), targets().await);
    let mask =
        |word: &str| json!({ "finalmask": { "udp": [{ "type": "salamander", "settings": { "password": word } }] } });
    let mut config = server("127.0.0.1", port);
    config["inbounds"][0]["streamSettings"] = mask("a cloak");
    let _house = House::start_there(&config);
    let way = |tag: &str, word: &str| {
        json!({
            "tag": tag, "protocol": "wireguard", "streamSettings": mask(word),
            "settings": {
                "secretKey": secret(ANN), "address": ["10.77.0.2", "fd77::2"],
                "peers": [{
                    "publicKey": public(SERVER), "preSharedKey": secret(SHARED),
                    "endpoint": format!("127.0.0.1:{port}")
                }]
            }
        })
    };
    let door =
        |tag: &str| json!({ "tag": tag, "listen": "127.0.0.1", "protocol": "socks", "settings": { "udp": true } });
    let own = House::start(&json!({
        "inbounds": [door("in"), door("wrong")],
        "outbounds": [way("way", "a cloak"), way("other", "another")],
        "routing": { "rules": [{ "inboundTag": ["wrong"], "outboundTag": "other" }] }
    }));
    let stranger = sing_box(port, &AS_ANN);
    for door in [own.at("wrong").port(), stranger.port()] {
        assert!(echoes(door, targets.streams).await.is_err());
    }
    carries(own.at("in").port()).await;
}

/// A network name space, which ends with the value.
struct Space {
    name: String,
    /// This machine's address on the way there.
    near: String,
}

fn run(program_: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program(program_)).args(args).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(said) } else { Err(format!("{program_} {}: {said}", args.join(" "))) }
}

impl Space {
    fn new() -> Self {
        // Runs of other test programs have names and addresses of their own.
        let mark = std::process::id() % 16_384;
        let (name, net) = (format!("etemenanki-{mark}"), format!("198.18.{}.{}", mark / 64, mark % 64 * 4));
        let (head, last) = net.rsplit_once('.').unwrap();
        let last: u32 = last.parse().unwrap();
        let (near, far) = (format!("{head}.{}", last + 1), format!("{head}.{}", last + 2));
        let (out, inner) = (format!("wgo{mark}"), format!("wgi{mark}"));
        let ip = |args: &str| {
            let made = run("ip", &args.split(' ').collect::<Vec<_>>());
            made.unwrap_or_else(|why| panic!("this test needs the right to make network name spaces: {why}"))
        };
        let _ = run("ip", &["netns", "del", &name]);
        ip(&format!("netns add {name}"));
        let space = Self { name, near };
        let name = &space.name;
        ip(&format!("link add {out} type veth peer name {inner} netns {name}"));
        ip(&format!("addr add {}/30 dev {out}", space.near));
        ip(&format!("link set {out} up"));
        ip(&format!("-n {name} addr add {far}/30 dev {inner}"));
        ip(&format!("-n {name} link set {inner} up"));
        space
    }

    /// A program inside.
    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program("ip"));
        command.args(["netns", "exec", &self.name]).arg(program(name)).args(args);
        command
    }

    fn run(&self, name: &str, args: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.command(name, args).output().map_err(|error| error.to_string())?;
        let said = || format!("{name} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(output.stdout) } else { Err(said()) }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = run("ip", &["netns", "del", &self.name]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_of_wireguard_go_leads_here() {
    if let Err(why) = std::fs::File::options().read(true).write(true).open("/dev/net/tun") {
        panic!("this test needs /dev/net/tun: {why}");
    }
    let (space, port) = (Space::new(), free_port());
    let _house = House::start_there(&server(&space.near, port));
    let page = crate::support::serve_each(|mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", BYTES.len());
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(&BYTES).await;
        let _ = stream.shutdown().await;
    })
    .await;
    let device = format!("wgt{}", std::process::id() % 16_384);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("wg.conf");
    let text = format!(
        "[Interface]\nPrivateKey = {}\n[Peer]\nPublicKey = {}\nPresharedKey = {}\nEndpoint = {}:{port}\nAllowedIPs = 10.99.0.0/16, fd99::/64\n",
        secret(ANN),
        public(SERVER),
        secret(SHARED),
        space.near
    );
    std::fs::write(&config, text).unwrap();
    let mut command = space.command("wireguard-go", &["-f", &device]);
    command.env("WG_PROCESS_FOREGROUND", "1").env("LOG_LEVEL", "verbose");
    let process = Process::start("wireguard-go", command, folder);
    process.wait_to_say("UAPI listener started");
    let all = |space: &Space| -> Result<(), String> {
        space.run("wg", &["setconf", &device, config.to_str().unwrap()])?;
        for args in [
            &["addr", "add", "10.77.0.2/32", "dev", &device][..],
            &["addr", "add", "fd77::2/128", "dev", &device, "nodad"],
            &["link", "set", &device, "up"],
            &["route", "add", "10.99.0.0/16", "dev", &device],
            &["route", "add", "fd99::/64", "dev", &device],
        ] {
            space.run("ip", args)?;
        }
        Ok(())
    };
    all(&space).unwrap_or_else(|why| panic!("{why}\n{}", process.output()));
    for host in ["10.99.0.1", "[fd99::1]"] {
        let url = format!("http://{host}:{}/", page.port());
        let got = space.run("curl", &["--disable", "--silent", "--show-error", "--max-time", "20", &url]);
        let got = got.unwrap_or_else(|why| panic!("{why}\n{}", process.output()));
        assert!(got == *BYTES, "{} bytes from {host}", got.len());
    }
    // Several at a time, on one run of curl.
    let url = format!("http://10.99.0.1:{}/[1-20]", page.port());
    let args = ["--disable", "--silent", "--show-error", "--max-time", "60", "--parallel", "--output", "/dev/null"];
    let told = ["--write-out", "%{size_download}\n", &url];
    let sizes = space.run("curl", &[&args[..], &told].concat()).unwrap();
    let sizes = String::from_utf8_lossy(&sizes).lines().filter(|line| *line == BYTES.len().to_string()).count();
    assert_eq!(sizes, 20);
}
