//! Our own server answers the speed tests of our own client. What answered is read off the sizes and off the page's own
//! record: the page has a size of its own, or is no page at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Engine, Nginx, PATIENCE, curl, free_port, microsocks, until};

/// What a test of a server fetches.
const OURS: &str = "bytes=81920 ";
/// The size of the page.
const PAGE: &str = "bytes=40000 ";

/// A server with a door for ann, and one for everybody.
struct Server {
    engine: Engine,
    login: u16,
    open: u16,
}

impl Server {
    fn start() -> Self {
        let (login, open) = (free_port(), free_port());
        let config = json!({
            "inbounds": [
                { "tag": "login", "listen": "127.0.0.1", "port": login, "protocol": "socks", "settings": {
                    "auth": "password", "accounts": [{ "user": "ann", "pass": "secret" }] } },
                { "tag": "open", "listen": "127.0.0.1", "port": open, "protocol": "socks" },
            ],
            "outbounds": [{ "tag": "direct", "protocol": "freedom" }, { "tag": "tests", "protocol": "responder" }],
        });
        let engine = Engine::json(&config, &[login, open]);
        Self { engine, login, open }
    }

    /// What a test would be answered.
    fn answer(&self) -> String {
        let ann = format!("socks5h://ann:secret@127.0.0.1:{}", self.login);
        curl(&["-x", &ann, "-i", "http://probe.invalid/bytes/81920"]).text()
    }
}

/// Takes what ann may have, and whatever comes back, until it goes out of scope.
struct Drain(Arc<AtomicBool>);

impl Drain {
    fn start(login: u16) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&over);
        std::thread::spawn(move || {
            let ann = format!("socks5h://ann:secret@127.0.0.1:{login}");
            while !theirs.load(Ordering::Relaxed) {
                // One process asks often; each answer is smaller than what a test fetches.
                curl(&["-x", &ann, "-o", "/dev/null", "http://probe.invalid/bytes/16384?[1-200]"]);
            }
        });
        Self(over)
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn member(tag: &str, port: u16, login: bool) -> Value {
    let users = if login { json!([{ "user": "ann", "pass": "secret" }]) } else { json!([]) };
    let servers = json!([{ "address": "127.0.0.1", "port": port, "users": users }]);
    json!({ "tag": tag, "protocol": "socks", "settings": { "servers": servers } })
}

/// A client that tests these members once, by their servers where they offer it and by `url` elsewhere.
fn client(strategy: &str, url: &str, members: &[Value]) -> (Engine, u16) {
    let door = free_port();
    let tags: Vec<&Value> = members.iter().map(|member| &member["tag"]).collect();
    let config = json!({
        "log": { "loglevel": "debug", "access": "access.log" },
        "inbounds": [{ "tag": "in", "listen": "127.0.0.1", "port": door, "protocol": "socks" }],
        "outbounds": members,
        "routing": {
            "balancers": [{ "tag": "best", "members": tags, "strategy": { "type": strategy, "settings": {
                "url": url, "responder": true, "interval": 3_600_000, "timeout": 8000,
            } } }],
            "rules": [{ "network": "tcp", "balancerTag": "best" }],
        },
    });
    (Engine::json(&config, &[door]), door)
}

/// The line of a member in the first round.
fn scored(engine: &Engine, strategy: &str, member: &str) -> String {
    let begin = format!("{strategy} best round 1: member {member} ");
    engine.process.wait_to_say(&begin);
    let said = engine.output();
    let line = said.lines().find_map(|line| line.find(&begin).map(|at| line[at..].to_owned()));
    line.unwrap_or_else(|| panic!("no line of {member}:\n{said}"))
}

#[test]
fn scores_come_from_the_server_where_the_page_is_dead() {
    let (server, plain) = (Server::start(), microsocks(None));
    let nowhere = format!("http://127.0.0.1:{}/page", free_port());
    for strategy in ["optimal", "adaptive"] {
        let members = [
            member("plain", plain.port(), false),
            member("stranger", server.open, false),
            member("ours", server.login, true),
        ];
        let (engine, door) = client(strategy, &nowhere, &members);
        let ours = scored(&engine, strategy, "ours");
        assert!(ours.contains(OURS) && !ours.contains(" score=0"), "{ours}");
        for other in ["plain", "stranger"] {
            let line = scored(&engine, strategy, other);
            assert!(line.contains("bytes=0 ") && line.contains(" score=0"), "no answer for {other}: {line}");
        }
        engine.process.wait_to_say(&format!("{strategy} best round 1: serving ours score="));
        let origin = Nginx::start(&[("hello", b"hello")], "");
        let through = curl(&["-x", &format!("socks5h://127.0.0.1:{door}"), &origin.url("hello")]);
        assert_eq!(through.text(), "hello", "{}", engine.output());
        let access = std::fs::read_to_string(engine.process.folder.path().join("access.log")).unwrap_or_default();
        assert!(!access.contains("probe.invalid"), "tests are no traffic of a user: {access}");
    }
    assert!(!server.engine.output().contains("panicked"), "{}", server.engine.output());
}

/// A page for those whose servers answer no tests, and its record.
fn page() -> Nginx {
    Nginx::start(&[("page", &[b'p'; 40_000])], "")
}

fn asked(page: &Nginx) -> Vec<String> {
    page.requests().into_iter().filter(|line| line.starts_with("GET ")).collect()
}

#[test]
fn members_whose_servers_answer_no_tests_fetch_the_page() {
    let (server, plain) = (Server::start(), microsocks(None));
    for strategy in ["optimal", "adaptive"] {
        let page = page();
        let members = [
            member("plain", plain.port(), false),
            member("stranger", server.open, false),
            member("ours", server.login, true),
        ];
        let (engine, _) = client(strategy, &page.url("page"), &members);
        for (member, size) in [("plain", PAGE), ("stranger", PAGE), ("ours", OURS)] {
            let line = scored(&engine, strategy, member);
            assert!(line.contains(size) && !line.contains(" score=0"), "{line}\n{}", engine.output());
        }
        assert_eq!(asked(&page), ["GET /page 200 40000"; 2], "two members, once each");
    }
}

#[test]
fn a_server_that_has_had_enough_says_so_and_the_page_is_fetched() {
    let (server, page) = (Server::start(), page());
    let _drain = Drain::start(server.login);
    let enough = || Some(server.answer()).filter(|said| said.starts_with("HTTP/1.1 429 "));
    let said = until(PATIENCE, enough).expect("there is an end to what one user may take");
    assert!(said.contains("x-etemenanki-responder: 1") && said.ends_with("\r\n\r\n"), "a whole answer: {said}");
    let members = [member("ours", server.login, true), member("stranger", server.open, false)];
    let (engine, _) = client("optimal", &page.url("page"), &members);
    let line = scored(&engine, "optimal", "ours");
    assert!(line.contains(PAGE) && !line.contains(" score=0"), "{line}\n{}", engine.output());
}
