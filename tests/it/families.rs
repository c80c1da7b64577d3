//! By which family a name is reached, for every `domainStrategy`, in freedom and for the name of a server; dnsmasq knows names
//! with one family, with both, and with none. v2ray is held to the same table as far as it has the words, and so is an Xray
//! that `XRAY_BIN` names.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::support::{Engine, Peer, Process, curl, dnsmasq_knowing, free_port, program};

/// What may be reached of a name: each letter is one outcome that is right, `-` is nothing.
struct Row {
    strategy: &'static str,
    both: &'static str,
    four: &'static str,
    six: &'static str,
}

const fn row(strategy: &'static str, both: &'static str, four: &'static str, six: &'static str) -> Row {
    Row { strategy, both, four, six }
}

/// `Use…` falls back on the operating system, which knows none of these names; where it knows them too, `Use…` reaches more.
/// With `AsIs` nobody but the system is asked.
const TABLE: [Row; 11] = [
    row("AsIs", "-", "-", "-"),
    row("UseIP", "46", "4", "6"),
    row("UseIPv4", "4", "4", "-"),
    row("UseIPv6", "6", "-", "6"),
    row("UseIPv4v6", "4", "4", "6"),
    row("UseIPv6v4", "6", "4", "6"),
    row("ForceIP", "46", "4", "6"),
    row("ForceIPv4", "4", "4", "-"),
    row("ForceIPv6", "6", "-", "6"),
    row("ForceIPv4v6", "4", "4", "6"),
    row("ForceIPv6v4", "6", "4", "6"),
];

/// The words that v2ray 4.34 has.
const OLD: [&str; 4] = ["AsIs", "UseIP", "UseIPv4", "UseIPv6"];

/// One port on both loopback addresses, and which of them was reached first. Whoever comes is sent away.
struct Seen {
    port: u16,
    first: Arc<Mutex<Option<char>>>,
}

impl Seen {
    fn start() -> Self {
        let (port, first) = (free_port(), Arc::<Mutex<Option<char>>>::default());
        for (ip, letter) in [(IpAddr::V4(Ipv4Addr::LOCALHOST), '4'), (Ipv6Addr::LOCALHOST.into(), '6')] {
            let listener = TcpListener::bind((ip, port)).expect("a port on both families");
            let first = Arc::clone(&first);
            std::thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    first.lock().expect("nobody panics here").get_or_insert(letter);
                    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a limit");
                    let _ = stream.read(&mut [0; 64]);
                }
            });
        }
        Self { port, first }
    }

    /// What is reached first while `act` runs.
    fn during(&self, act: impl FnOnce()) -> char {
        let take = || self.first.lock().expect("nobody panics here").take();
        take();
        act();
        take().unwrap_or('-')
    }
}

fn names() -> Peer {
    dnsmasq_knowing(&[
        "--host-record=both.probe.example,127.0.0.1,::1".into(),
        "--host-record=four.probe.example,127.0.0.1".into(),
        "--host-record=six.probe.example,::1".into(),
        "--local=/probe.example/".into(),
    ])
}

const NAMES: [&str; 3] = ["both", "four", "six"];

/// A SOCKS door and the outbound that alone serves it.
struct Door {
    port: u16,
    outbound: Value,
    /// What is asked for there.
    url: String,
    /// What may be reached.
    right: &'static str,
    what: String,
}

fn doors(strategies: &[&str], seen: u16) -> Vec<Door> {
    let mut doors = vec![];
    for row in TABLE.iter().filter(|row| strategies.contains(&row.strategy)) {
        let strategy = row.strategy;
        for (name, right) in NAMES.into_iter().zip([row.both, row.four, row.six]) {
            let host = format!("{name}.probe.example");
            let freedom = json!({ "protocol": "freedom", "settings": { "domainStrategy": strategy,
                "finalRules": [{ "action": "allow" }] } });
            let server = json!({ "protocol": "http", "settings": { "servers": [{ "address": host, "port": seen }] },
                "streamSettings": { "sockopt": { "domainStrategy": strategy } } });
            let url = format!("http://{host}:{seen}/");
            for (kind, outbound, url) in [("freedom", freedom, url), ("server", server, "http://192.0.2.1/".to_owned())]
            {
                let what = format!("{kind}, {strategy}, {name}");
                doors.push(Door { port: free_port(), outbound, url, right, what });
            }
        }
    }
    doors
}

fn config(doors: &[Door], names: u16) -> Value {
    let (mut inbounds, mut outbounds, mut rules) =
        (vec![], vec![json!({ "protocol": "freedom", "tag": "asks" })], vec![]);
    for (at, door) in doors.iter().enumerate() {
        let (into, out) = (format!("in-{at}"), format!("out-{at}"));
        inbounds.push(json!({ "tag": into, "listen": "127.0.0.1", "port": door.port, "protocol": "socks" }));
        let mut outbound = door.outbound.clone();
        outbound["tag"] = out.as_str().into();
        outbounds.push(outbound);
        rules.push(json!({ "type": "field", "inboundTag": [into], "outboundTag": out }));
    }
    json!({
        "log": { "loglevel": "debug" },
        "dns": { "servers": [{ "address": "127.0.0.1", "port": names }] },
        "inbounds": inbounds, "outbounds": outbounds, "routing": { "rules": rules },
    })
}

/// Lets a program with this config be asked at each door.
fn held_to_the_table(who: &str, command: &mut Command, doors: &[Door], seen: &Seen) -> Vec<String> {
    let (folder, names) = (tempfile::tempdir().expect("a temporary folder"), names());
    std::fs::write(folder.path().join("c.json"), config(doors, names.port()).to_string()).expect("the folder is ours");
    command.current_dir(folder.path()).env("XDG_RUNTIME_DIR", folder.path());
    let mut process = Process::start(who, std::mem::replace(command, Command::new("true")), folder);
    for door in doors {
        assert!(process.wait_to_listen(SocketAddr::from((Ipv4Addr::LOCALHOST, door.port))), "{}", process.output());
    }
    let mut wrong = vec![];
    for door in doors {
        let proxy = format!("socks5h://127.0.0.1:{}", door.port);
        let reached = seen.during(|| drop(curl(&["-x", &proxy, "--max-time", "3", &door.url])));
        if !door.right.contains(reached) {
            wrong.push(format!("{who}, {}: reached {reached}, right is {}", door.what, door.right));
        }
    }
    wrong
}

#[test]
fn every_strategy_reaches_the_families_it_names() {
    let seen = Seen::start();
    let all = TABLE.map(|row| row.strategy);
    let mut ours = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    let mut wrong = held_to_the_table("etemenanki", ours.args(["run", "-c", "c.json"]), &doors(&all, seen.port), &seen);
    // It has no strategy for servers, and dials a name that it did not resolve like any other.
    let mut freedom = doors(&OLD, seen.port);
    freedom.retain(|door| door.what.starts_with("freedom") && !door.what.contains("AsIs"));
    let mut v2ray = Command::new(program("v2ray"));
    wrong.extend(held_to_the_table("v2ray", v2ray.args(["-config", "c.json"]), &freedom, &seen));
    match std::env::var_os("XRAY_BIN").map(Command::new) {
        Some(mut xray) => {
            let xray = xray.args(["run", "-c", "c.json"]);
            wrong.extend(held_to_the_table("xray", xray, &doors(&all, seen.port), &seen));
        }
        None => println!("XRAY_BIN names no Xray: it is not held to the table here"),
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The address that is preferred takes no connection and says nothing; the other is tried beside it.
#[test]
fn with_happy_eyeballs_a_silent_address_holds_nobody_up() {
    let port = free_port();
    let silent = Socket::new(Domain::IPV6, Type::STREAM, None).expect("a socket");
    silent.bind(&SocketAddr::from((Ipv6Addr::LOCALHOST, port)).into()).expect("a port on both families");
    silent.listen(0).expect("it listens");
    // What waits to be taken fills it: later calls are not answered.
    let _waiting: Vec<_> = (0..4).map(|_| caller(port)).collect();
    let _alive = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(|listener| {
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.0 200 OK\r\n\r\nfour");
                let _ = stream.read(&mut [0; 512]);
            }
        })
    });
    let names = names();
    let url = format!("http://both.probe.example:{port}/");
    let door = |outbound| Door { port: free_port(), outbound, url: url.clone(), right: "4", what: String::new() };
    let sockopt = json!({ "domainStrategy": "UseIP", "happyEyeballs": { "tryDelayMs": 150, "prioritizeIPv6": true } });
    let doors = [door(json!({ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] },
        "streamSettings": { "sockopt": sockopt } }))];
    let engine = Engine::json(&config(&doors, names.port()), &[doors[0].port]);
    let began = Instant::now();
    let answer = curl(&["-x", &format!("socks5h://127.0.0.1:{}", doors[0].port), &url]);
    assert_eq!(answer.text(), "four", "{} {}", answer.complaint, engine.output());
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(140) && took < Duration::from_secs(3), "{took:?}");
}

fn caller(port: u16) -> Socket {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None).expect("a socket");
    socket.set_nonblocking(true).expect("it does not wait");
    let _ = socket.connect(&SocketAddr::from((Ipv6Addr::LOCALHOST, port)).into());
    socket
}
