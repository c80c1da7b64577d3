//! Balancers as a new user meets them: the first users' failover example, hashing that keeps a site's exit, and tests that
//! the server at the other end answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use serde_json::json;

use crate::support::{Engine, Exit, House, Nginx, Process, curl, exit_of, free_port, program};

/// A real SOCKS server on a port of our choice, so that it can come back to it.
fn upstream(port: u16) -> Process {
    let mut command = Command::new(program("microsocks"));
    command.args(["-i", "127.0.0.1", "-p", &port.to_string()]);
    let mut process = Process::start("microsocks", command, tempfile::tempdir().expect("a temporary folder"));
    assert!(process.wait_to_listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port))), "{}", process.output());
    process
}

/// The example of the failover page: the main server is killed and comes back. A wire is told by the fact that its server
/// is the only one alive.
#[test]
fn failover_survives_a_killed_server_and_returns_to_it() {
    let origin = Nginx::start(&[("page", b"hello")], "");
    let (one, two, socks) = (free_port(), free_port(), free_port());
    let (mut primary, mut backup) = (upstream(one), upstream(two));
    let config = format!(
        r#"
[log]
level = "info"

[[inbound]]
tag = "socks-in"
protocol = "socks"
listen = "127.0.0.1"
port = {socks}

[[outbound]]
tag = "primary"
protocol = "socks"
server = "127.0.0.1"
port = {one}

[[outbound]]
tag = "backup"
protocol = "socks"
server = "127.0.0.1"
port = {two}

[[balancer]]
tag = "proxy"
outbounds = ["primary", "backup"]
strategy = "failover"
probe_interval = 1
probe_timeout = 2

[route]
default = "proxy"
"#
    );
    let engine = Engine::toml(&config, &[socks]);
    let fetch = || curl(&["-x", &format!("socks5h://127.0.0.1:{socks}"), &origin.url("page")]);
    assert_eq!(fetch().text(), "hello");
    // The backup does not carry it: it may be gone as well.
    backup.kill();
    assert_eq!(fetch().text(), "hello", "the primary serves");
    let backup = upstream(two);
    primary.kill();
    for n in 0..5 {
        assert_eq!(fetch().text(), "hello", "flow {n} after the end of the primary:\n{}", engine.output());
    }
    engine.process.wait_to_say("balancer member primary is now down");
    let primary = upstream(one);
    engine.process.wait_to_say("balancer member primary is now up");
    assert_eq!(fetch().text(), "hello");
    drop(backup);
    assert_eq!(fetch().text(), "hello", "the primary serves again:\n{}", engine.output());
    drop(primary);
}

/// 12.5 of the specification, with somebody else's client: users of an inbound with accounts are answered inside the
/// tunnel, before any rule; others are not.
#[test]
fn the_responder_answers_users_that_logged_in() {
    let (login, open) = (free_port(), free_port());
    let _engine = Engine::json(
        &json!({
            "inbounds": [
                {"tag": "in", "listen": "127.0.0.1", "port": login, "protocol": "socks", "settings": {
                    "auth": "password", "accounts": [{"user": "ann", "pass": "secret"}]}},
                {"tag": "open", "listen": "127.0.0.1", "port": open, "protocol": "socks"},
            ],
            "outbounds": [{"tag": "block", "protocol": "blackhole"}, {"tag": "tests", "protocol": "responder"}],
            "routing": {"rules": [{"inboundTag": ["open"], "domain": ["full:probe.invalid"], "outboundTag": "tests"}]},
        }),
        &[login, open],
    );
    let ann = format!("socks5h://ann:secret@127.0.0.1:{login}");
    let answer = curl(&["-x", &ann, "-i", "http://probe.invalid/204"]);
    let text = answer.text();
    assert!(
        text.starts_with("HTTP/1.1 204 ") && text.contains("x-etemenanki-responder: 1"),
        "{text} {}",
        answer.complaint
    );
    let body = curl(&["-x", &ann, "http://probe.invalid/bytes/4194304"]);
    assert_eq!(body.body.len(), 4 << 20, "{}", body.complaint);
    assert!(!curl(&["-x", &ann, "-f", "http://probe.invalid/bytes/4194305"]).ok);
    assert!(!curl(&["-x", &ann, "http://other.invalid/204"]).ok, "the rules have the rest");
    let stranger = curl(&["-x", &format!("socks5h://127.0.0.1:{open}"), "http://probe.invalid/204"]);
    assert!(!stranger.ok, "even where a rule leads there: {}", stranger.text());
}

/// A site keeps its exit, and moves only when that exit dies.
#[tokio::test]
async fn hashing_by_site_keeps_the_exit_of_a_site() {
    let mut exits = [Exit::start("m-a").await, Exit::start("m-b").await, Exit::start("m-c").await];
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [exits[0].outbound("m-a"), exits[1].outbound("m-b"), exits[2].outbound("m-c")],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"], "strategy": {
                "type": "HRW", "settings": { "hashKey": ["dest_site"] } } }],
            "rules": [{ "network": "tcp", "balancerTag": "pool" }]
        }
    }));
    let at = house.at("in");
    let mut before = vec![];
    for n in 0..24 {
        let exit = exit_of(at, &format!("www.site-{n}.example:443")).await;
        assert_eq!(exit_of(at, &format!("cdn.site-{n}.example:80")).await, exit, "one site, one exit");
        before.push(exit);
    }
    for name in ["m-a", "m-b", "m-c"] {
        assert!(before.iter().any(|exit| exit == name), "{name} has its share: {before:?}");
    }
    exits[1].die().await;
    for (n, was) in before.iter().enumerate() {
        let is = exit_of(at, &format!("www.site-{n}.example:443")).await;
        assert!(is == *was || was == "m-b", "site {n} moved from {was} to {is}");
        assert!(is == "m-a" || is == "m-c", "{is:?}");
    }
    house.stop().await;
}
