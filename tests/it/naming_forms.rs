//! Name servers in every form that an address can say, with unbound as the server.

use serde_json::{Value, json};

use crate::support::{
    Authority, Certificate, Doq, Engine, Nginx, Peer, Process, Speech, curl, dnsmasq, free_port, microsocks,
    run_once_in, unbound, unbound_at,
};

const FORMS: [(&str, Speech); 3] = [("https", Speech::Https), ("h2c", Speech::Plain), ("tls", Speech::Tls)];

/// A SOCKS door whose names the servers resolve; questions leave by the outbound `way`.
fn config(door: u16, servers: &Value, way: &Value) -> Value {
    json!({
        "log": { "loglevel": "debug" },
        "dns": {
            "servers": servers, "tag": "names", "queryStrategy": "UseIPv4",
            "hosts": { "dns.example": "127.0.0.1", "other.example": "127.0.0.1" },
        },
        "inbounds": [{ "tag": "in", "listen": "127.0.0.1", "port": door, "protocol": "socks" }],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom",
              "settings": { "domainStrategy": "ForceIP", "finalRules": [{ "action": "allow" }] } },
            way,
        ],
        "routing": { "rules": [{ "inboundTag": ["names"], "outboundTag": "way" }] },
    })
}

fn block() -> Value {
    json!({ "tag": "way", "protocol": "blackhole" })
}

fn through(peer: &Peer) -> Value {
    json!({ "tag": "way", "protocol": "socks", "settings": { "address": "127.0.0.1", "port": peer.port() } })
}

fn trusting(authority: &Authority, config: &Value, door: u16) -> Engine {
    Engine::trusting(&authority.cert(), "config.json", &config.to_string(), &[door])
}

fn fetched(door: u16, origin: &Nginx, name: &str) -> bool {
    let (proxy, url) = (format!("socks5h://127.0.0.1:{door}"), origin.url("page").replace("127.0.0.1", name));
    curl(&["--proxy", &proxy, "--max-time", "8", &url]).text() == "page"
}

fn url(form: &str, host: &str, peer: &Peer) -> String {
    let path = if form.starts_with("tls") { "" } else { "/dns-query" };
    format!("{form}://{host}:{}{path}", peer.port())
}

/// How often something was said.
fn said(process: &Process, what: &str) -> usize {
    process.output().matches(what).count()
}

#[test]
fn a_routed_server_is_asked_where_the_rules_send_its_tag_by_one_connection() {
    let (origin, authority) = (Nginx::start(&[("page", b"page")], ""), Authority::new());
    let shown = authority.issue("dns.example");
    for (form, speech) in FORMS {
        let names = unbound(speech, &shown, "probe.example", "127.0.0.1");
        let (way, door) = (microsocks(None), free_port());
        let server = url(form, "127.0.0.1", &names);
        let engine = trusting(&authority, &config(door, &json!([server]), &through(&way)), door);
        for name in ["a.probe.example", "b.probe.example", "a.probe.example"] {
            assert!(fetched(door, &origin, name), "{form}: {}", engine.output());
        }
        for name in ["a.probe.example", "b.probe.example"] {
            assert_eq!(said(&names.process, &format!("{name}. A IN")), 1, "{form}: an answer is kept");
        }
        // By the outbound of the rule, and once for both names.
        let connected = format!("connected to 127.0.0.1:{}", names.port());
        assert_eq!(said(&way.process, &connected), 1, "{form}: {}", way.process.output());
    }
}

#[test]
fn a_local_server_is_asked_directly_and_its_name_is_the_hosts() {
    let (origin, authority) = (Nginx::start(&[("page", b"page")], ""), Authority::new());
    let shown = authority.issue("dns.example");
    for (form, speech) in FORMS {
        let names = unbound(speech, &shown, "probe.example", "127.0.0.1");
        let door = free_port();
        let server = url(&format!("{form}+local"), "dns.example", &names);
        let engine = trusting(&authority, &config(door, &json!([server]), &block()), door);
        assert!(fetched(door, &origin, "a.probe.example"), "{form}: {}", engine.output());
    }
}

#[test]
fn after_a_server_was_restarted_the_next_question_works() {
    let (origin, authority) = (Nginx::start(&[("page", b"page")], ""), Authority::new());
    let shown = authority.issue("dns.example");
    for (form, speech) in FORMS {
        let mut names = unbound(speech, &shown, "probe.example", "127.0.0.1");
        let (door, port) = (free_port(), names.port());
        let server = url(&format!("{form}+local"), "127.0.0.1", &names);
        let engine = trusting(&authority, &config(door, &json!([server]), &block()), door);
        assert!(fetched(door, &origin, "a.probe.example"), "{form}: {}", engine.output());
        names.process.kill();
        let _again = unbound_at(port, speech, &shown, "probe.example", "127.0.0.1");
        assert!(fetched(door, &origin, "b.probe.example"), "{form}: {}", engine.output());
    }
}

#[test]
fn a_certificate_that_is_not_good_is_told() {
    let (origin, authority) = (Nginx::start(&[("page", b"page")], ""), Authority::new());
    let cases = [
        (
            authority.issue("dns.example"),
            "other.example",
            "TLS: invalid peer certificate: certificate not valid for name",
        ),
        (Certificate::new("dns.example"), "dns.example", "TLS: invalid peer certificate: UnknownIssuer"),
    ];
    for (shown, host, why) in cases {
        for (form, speech) in [("https+local", Speech::Https), ("tls+local", Speech::Tls)] {
            let names = unbound(speech, &shown, "probe.example", "127.0.0.1");
            let (door, server) = (free_port(), url(form, host, &names));
            let engine = trusting(&authority, &config(door, &json!([server]), &block()), door);
            assert!(!fetched(door, &origin, "a.probe.example"), "{form}: {}", engine.output());
            engine.process.wait_to_say(&format!("{server}: {why}"));
            assert_eq!(said(&names.process, " A IN"), 0, "{form}: it was not asked");
        }
    }
}

/// What is no server is an error at its place, and nobody else is asked instead.
#[test]
fn an_unknown_form_is_an_error_at_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (server, told) in [
        ("\"sdns://AQcAAAAA\"", "`sdns://` is no way to ask a DNS server"),
        ("{\"address\": \"quic://192.0.2.1\"}", "did you mean `quic+local://`?"),
        ("\"192.0.2.1:53\"", "write `udp://192.0.2.1:53`"),
        ("\"192.0.2.1/dns-query\"", "`192.0.2.1/dns-query` is no address of a DNS server"),
    ] {
        let text =
            format!("{{\n\"dns\": {{\"servers\": [\n{server}\n]}}, \"outbounds\": [{{\"protocol\": \"freedom\"}}]}}");
        std::fs::write(folder.path().join("config.json"), text).expect("the folder is ours");
        let output = run_once_in(folder.path(), &["run", "-test", "-c", "config.json"], b"");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(23), "{said}");
        assert!(said.contains(told) && said.contains("config.json:3:"), "{said}");
    }
}

#[test]
fn a_server_by_quic_is_asked_directly_by_one_connection_that_is_replaced_when_it_is_dead() {
    let (origin, authority) = (Nginx::start(&[("page", b"page")], ""), Authority::new());
    let (shown, behind) = (authority.issue("dns.example"), dnsmasq("probe.example", "127.0.0.1"));
    let (names, door) = (Doq::start(&shown, behind.addr), free_port());
    let server = json!([format!("quic+local://dns.example:{}", names.port)]);
    let engine = trusting(&authority, &config(door, &server, &block()), door);
    for name in ["a.probe.example", "b.probe.example", "a.probe.example"] {
        assert!(fetched(door, &origin, name), "{}", engine.output());
    }
    assert_eq!((names.connections(), said(&behind.process, "query[A]")), (1, 2));
    let port = names.port;
    drop(names);
    // The connection that is kept does not know yet that nobody is at its other end.
    let again = Doq::start_at(port, &shown, behind.addr);
    assert!(fetched(door, &origin, "c.probe.example"), "{}", engine.output());
    assert_eq!(again.connections(), 1);
    drop((engine, again));

    let (foreign, door) = (Doq::start(&Certificate::new("dns.example"), behind.addr), free_port());
    let server = format!("quic+local://dns.example:{}", foreign.port);
    let engine = trusting(&authority, &config(door, &json!([server]), &block()), door);
    assert!(!fetched(door, &origin, "a.probe.example"), "{}", engine.output());
    engine.process.wait_to_say("invalid peer certificate: UnknownIssuer");
}
