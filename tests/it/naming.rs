//! Names by the `dns` section, with dnsmasq as the server.

use serde_json::{Value, json};

use crate::support::{Engine, Nginx, curl, dnsmasq, free_port};

/// A SOCKS door, an outbound that resolves by itself, and another that rules may choose; the names are dnsmasq's.
fn config(door: u16, servers: Value, routing: Value) -> Value {
    json!({
        "log": { "loglevel": "debug" },
        "dns": { "servers": servers, "tag": "names", "queryStrategy": "UseIPv4" },
        "inbounds": [{ "tag": "in", "listen": "127.0.0.1", "port": door, "protocol": "socks" }],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom",
              "settings": { "domainStrategy": "ForceIP", "finalRules": [{ "action": "allow" }] } },
            { "tag": "block", "protocol": "blackhole" },
        ],
        "routing": routing,
    })
}

fn fetched(door: u16, url: &str) -> bool {
    let proxy = format!("socks5h://127.0.0.1:{door}");
    curl(&["--proxy", &proxy, "--max-time", "8", url]).text() == "page"
}

#[test]
fn names_are_asked_of_the_server_by_udp_and_tcp() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let url = origin.url("page").replace("127.0.0.1", "www.probe.example");
    for form in ["", "udp", "tcp", "tcp+local"] {
        let (names, door) = (dnsmasq("probe.example", "127.0.0.1"), free_port());
        let server = match form {
            "" => json!({ "address": "127.0.0.1", "port": names.port() }),
            form => json!(format!("{form}://127.0.0.1:{}", names.port())),
        };
        let engine = Engine::json(&config(door, json!([server]), json!({})), &[door]);
        for _ in 0..2 {
            assert!(fetched(door, &url), "{form}: {}", engine.output());
        }
        names.process.wait_to_say("query[A] www.probe.example");
        let asked = names.process.output().matches("query[A] www.probe.example").count();
        assert_eq!(asked, 1, "{form}: an answer is kept");
    }
}

#[test]
fn rules_see_the_addresses_of_names_and_questions_have_an_inbound_tag() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let url = origin.url("page").replace("127.0.0.1", "www.probe.example");
    let (names, door) = (dnsmasq("probe.example", "127.0.0.1"), free_port());
    let server = || json!([{ "address": "127.0.0.1", "port": names.port() }]);
    let by_address = json!({ "domainStrategy": "IPIfNonMatch", "rules": [{ "ip": ["127.0.0.1"], "network": "tcp", "outboundTag": "block" }] });
    let engine = Engine::json(&config(door, server(), by_address), &[door]);
    assert!(!fetched(door, &url), "{}", engine.output());
    drop(engine);
    let (door, no_questions) = (free_port(), json!({ "rules": [{ "inboundTag": ["names"], "outboundTag": "block" }] }));
    let engine = Engine::json(&config(door, server(), no_questions), &[door]);
    assert!(!fetched(door, &url), "questions go where the rules send them: {}", engine.output());
}
