//! Probes of balancers' members, with other people's servers behind other people's proxies. What was asked is read off
//! those servers, not off what the engine says.

use serde_json::{Value, json};

use crate::support::{Engine, Nginx, PATIENCE, curl, dnsmasq, free_port, microsocks, run_once_in, sing_box, until};

fn member(tag: &str, port: u16) -> Value {
    let servers = json!([{ "address": "127.0.0.1", "port": port }]);
    json!({ "tag": tag, "protocol": "socks", "settings": { "servers": servers } })
}

/// A SOCKS door for each balancer, and what else `rest` says.
fn config(doors: &[(&str, u16)], outbounds: Value, balancers: Value, rest: Value) -> Value {
    let inbound =
        |(tag, port): &(&str, u16)| json!({ "tag": tag, "listen": "127.0.0.1", "port": port, "protocol": "socks" });
    let rule = |(tag, _): &(&str, u16)| json!({ "inboundTag": [tag], "balancerTag": tag });
    let mut whole = json!({
        "log": { "loglevel": "debug", "access": "access.log" },
        "inbounds": doors.iter().map(inbound).collect::<Vec<_>>(),
        "outbounds": outbounds,
        "routing": { "balancers": balancers, "rules": doors.iter().map(rule).collect::<Vec<_>>() },
    });
    let (Some(whole_map), Some(rest)) = (whole.as_object_mut(), rest.as_object()) else { return whole };
    whole_map.extend(rest.clone());
    whole
}

fn fetched(door: u16, url: &str) -> String {
    String::from_utf8_lossy(&curl(&["-x", &format!("socks5h://127.0.0.1:{door}"), url]).body).into_owned()
}

#[test]
fn an_observatory_asks_once_whoever_reads_it_and_nobody_logs_it_as_traffic() {
    let origin = Nginx::start(&[("page", b"page")], "location /generate_204 { return 204; }");
    let (one, two, dead) = (microsocks(None), microsocks(None), free_port());
    let (ping, any) = (free_port(), free_port());
    let config = config(
        &[("ping", ping), ("any", any)],
        json!([{ "tag": "block", "protocol": "blackhole" }, member("n-dead", dead), member("n-one", one.port()), member("n-two", two.port())]),
        json!([
            { "tag": "ping", "selector": ["n-"], "strategy": { "type": "leastPing" } },
            { "tag": "any", "selector": ["n-"] },
        ]),
        json!({ "observatory": {
            "subjectSelector": ["n-"], "probeURL": origin.url("generate_204"), "probeInterval": "1h", "enableConcurrency": true,
        } }),
    );
    let engine = Engine::json(&config, &[ping, any]);
    engine.process.wait_to_say("balancer member n-dead is now down");
    let asked = || origin.requests().into_iter().filter(|line| line.contains("/generate_204")).collect::<Vec<_>>();
    assert!(until(PATIENCE, || (asked().len() >= 2).then_some(())).is_some(), "{}", engine.output());
    // Probes end a moment after they were answered.
    engine.process.wait_to_say("n-one answered");
    engine.process.wait_to_say("n-two answered");
    for _ in 0..8 {
        for door in [ping, any] {
            assert_eq!(fetched(door, &origin.url("page")), "page", "{}", engine.output());
        }
    }
    assert_eq!(asked(), ["GET /generate_204 204 0"; 2], "one probe a live member, for both balancers");
    let access = std::fs::read_to_string(engine.process.folder.path().join("access.log")).expect("there was traffic");
    assert_eq!(access.lines().count(), 16, "users' flows and nothing else:\n{access}");
    let (_, said) = engine.stop();
    assert!(said.contains("n-dead failed after"), "{said}");
}

/// The shape in which panels write it.
fn panel(doors: &[(&str, u16)], nodes: &[u16], destination: &str) -> Value {
    let nodes: Vec<Value> = nodes.iter().enumerate().map(|(at, port)| member(&format!("node-{at}"), *port)).collect();
    let mut outbounds = vec![json!({ "tag": "block", "protocol": "blackhole", "settings": {} })];
    outbounds.extend(nodes);
    outbounds.push(json!({ "tag": "direct", "protocol": "freedom", "settings": { "domainStrategy": "AsIs" } }));
    config(
        doors,
        outbounds.into(),
        json!([{
            "tag": "pool", "selector": ["node-"], "fallbackTag": "direct",
            "strategy": { "type": "leastLoad", "settings": {
                "expected": 2, "maxRTT": "2s", "tolerance": 0.01, "baselines": ["1s"], "costs": [],
            } },
        }]),
        json!({ "burstObservatory": {
            "subjectSelector": ["node-"],
            "pingConfig": {
                "destination": destination, "interval": "1m", "connectivity": "", "timeout": "2s", "sampling": 2,
            },
        } }),
    )
}

#[test]
fn a_burst_observatory_and_least_load_as_panels_write_them() {
    let origin = Nginx::start(&[("page", b"page")], "location /generate_204 { return 204; }");
    let (live, dead, door) = (microsocks(None), free_port(), free_port());
    let config = panel(&[("pool", door)], &[dead, live.port()], &origin.url("generate_204"));
    let engine = Engine::json(&config, &[door]);
    engine.process.wait_to_say("balancer member node-0 is now down");
    engine.process.wait_to_say("node-1 answered");
    for _ in 0..5 {
        assert_eq!(fetched(door, &origin.url("page")), "page", "{}", engine.output());
    }
    let asked = origin.requests();
    assert!(asked.iter().any(|line| line == "HEAD /generate_204 204 0"), "{asked:?}");
    let (_, said) = engine.stop();
    assert!(said.contains("goes to node-1") && !said.contains("goes to direct"), "{said}");
}

#[test]
fn with_every_member_dead_flows_leave_by_the_fallback() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let (first, second, door) = (free_port(), free_port(), free_port());
    let config = panel(&[("pool", door)], &[first, second], &origin.url("page"));
    let engine = Engine::json(&config, &[door]);
    let url = origin.url("page");
    assert!(until(PATIENCE, || (fetched(door, &url) == "page").then_some(())).is_some(), "{}", engine.output());
}

#[test]
fn members_for_datagrams_are_asked_by_datagrams() {
    let (names, tcp_only, door) = (dnsmasq("probe.example", "10.9.8.7"), microsocks(None), free_port());
    let both = sing_box(|port| {
        json!({
            "inbounds": [{ "type": "socks", "listen": "127.0.0.1", "listen_port": port }],
            "outbounds": [{ "type": "direct" }],
        })
    });
    let probe = format!("dns://127.0.0.1:{}/probe.example", names.port());
    let config = config(
        &[("udp", door)],
        json!([{ "tag": "block", "protocol": "blackhole" }, member("n-tcp", tcp_only.port()), member("n-udp", both.port())]),
        json!([{ "tag": "udp", "members": ["n-tcp", "n-udp"], "strategy": { "type": "failover", "settings": {
            "probe": "dns", "probeUrl": probe, "probeInterval": 1, "probeTimeout": 3,
        } } }]),
        json!({}),
    );
    let engine = Engine::json(&config, &[door]);
    engine.process.wait_to_say("balancer member n-tcp is now down");
    engine.process.wait_to_say("n-udp answered");
    names.process.wait_to_say("query[A] probe.example");
    assert!(!engine.output().contains("n-udp is now down"), "{}", engine.output());
}

#[test]
fn a_check_of_the_configuration_asks_nobody() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let (live, door) = (microsocks(None), free_port());
    let strategy = json!({ "type": "optimal", "settings": { "url": origin.url("page") } });
    let config = config(
        &[("best", door)],
        json!([member("n-one", live.port())]),
        json!([{ "tag": "best", "members": ["n-one"], "strategy": strategy }]),
        json!({}),
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("config.json"), config.to_string()).expect("the folder is ours");
    let checked = run_once_in(folder.path(), &["run", "-test", "-c", "config.json"], b"");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    assert_eq!(origin.requests(), Vec::<String>::new());
}

/// The first users' checks: a plain connection to the member's server, whose name is asked of the server in `[dns]`.
#[test]
fn checks_by_tcp_ask_the_dns_section_for_the_servers_name() {
    let (names, server, door) = (dnsmasq("probe.example", "127.0.0.1"), microsocks(None), free_port());
    let config = format!(
        r#"
[log]
level = "info"

[dns]
servers = ["tcp+local://127.0.0.1:{}"]

[[inbound]]
protocol = "socks"
listen = "127.0.0.1"
port = {door}

[[outbound]]
tag = "known"
protocol = "socks"
server = "known.probe.example"
port = {port}

[[outbound]]
tag = "unknown"
protocol = "socks"
server = "unknown.example"
port = {port}

[[balancer]]
tag = "pool"
outbounds = ["unknown", "known"]
strategy = "failover"
probe_interval = 1
probe_timeout = 2

[route]
default = "pool"
"#,
        names.port(),
        port = server.port(),
    );
    let engine = Engine::toml(&config, &[door]);
    engine.process.wait_to_say("balancer member unknown is now down");
    names.process.wait_to_say("query[A] known.probe.example");
    names.process.wait_to_say("query[A] unknown.example");
    assert!(!engine.output().contains("member known is now down"), "{}", engine.output());
}
