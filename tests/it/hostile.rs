//! Strangers at every door: garbage, half messages, silence and floods. Their connection ends in time, and nobody else, not
//! even the log, takes notice of them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Certificate, Engine, free_port, until};

/// What the engine grants a handshake here.
const LIMIT: Duration = Duration::from_secs(1);
/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(6);

/// Every kind of inbound, and a server behind them that says nothing and keeps what it is told.
struct Doors {
    engine: Engine,
    ports: Vec<(&'static str, u16)>,
    origin: u16,
    _certificate: Certificate,
}

impl Doors {
    fn open() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let origin = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut chunk = [0; 4096];
                    while let Ok(count @ 1..) = stream.read(&mut chunk) {
                        if stream.write_all(&chunk[..count]).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let certificate = Certificate::new("127.0.0.1");
        let tls = certificate.inbound_stream();
        let ports: Vec<_> =
            ["socks", "http", "mixed", "login", "tls-socks", "tls-http", "door"].map(|name| (name, free_port())).into();
        let inbounds = ports.iter().map(|(name, port)| {
            let mut inbound = json!({"tag": name, "listen": "127.0.0.1", "port": port, "protocol": name});
            match *name {
                "door" => {
                    inbound["protocol"] = "dokodemo-door".into();
                    inbound["settings"] = json!({"address": "127.0.0.1", "port": origin});
                }
                "login" => {
                    inbound["protocol"] = "socks".into();
                    inbound["settings"] = json!({"auth": "password", "accounts": [{"user": "u", "pass": "p"}]});
                }
                name => {
                    if let Some(plain) = name.strip_prefix("tls-") {
                        inbound["protocol"] = plain.into();
                        inbound["streamSettings"] = tls.clone();
                    }
                }
            }
            inbound
        });
        let config = json!({
            "log": {"loglevel": "info", "access": "none"},
            "policy": {"levels": {"0": {"handshake": LIMIT.as_secs(), "connIdle": 3}}},
            "inbounds": inbounds.collect::<Vec<_>>(),
            "outbounds": [{"protocol": "freedom"}],
        });
        let listening: Vec<u16> = ports.iter().map(|(_, port)| *port).collect();
        Self { engine: Engine::json(&config, &listening), ports, origin, _certificate: certificate }
    }

    fn port(&self, name: &str) -> u16 {
        self.ports.iter().find(|(door, _)| *door == name).expect("a door of that name").1
    }

    /// A tunnel to the echo behind the doors, opened byte by byte.
    fn tunnel(&self, door: &str) -> TcpStream {
        let mut stream = connect(self.port(door));
        stream.set_read_timeout(Some(LIMIT + SLACK)).expect("a timeout that is not zero");
        let mut request = vec![5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1];
        request.extend(self.origin.to_be_bytes());
        for byte in request {
            stream.write_all(&[byte]).expect("the inbound reads");
        }
        stream.read_exact(&mut [0; 12]).expect("the inbound grants it");
        stream
    }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stream.set_nodelay(true).expect("an option of every TCP socket");
    stream
}

/// How long until the other side ends the connection; `None` if it does not in `limit`.
fn ended(mut stream: &TcpStream, limit: Duration) -> Option<Duration> {
    let begun = Instant::now();
    let mut chunk = [0; 4096];
    while let Some(left) = limit.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        stream.set_read_timeout(Some(left)).expect("a timeout that is not zero");
        match stream.read(&mut chunk) {
            Ok(1..) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return None,
            Ok(0) | Err(_) => return Some(begun.elapsed()),
        }
    }
    None
}

fn echoes(stream: &mut TcpStream) -> bool {
    let mut back = [0; 4];
    stream.set_read_timeout(Some(SLACK)).expect("a timeout that is not zero");
    stream.write_all(b"ping").is_ok() && stream.read_exact(&mut back).is_ok() && &back == b"ping"
}

/// Things that are no beginning of anything, or of the wrong thing.
fn garbage() -> Vec<Vec<u8>> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = |len: usize| -> Vec<u8> {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed.to_le_bytes()[3]
        };
        (0..len).map(|_| next()).collect()
    };
    let mut all: Vec<Vec<u8>> = [1, 2, 17, 300, 5000].map(&mut noise).into();
    for head in [
        &[4][..],
        &[5],
        &[5, 255],
        &[5, 1, 0, 5, 1, 0, 3, 255],
        &[22, 3, 1, 255, 255],
        b"GET ",
        b"CONNECT x:1 HTTP/1.1\r\n",
    ] {
        all.push([head, &noise(600)].concat());
    }
    for whole in [
        &[0; 64][..],
        &[255; 64],
        &[5, 0],
        &[5, 1, 0, 5, 9, 0, 1, 1, 1, 1, 1, 0, 1],
        &[5, 1, 0, 5, 1, 0, 9, 1, 1, 1, 1, 0, 1],
        &[5, 1, 0, 5, 1, 0, 3, 0, 0, 1],
        &[5, 1, 2, 1, 1, b'u', 1, b'x'],
        &[4, 9, 0, 80, 1, 1, 1, 1, 0],
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http:// HTTP/1.1\r\n\r\n",
        b"CONNECT nowhere HTTP/1.1\r\n\r\n",
        b"CONNECT :1 HTTP/1.1\r\n\r\n",
        b"CONNECT [::1:1 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://a.invalid/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://a.invalid/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST http://a.invalid/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"\r\n\r\n\r\n",
    ] {
        all.push(whole.to_vec());
    }
    all
}

/// What every start says.
fn is_usual(line: &str) -> bool {
    line.contains("core: Xray") || line.contains("core: control socket")
}

/// What is said of a flow that could not be led anywhere.
fn is_failure(line: &str) -> bool {
    line.contains("[Info]") && line.contains(" failed by ")
}

#[test]
fn garbage_ends_in_time_and_nobody_else_notices() {
    let doors = Doors::open();
    let mut calm = doors.tunnel("socks");
    assert!(echoes(&mut calm));
    let all = garbage();
    let stuck = thread::scope(|scope| {
        let visits = doors
            .ports
            .iter()
            .filter(|(name, _)| *name != "door")
            .flat_map(|(name, port)| all.iter().map(move |bytes| (name, *port, bytes)));
        let visits: Vec<_> = visits
            .map(|(name, port, bytes)| {
                scope.spawn(move || {
                    let mut stream = connect(port);
                    // The inbound may have closed already.
                    let _ = stream.write_all(bytes);
                    let end = ended(&stream, LIMIT + SLACK);
                    end.is_none().then(|| format!("{name}: {:?}", String::from_utf8_lossy(bytes)))
                })
            })
            .collect();
        assert!(echoes(&mut calm));
        visits.into_iter().filter_map(|visit| visit.join().expect("a visit does not fail")).collect::<Vec<_>>()
    });
    assert!(stuck.is_empty(), "still open: {stuck:#?}");
    assert!(echoes(&mut calm), "a tunnel from before goes on");
    assert!(echoes(&mut doors.tunnel("mixed")), "and new ones open");
    let (status, said) = doors.engine.stop();
    assert_eq!(status.code(), Some(0));
    let lines: Vec<_> = said.lines().skip(2).filter(|line| !is_usual(line) && !is_failure(line)).collect();
    assert!(lines.is_empty(), "{lines:#?}");
}

#[test]
fn silence_and_drops_end_at_the_limit_of_the_whole_handshake() {
    let doors = Doors::open();
    thread::scope(|scope| {
        for (name, port) in doors.ports.iter().filter(|(name, _)| *name != "door") {
            scope.spawn(move || {
                let end = ended(&connect(*port), LIMIT + SLACK);
                assert!(end.is_some_and(|end| end >= LIMIT * 9 / 10), "{name}, silent: {end:?}");
            });
            // Each byte comes in time, all of them never do: a limit that begins anew with each byte would not end this.
            let drops: &[u8] = match *name {
                "http" | "mixed" => b"GET http://127.0.0.1/",
                "tls-socks" | "tls-http" => &[22, 3, 1, 2, 0, 1, 0, 1, 252],
                _ => &[5, 255],
            };
            scope.spawn(move || {
                let mut stream = connect(*port);
                let mut next = drops.iter().copied().chain(std::iter::repeat(b'a'));
                let begun = Instant::now();
                let mut over = false;
                while begun.elapsed() < LIMIT + SLACK && !over {
                    over = stream.write_all(&[next.next().unwrap_or(b'a')]).is_err()
                        || ended(&stream, Duration::from_millis(100)).is_some();
                }
                assert!(over && begun.elapsed() >= LIMIT * 9 / 10, "{name}, dripping: {:?}", begun.elapsed());
            });
        }
    });
}

#[test]
fn half_a_message_ends_with_its_sender() {
    let doors = Doors::open();
    let socks5 = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"localhost", &[0, 9]].concat();
    let socks4 = [&[4, 1, 0, 9, 0, 0, 0, 1][..], b"me\0localhost\0"].concat();
    let login = [&[5, 1, 2, 1, 1][..], b"u", &[1], b"p", &[5, 1, 0, 1, 127, 0, 0, 1, 0, 9]].concat();
    let http = b"CONNECT localhost:9 HTTP/1.1\r\nHost: localhost:9\r\n\r\n".to_vec();
    let cases = [
        ("socks", &socks5),
        ("socks", &socks4),
        ("login", &login),
        ("http", &http),
        ("mixed", &http),
        ("mixed", &socks4),
    ];
    for (name, whole) in cases {
        for length in 0..whole.len() {
            let mut stream = connect(doors.port(name));
            let _ = stream.write_all(&whole[..length]);
            let _ = stream.shutdown(Shutdown::Write);
            // Well before the handshake's limit: the end of the stream is the end of the visit.
            assert!(ended(&stream, SLACK).is_some(), "{name} after {length} bytes");
        }
    }
    let files = || std::fs::read_dir(format!("/proc/{}/fd", doors.engine.process.pid())).map_or(0, Iterator::count);
    assert!(until(SLACK, || (files() < 60).then_some(())).is_some(), "{} files are still open", files());
}

#[test]
fn floods_cost_no_memory() {
    let doors = Doors::open();
    let resident = || memory(doors.engine.process.pid(), "VmHWM:");
    assert!(echoes(&mut doors.tunnel("socks")));
    let before = resident();
    let header = [&b"GET http://127.0.0.1/ HTTP/1.1\r\nX: "[..], &[b'x'; 10 << 20]].concat();
    let many = [&b"GET http://127.0.0.1/ HTTP/1.1\r\n"[..], &b"A: b\r\n".repeat(1 << 20)].concat();
    let target = [&b"GET http://127.0.0.1/"[..], &[b'x'; 10 << 20]].concat();
    let post = format!("POST http://127.0.0.1:{}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", doors.origin);
    let huge = [post.as_bytes(), b"ffffffffffffffffff\r\n", &[b'x'; 1 << 20]].concat();
    let extension = [post.as_bytes(), b"1;", &[b'x'; 10 << 20]].concat();
    let trailers = [post.as_bytes(), b"0\r\n", &b"A: b\r\n".repeat(1 << 20)].concat();
    let user = [&[4, 1, 0, 80, 0, 0, 0, 1][..], &[b'x'; 10 << 20]].concat();
    let name = [&[5, 1, 0, 5, 1, 0, 3, 255][..], &[b'x'; 255], &[0, 80]].concat();
    thread::scope(|scope| {
        for bytes in [&header, &many, &target, &huge, &extension, &trailers, &user, &name] {
            for door in ["http", "mixed", "socks"] {
                for _ in 0..3 {
                    let port = doors.port(door);
                    scope.spawn(move || {
                        let mut stream = connect(port);
                        stream.set_write_timeout(Some(LIMIT + SLACK)).expect("a timeout that is not zero");
                        let _ = stream.write_all(bytes);
                        assert!(
                            ended(&stream, LIMIT + SLACK).is_some(),
                            "{door}: {:?}",
                            String::from_utf8_lossy(&bytes[..60])
                        );
                    });
                }
            }
        }
    });
    let grown = resident() - before;
    assert!(grown < 24 << 10, "{grown} KiB more, {before} before");
    assert!(echoes(&mut doors.tunnel("mixed")));
}

/// A field of /proc/PID/status in KiB.
fn memory(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field of Linux");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

/// Processor time a process has used, in clock ticks (a hundredth of a second on Linux).
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    let fields = stat.rsplit_once(')').expect("the name is in brackets").1.split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}

#[test]
fn without_files_it_waits_without_spinning_and_recovers() {
    let port = free_port();
    let config = json!({
        "log": {"loglevel": "info", "access": "none"},
        "policy": {"levels": {"0": {"handshake": 60}}},
        "inbounds": [{"listen": "127.0.0.1", "port": port, "protocol": "mixed"}],
        "outbounds": [{"protocol": "freedom"}],
    });
    let engine = Engine::limited(64, &config, &[port]);
    let mut idle: Vec<TcpStream> = (0..100).map(|_| connect(port)).collect();
    engine.process.wait_to_say("cannot accept connections");
    let before = ticks(engine.process.pid());
    // What it uses in a second of want.
    let _ = until(Duration::from_secs(1), || None::<()>);
    let used = ticks(engine.process.pid()) - before;
    assert!(used < 20, "{used} ticks of about 100");
    // Visitors who come and go at the brink must not fill the log.
    for _ in 0..50 {
        drop(idle.remove(0));
        idle.push(connect(port));
        let _ = until(Duration::from_millis(30), || None::<()>);
    }
    idle.clear();
    let greeted = until(Duration::from_secs(10), || {
        let mut stream = connect(port);
        let mut answer = [0; 2];
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        (stream.write_all(&[5, 1, 0]).is_ok() && stream.read_exact(&mut answer).is_ok() && answer == [5, 0])
            .then_some(())
    });
    assert!(greeted.is_some(), "{}", engine.output());
    let (status, said) = engine.stop();
    assert_eq!(status.code(), Some(0));
    assert!(said.lines().count() < 20, "{said}");
}

/// A server that answers every connection by these bytes, again and again if `floods`, and then holds it.
fn hostile_server(says: &'static [u8], floods: bool) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut left = if floods { 4096 } else { 1 };
                while left > 0 && stream.write_all(says).is_ok() {
                    left -= 1;
                }
                let _ = ended(&stream, Duration::from_secs(60));
            });
        }
    });
    port
}

#[test]
fn hostile_servers_end_their_flow_alone() {
    static LONG: [u8; 8192] = [b'x'; 8192];
    static FIELDS: [u8; 8000] = {
        let mut fields = [b'a'; 8000];
        let mut at = 0;
        while at < fields.len() {
            [fields[at + 1], fields[at + 2], fields[at + 3]] = [b':', b'\r', b'\n'];
            at += 4;
        }
        fields
    };
    // What SOCKS and HTTP servers must not say, and nothing at all.
    let upstreams = [
        (&b""[..], false),
        (&[0; 300], true),
        (b"\x05\xff", false),
        (b"\x05\x00\x05\x00\x00\x09", true),
        (&LONG, true),
    ];
    let origins = [
        (&LONG[..], true),
        (&FIELDS, true),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", false),
        (b"HTTP/1.1 100 Continue\r\n\r\n", true),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", false),
    ];
    let mut outbounds = vec![json!({"protocol": "freedom"})];
    let mut inbounds = vec![];
    let mut rules = vec![];
    let (web, calm) = (free_port(), free_port());
    let mut ports = vec![web, calm];
    for protocol in ["socks", "http"] {
        for (says, floods) in upstreams {
            let (port, tag) = (free_port(), format!("{protocol}-{}", ports.len()));
            let server = json!({"address": "127.0.0.1", "port": hostile_server(says, floods)});
            outbounds.push(json!({"tag": tag, "protocol": protocol, "settings": {"servers": [server]}}));
            inbounds.push(json!({"tag": tag, "listen": "127.0.0.1", "port": port, "protocol": "socks"}));
            rules.push(json!({"inboundTag": [tag], "outboundTag": tag}));
            ports.push(port);
        }
    }
    for (port, protocol) in [(web, "http"), (calm, "socks")] {
        inbounds.push(json!({"listen": "127.0.0.1", "port": port, "protocol": protocol}));
    }
    let config = json!({
        "log": {"loglevel": "info", "access": "none"},
        "policy": {"levels": {"0": {"handshake": LIMIT.as_secs(), "connIdle": 3}}},
        "inbounds": inbounds, "outbounds": outbounds, "routing": {"rules": rules},
    });
    let engine = Engine::json(&config, &ports);
    let before = memory(engine.process.pid(), "VmHWM:");
    thread::scope(|scope| {
        for port in &ports[2..] {
            scope.spawn(move || {
                let mut stream = connect(*port);
                stream.write_all(&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 9]).expect("the inbound reads");
                stream.read_exact(&mut [0; 12]).expect("the inbound grants it");
                stream.write_all(b"hello").expect("it is granted");
                assert!(ended(&stream, Duration::from_secs(20)).is_some(), "port {port}");
            });
        }
        for (says, floods) in origins {
            scope.spawn(move || {
                let mut stream = connect(web);
                let request = format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\n\r\n", hostile_server(says, floods));
                stream.write_all(request.as_bytes()).expect("the inbound reads");
                assert!(
                    ended(&stream, Duration::from_secs(20)).is_some(),
                    "{:?}",
                    String::from_utf8_lossy(&says[..20])
                );
            });
        }
    });
    let grown = memory(engine.process.pid(), "VmHWM:") - before;
    assert!(grown < 24 << 10, "{grown} KiB more");
    let (status, said) = engine.stop();
    assert_eq!(status.code(), Some(0));
    let (failed, strange): (Vec<_>, Vec<_>) =
        said.lines().skip(2).filter(|line| !is_usual(line)).partition(|line| is_failure(line));
    assert!(strange.is_empty(), "{strange:#?}");
    assert_eq!(failed.len(), 2 * upstreams.len(), "once each: {failed:#?}");
}
