//! HTTP services: the first users' own example with three real servers, and what servers and clients do wrong.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Certificate, Engine, Nginx, PATIENCE, Process, curl, free_port, run_once_in, until};

/// One server of a service, as it is written.
fn server(url: &str, more: &str) -> String {
    format!("\n[[service.server]]\nurl = \"{url}\"\n{more}\n")
}

/// A service by a header, and what follows.
fn service(tag: &str, port: u16, more: &str) -> String {
    format!(
        "[[service]]\ntag = \"{tag}\"\nlisten = \"127.0.0.1\"\nport = {port}\nhash_key = \"$http_x_user_id\"\n{more}"
    )
}

/// Looks at servers often, so that tests need not wait.
const HEALTH: &str = "\n[service.health]\npath = \"/healthz\"\ninterval = \"200ms\"\ntimeout = \"2s\"\n";

/// A server that says its name and is healthy.
fn named(name: &str) -> String {
    format!("location / {{ return 200 {name}; }} location = /healthz {{ return 204; }}")
}

fn nginx(name: &str) -> Nginx {
    Nginx::start(&[], &named(name))
}

fn base(nginx: &Nginx) -> String {
    format!("http://{}", nginx.peer.addr)
}

/// An answer: its head and its body.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One kept connection to a service.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the service listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes a limit");
        Self(BufReader::new(stream))
    }

    fn send(&mut self, request: &str) {
        self.0.get_mut().write_all(request.as_bytes()).expect("the service reads");
    }

    /// The head of an answer; empty if the connection ended.
    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).unwrap_or(0) == 0 {
                return head;
            }
        }
        head
    }

    fn answer(&mut self) -> Answer {
        let head = self.head();
        let line = |name: &str| {
            let lower = head.to_ascii_lowercase();
            lower.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let mut body = vec![0; line("content-length:").and_then(|n| n.parse().ok()).unwrap_or(0)];
        self.0.read_exact(&mut body).expect("the whole body comes");
        Answer { head, body }
    }

    fn ask(&mut self, request: &str) -> Answer {
        self.send(request);
        self.answer()
    }

    /// Who serves a user.
    fn user(&mut self, user: &str) -> Answer {
        self.ask(&format!("GET /any HTTP/1.1\r\nHost: a.example\r\nX-User-Id: {user}\r\n\r\n"))
    }
}

/// Who serves each of these users, all by one kept connection.
fn served(port: u16, users: &[String]) -> Vec<String> {
    let mut client = Client::new(port);
    users.iter().map(|user| client.user(user).text()).collect()
}

fn users(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("user-{n}")).collect()
}

/// A server of our own: each connection is served by `each`, once the head of a request is there.
fn scripted(each: impl Fn(String, TcpStream) + Send + Sync + Clone + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || {
                let mut head = vec![];
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    if stream.read_exact(&mut byte).is_err() {
                        return;
                    }
                    head.push(byte[0]);
                }
                each(String::from_utf8_lossy(&head).into_owned(), stream);
            });
        }
    });
    port
}

fn reply(mut stream: &TcpStream, body: &str) {
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
}

/// The service of the seed: weights 2, 1 and 3.
fn example(port: u16, servers: [&str; 3]) -> String {
    let weights = ["weight = 2", "weight = 1", "weight = 3"];
    let servers: String = servers.iter().zip(weights).map(|(url, weight)| server(url, weight)).collect();
    service("my-hrw-service", port, &format!("{HEALTH}{servers}"))
}

#[test]
fn one_user_stays_at_one_server_and_only_those_of_a_dead_one_move() {
    let mut nginx = ["a", "b", "c"].map(nginx);
    let urls = nginx.each_ref().map(base);
    let port = free_port();
    let config = example(port, urls.each_ref().map(String::as_str));
    let engine = Engine::toml(&config, &[port]);

    // As a person tries it.
    let address = format!("http://127.0.0.1:{port}/");
    let ann = curl(&["-H", "X-User-Id: ann", &address]).text();
    assert!(["a", "b", "c"].contains(&ann.as_str()), "{ann}\n{}", engine.output());
    for path in ["", "api/users", "api/orders?x=1"] {
        assert_eq!(curl(&["-H", "X-User-Id: ann", &format!("{address}{path}")]).text(), ann);
    }

    // Many users on one connection: each request is decided for itself, and shares follow the weights.
    let users = users(1200);
    let before = served(port, &users);
    let mut counts: HashMap<&str, f64> = HashMap::new();
    before.iter().for_each(|name| *counts.entry(name).or_default() += 1.0);
    let want = [("a", 400.0), ("b", 200.0), ("c", 600.0)];
    let chi: f64 = want.iter().map(|(name, want)| (counts[name] - want).powi(2) / want).sum();
    assert!(chi < 20.0, "chi-square with 2 degrees of freedom: {chi} {counts:?}");
    assert_eq!(before, served(port, &users), "the same on another connection");

    // A restart changes nothing.
    let (status, said) = engine.stop();
    assert!(status.success(), "{said}");
    let engine = Engine::toml(&config, &[port]);
    assert_eq!(before, served(port, &users));

    // Nobody notices but those who were at the dead one, and they come back.
    let dead = nginx[2].peer.port();
    nginx[2].peer.process.kill();
    let at_once = served(port, &users);
    assert!(at_once.iter().all(|name| name == "a" || name == "b"), "no request fails meanwhile");
    let moved = |after: &[String]| before.iter().zip(after).filter(|(b, a)| a != b).count() as f64;
    assert_eq!(moved(&at_once), counts["c"]);
    engine.process.wait_to_say(&format!("service my-hrw-service: server {} is now down", urls[2]));
    assert_eq!(at_once, served(port, &users));
    nginx[2] = Nginx::start_at(dead, &[], &named("c"));
    engine.process.wait_to_say(&format!("service my-hrw-service: server {} is now up", urls[2]));
    assert_eq!(before, served(port, &users));

    // With all of them gone there is a clear answer, until one returns.
    nginx.iter_mut().for_each(|one| one.peer.process.kill());
    let gone = until(PATIENCE, || Some(Client::new(port).user("ann")).filter(|answer| answer.status() == 503));
    let gone = gone.expect("nobody is left");
    assert_eq!(gone.text(), "503 Service Unavailable\n");
    nginx[0] = Nginx::start_at(nginx[0].peer.port(), &[], &named("a"));
    let back = until(PATIENCE, || Some(Client::new(port).user("ann")).filter(|answer| answer.status() == 200));
    assert_eq!(back.map(|answer| answer.text()).as_deref(), Some("a"));
    let (status, said) = engine.stop();
    assert!(status.success(), "{said}");
}

#[test]
fn servers_without_checks_are_left_out_while_they_cannot_be_reached() {
    let (a, mut b) = (nginx("a"), nginx("b"));
    let (port, url) = (free_port(), base(&b));
    let engine = Engine::toml(&service("web", port, &(server(&base(&a), "") + &server(&url, ""))), &[port]);
    let users = users(40);
    let before = served(port, &users);
    assert!(before.contains(&"b".into()));
    b.peer.process.kill();
    // Also what may not be sent twice goes to the other, since nothing was sent at all.
    for user in &users {
        let body = format!("POST / HTTP/1.1\r\nHost: a\r\nX-User-Id: {user}\r\nContent-Length: 4\r\n\r\nbody");
        assert_eq!(Client::new(port).ask(&body).text(), "a", "{}", engine.output());
    }
    engine.process.wait_to_say(&format!("service web: server {url} is now down"));
    let _b = Nginx::start_at(b.peer.port(), &[], &named("b"));
    engine.process.wait_to_say(&format!("service web: server {url} is now up"));
    assert_eq!(before, served(port, &users));
}

#[test]
fn an_unhealthy_answer_takes_a_server_out() {
    let (a, b) = (nginx("a"), Nginx::start(&[], "location / { return 200 b; } location = /healthz { return 500; }"));
    let port = free_port();
    let config = service("web", port, &(HEALTH.to_owned() + &server(&base(&a), "") + &server(&base(&b), "")));
    let engine = Engine::toml(&config, &[port]);
    engine.process.wait_to_say(&format!("service web: server {} is now down > it answers 500", base(&b)));
    assert!(served(port, &users(50)).iter().all(|name| name == "a"));
    let asked = b.requests();
    assert!(asked.iter().any(|line| line.starts_with("GET /healthz 500")), "{asked:?}");
}

#[test]
fn fenced_servers_and_those_without_weight_take_nothing() {
    let all = ["a", "b", "c"].map(nginx);
    let port = free_port();
    let more = ["", "weight = 1000\nfenced = true", "weight = 0"];
    let servers: String = all.iter().zip(more).map(|(nginx, more)| server(&base(nginx), more)).collect();
    let engine = Engine::toml(&service("web", port, &servers), &[port]);
    assert!(served(port, &users(100)).iter().all(|name| name == "a"));
    let said = engine.output();
    assert!(said.contains("has the weight 0: it is not added"), "{said}");

    let port = free_port();
    let _engine = Engine::toml(&service("web", port, &server(&base(&all[0]), "fenced = true")), &[port]);
    assert_eq!(Client::new(port).user("ann").status(), 503);
}

#[test]
fn a_person_sees_the_servers_of_a_running_service_and_drains_one() {
    let all = ["a", "b"].map(nginx);
    let urls = all.each_ref().map(base);
    let port = free_port();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let socket = folder.path().join("control");
    let socket = socket.to_str().expect("a plain path");
    let servers: String = urls.iter().map(|url| server(url, "")).collect();
    let config =
        format!("[control]\nsocket = \"{socket}\"\n\n{}", service("web", port, &(HEALTH.to_owned() + &servers)));
    let engine = Engine::toml(&config, &[port]);
    let users = users(100);
    let before = served(port, &users);
    let run = |args: &[&str]| {
        let run = run_once_in(folder.path(), &[args, &["--socket", socket]].concat(), b"");
        (run.status.code(), String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned())
    };
    let (status, shown) = run(&["balancers", "web", "--json"]);
    assert_eq!(status, Some(0), "{shown}\n{}", engine.output());
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let members = shown["balancers"][0]["members"].as_array().expect("its servers");
    let picks: Vec<_> = members.iter().map(|member| member["picks"].as_u64().expect("a count")).collect();
    let at = |name: &str| before.iter().filter(|served| *served == name).count() as u64;
    assert_eq!(picks, [at("a"), at("b")], "{shown}");
    assert_eq!(members[0]["member"].as_str(), Some(urls[0].as_str()));

    let (status, said) = run(&["fence", "web", &urls[1]]);
    assert_eq!(status, Some(0), "{said}");
    assert!(served(port, &users).iter().all(|name| name == "a"));
    let (status, said) = run(&["unfence", "web", &urls[1]]);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(before, served(port, &users));
    let (status, said) = run(&["pin", "web", &urls[1]]);
    assert!(status == Some(1) && said.contains("service web takes the orders fence and unfence alone"), "{said}");
    let (status, said) = run(&["fence", "web", "http://nobody"]);
    assert!(status == Some(1) && said.contains("has no member http://nobody"), "{said}");
}

#[test]
fn a_service_in_a_service_passes_its_state_up() {
    let (mut inner, outer) = (nginx("inner"), nginx("outer"));
    let port = free_port();
    let config =
        service("front", port, &format!("{}\n[[service.server]]\nservice = \"back\"\n", server(&base(&outer), "")))
            + &format!("\n[[service]]\ntag = \"back\"\n{HEALTH}{}", server(&base(&inner), ""));
    let engine = Engine::toml(&config, &[port]);
    let users = users(200);
    let before = served(port, &users);
    let share = before.iter().filter(|name| *name == "inner").count();
    assert!((60..140).contains(&share), "{share}");
    inner.peer.process.kill();
    engine.process.wait_to_say("service front: server back is now down");
    assert!(served(port, &users).iter().all(|name| name == "outer"));
    let _inner = Nginx::start_at(inner.peer.port(), &[], &named("inner"));
    engine.process.wait_to_say("service front: server back is now up");
    assert_eq!(before, served(port, &users));
}

#[test]
fn large_bodies_stream_both_ways() {
    const SIZE: usize = 100 << 20;
    let content: Vec<u8> = (0..SIZE).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let origin =
        Nginx::start(&[("big", &content)], "client_max_body_size 0; dav_methods PUT DELETE; create_full_put_path on;");
    let port = free_port();
    let engine = Engine::toml(&service("web", port, &server(&base(&origin), "")), &[port]);
    let address = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    let down = curl(&[&address("big")]);
    assert!(down.body == content, "{} bytes: {}", down.body.len(), down.complaint);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("big");
    std::fs::write(&file, &content).expect("the folder is ours");
    let file = file.to_str().expect("a plain path");
    let root = origin.peer.process.folder.path().join("root");
    for (name, more) in [("sized", &[][..]), ("chunked", &["-H", "Transfer-Encoding: chunked"][..])] {
        let up = curl(&[&["-T", file, &address(name)], more].concat());
        assert!(up.ok, "{}", up.complaint);
        assert!(std::fs::read(root.join(name)).expect("it was put") == content, "{name}");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", engine.process.pid())).unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let most: usize = most.trim().trim_end_matches(" kB").parse().expect("the kernel counts memory");
    assert!(most < 64 << 10, "nothing is gathered: {most} kB");
}

#[test]
fn http2_without_asking_and_older_clients_are_served() {
    let origin = nginx("a");
    let port = free_port();
    let _engine = Engine::toml(&service("web", port, &server(&base(&origin), "")), &[port]);
    let address = format!("http://127.0.0.1:{port}/");
    let second = curl(&["--http2-prior-knowledge", "-w", "%{http_version}", &address]);
    assert_eq!(second.text(), "a2", "{}", second.complaint);
    let first = curl(&["--http1.0", "-w", "%{http_version}", &address]);
    assert!(first.text().starts_with('a'), "{} {}", first.text(), first.complaint);
    let mut bare = Client::new(port);
    bare.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(bare.answer().status(), 200);
}

#[test]
fn servers_learn_who_asks_and_nothing_of_the_connection() {
    let echo = scripted(|head, stream| reply(&stream, &head));
    let port = free_port();
    let _engine = Engine::toml(&service("web", port, &server(&format!("http://127.0.0.1:{echo}/base/"), "")), &[port]);
    let request = "GET /a?b HTTP/1.1\r\nHost: shop.example\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\n\
                   X-Forwarded-For: 192.0.2.7\r\nProxy-Authorization: Basic eDp5\r\nExpect: 100-continue\r\n\r\n";
    let answer = Client::new(port).ask(request);
    let head = answer.text().to_ascii_lowercase();
    assert!(head.starts_with("get /base/a?b http/1.1\r\n"), "{head}");
    for line in ["host: shop.example", "x-forwarded-for: 192.0.2.7, 127.0.0.1", "x-forwarded-proto: http"] {
        assert!(head.contains(&format!("{line}\r\n")), "{line}\n{head}");
    }
    for word in ["x-own", "proxy-authorization", "keep-alive", "expect"] {
        assert!(!head.contains(word), "{word}\n{head}");
    }
    assert!(!answer.head.to_ascii_lowercase().contains("connection: close"), "the server's own\n{}", answer.head);
}

#[test]
fn another_protocol_passes_through() {
    let echo = scripted(|head, mut stream| {
        assert!(head.to_ascii_lowercase().contains("upgrade: websocket\r\n"), "{head}");
        let _ = stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
        let mut all = stream.try_clone().expect("a socket can be doubled");
        let _ = std::io::copy(&mut stream, &mut all);
    });
    let port = free_port();
    let _engine = Engine::toml(&service("web", port, &server(&format!("http://127.0.0.1:{echo}"), "")), &[port]);
    let mut client = Client::new(port);
    client.send("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    let head = client.head().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    let mut said = [0; 5];
    client.0.read_exact(&mut said).expect("early bytes pass");
    assert_eq!(&said, b"hello");
    for word in ["ping!", "pong!"] {
        client.send(word);
        client.0.read_exact(&mut said).expect("bytes come back");
        assert_eq!(&said, word.as_bytes());
    }
    client.0.get_ref().shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!(client.0.read(&mut said).unwrap_or(1), 0, "the end passes too");
}

#[test]
fn servers_that_misbehave_end_their_own_request_alone() {
    let garbage = scripted(|_, mut stream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n");
    });
    let silent = scripted(|_, stream| {
        thread::sleep(PATIENCE);
        drop(stream);
    });
    let endless = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream
            .write_all(b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
            .is_ok()
        {}
    });
    let closes = scripted(|_, stream| drop(stream));
    let short = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    });
    let uninvited = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    });
    let good = nginx("good");
    let ports: Vec<u16> = (0..7).map(|_| free_port()).collect();
    let all = [garbage, silent, endless, closes, short, uninvited, good.peer.port()];
    let mut config = "[policy.levels.0]\nconn_idle = 1\n\n".to_owned();
    for (n, (port, at)) in ports.iter().zip(all).enumerate() {
        let _ = write!(config, "{}", service(&format!("s{n}"), *port, &server(&format!("http://127.0.0.1:{at}"), "")));
    }
    let mut engine = Engine::toml(&config, &ports);
    for (n, want) in [(0, 502), (1, 504), (2, 502), (3, 502), (5, 502), (6, 200)] {
        let answer = Client::new(ports[n]).user("ann");
        assert_eq!(answer.status(), want, "s{n}: {}\n{}", answer.head, engine.output());
    }
    let cut = curl(&[&format!("http://127.0.0.1:{}/", ports[4])]);
    assert!(!cut.ok && cut.body == b"only this", "a short body must not look whole: {}", cut.complaint);
    assert!(engine.process.ended().is_none(), "{}", engine.output());
    assert!(!engine.output().contains("internal fault"), "{}", engine.output());
}

#[test]
fn clients_that_misbehave_are_told_so() {
    let origin = nginx("a");
    let port = free_port();
    let mut engine = Engine::toml(&service("web", port, &server(&base(&origin), "")), &[port]);
    let long = "a".repeat(100_000);
    let many: String = (0..500).map(|n| format!("X-{n}: 1\r\n")).collect();
    for (request, want) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), vec![400]),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), vec![400]),
        ("NONSENSE\r\n\r\n".to_owned(), vec![400]),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n".to_owned(), vec![400]),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n".to_owned(), vec![400]),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), vec![431]),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), vec![431]),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n".to_owned(), vec![405]),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), vec![200, 400, 405]),
        ("GET http://b.example/x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), vec![200]),
    ] {
        let mut client = Client::new(port);
        client.send(&request);
        let status = client.answer().status();
        assert!(want.contains(&status), "{status}: {:.60}\n{}", request, engine.output());
    }
    // Two lengths are one request at most: what follows must not be taken for another.
    let mut client = Client::new(port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!([200, 400].contains(&client.answer().status()));
    assert!(engine.process.ended().is_none());
    assert!(!engine.output().contains("internal fault"), "{}", engine.output());
}

#[test]
fn a_connection_that_its_server_closed_meanwhile_costs_no_request() {
    let closing = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        thread::sleep(Duration::from_millis(10));
    });
    let port = free_port();
    let engine = Engine::toml(&service("web", port, &server(&format!("http://127.0.0.1:{closing}"), "")), &[port]);
    let mut client = Client::new(port);
    for n in 0..100 {
        // Around the moment at which the server closes.
        thread::sleep(Duration::from_micros(n * 200));
        assert_eq!(client.user("ann").text(), "ok", "request {n}\n{}", engine.output());
    }
}

#[test]
fn requests_that_run_are_finished_before_the_end() {
    let slow = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
        thread::sleep(Duration::from_millis(1500));
        let _ = stream.write_all(b"done");
    });
    let port = free_port();
    let mut engine = Engine::toml(&service("web", port, &server(&format!("http://127.0.0.1:{slow}"), "")), &[port]);
    let mut client = Client::new(port);
    let mut idle = Client::new(port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let told = Instant::now();
    engine.process.signal(Signal::TERM);
    let closed = until(PATIENCE, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err().then_some(()));
    assert!(closed.is_some(), "the door closes at once");
    let mut body = [0; 8];
    client.0.read_exact(&mut body).expect("the answer is finished");
    assert_eq!(&body, b"halfdone");
    assert!(engine.process.wait(PATIENCE).success(), "{}", engine.output());
    assert!(told.elapsed() < Duration::from_secs(10), "connections without a request hold nothing up");
    assert_eq!(idle.head(), "");
}

#[test]
fn requests_that_do_not_end_are_cut_when_their_time_is_over() {
    let endless = scripted(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 800000000\r\n\r\n");
        while stream.write_all(b"more").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let port = free_port();
    let config = service("web", port, &server(&format!("http://127.0.0.1:{endless}"), ""));
    let engine = Engine::toml(&format!("[policy]\ndrain = 1\n\n{config}"), &[port]);
    let mut client = Client::new(port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 200"));
    let told = Instant::now();
    let (status, said) = engine.stop();
    assert!(status.success() && said.contains("1 requests of services did not end in time"), "{said}");
    assert!(told.elapsed() > Duration::from_millis(900), "{:?}", told.elapsed());
}

#[test]
fn servers_behind_tls_are_verified() {
    let (right, wrong) = (Certificate::new("localhost"), Certificate::new("localhost"));
    let secure = |certificate: &Certificate, port: u16, name: &str| {
        let (cert, key) = (certificate.cert(), certificate.key());
        let tls = format!("ssl_certificate {}; ssl_certificate_key {};", cert.display(), key.display());
        Nginx::start(&[], &format!("listen 127.0.0.1:{port} ssl; {tls} {}", named(name)))
    };
    let (first, second) = (free_port(), free_port());
    let (_right, _wrong) = (secure(&right, first, "right"), secure(&wrong, second, "wrong"));
    let ports = [free_port(), free_port()];
    let config = service("right", ports[0], &server(&format!("https://localhost:{first}"), ""))
        + &service("wrong", ports[1], &server(&format!("https://localhost:{second}"), ""));
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("config.toml"), config).expect("the folder is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    command.args(["run", "-c", "config.toml"]).current_dir(folder.path());
    command.env_clear().env("SSL_CERT_FILE", right.cert());
    let mut process = Process::start("etemenanki", command, folder);
    assert!(process.wait_to_listen((Ipv4Addr::LOCALHOST, ports[1]).into()), "{}", process.output());
    assert_eq!(Client::new(ports[0]).user("ann").text(), "right", "{}", process.output());
    assert_eq!(Client::new(ports[1]).user("ann").status(), 502, "{}", process.output());
}

#[test]
fn a_door_that_is_taken_is_told_by_name() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = taken.local_addr().expect("it is bound").port();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = service("web", port, &server("http://127.0.0.1:1", ""));
    std::fs::write(folder.path().join("config.toml"), config).expect("the folder is ours");
    let run = run_once_in(folder.path(), &["run", "-c", "config.toml"], b"");
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(255), "{said}");
    assert!(said.contains(&format!("service web: cannot listen on tcp 127.0.0.1:{port}")), "{said}");
}
