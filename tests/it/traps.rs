//! The traps of Xray's configuration: where each is tested, and those tests that need a whole engine.
#![allow(clippy::unwrap_used)]

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use etemenanki::frontend::{Format, Options, Source, load};
use serde_json::{Value, json};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{Exit, House, association, exit_of, run_once_in, socks_outbound, wrapped};

/// The trap, the file below the project, and the test in it.
const KEPT: [(&str, &str, &str); 22] = [
    ("1 letter case, unknown and repeated keys", LOAD, "trap_1_letter_case_and_repeated_sections"),
    ("2 blanks in lists", LOAD, "trap_2_networks_are_not_trimmed_and_ports_are"),
    ("3 bare names", LOAD, "trap_3_a_bare_name_is_a_keyword_in_rules_and_a_whole_name_in_hosts"),
    ("4 selectors", HERE, "trap_4_selectors_are_beginnings_of_tags_and_services_are_no_members"),
    ("5 fallbackTag and health", HERE, "trap_5_a_fallback_needs_no_observatory_and_is_for_the_dead"),
    ("6 leastLoad", "src/balance/least.rs", "trap_6_steadiness_counts_not_speed"),
    ("6 costs", "src/balance/least.rs", "factors_weigh_by_their_root_and_odd_ones_count_1"),
    ("6 maxRTT", "src/balance/least.rs", "slow_and_failing_members_are_left_out"),
    ("6 with a plain observatory", "src/balance/keeper/tests/lights.rs", "least_load_takes_the_steadiest"),
    ("7 no pick and no outbound", HERE, "trap_7_what_names_nobody_is_closed_and_never_leaves_by_the_default"),
    ("8 later files", "src/frontend/merge/tests.rs", "trap_8_later_outbounds_stand_in_front_unless_the_name_says_tail"),
    ("9 negated lists", ROUTER, "trap_9_negated_lists_are_one_set_and_say_nothing_of_the_other_family"),
    ("10 mux and QUIC", HERE, "trap_10_mux_drops_datagrams_to_port_443"),
    ("11 durations", LOAD, "trap_11_durations_need_units"),
    ("12 lists that must be lists", LOAD, "trap_12_lists_must_be_lists"),
    ("13 log levels", LOAD, "trap_13_log_defaults"),
    ("14 port 0 is read", LOAD, "trap_14_port_0_and_the_empty_text_are_conditions_that_never_hold"),
    ("14 port 0 never holds", ROUTER, "trap_14_a_set_of_no_ports_holds_for_no_flow"),
    ("15 api.listen", HERE, "trap_15_an_api_with_an_address_of_its_own_is_no_outbound"),
    ("16 addresses of DNS servers", LOAD, "trap_16_addresses_of_dns_servers"),
    ("17 ip before domain", ROUTER, "trap_17_addresses_are_asked_for_before_the_name_is_looked_at"),
    ("18 exit status", HERE, "trap_18_a_test_says_ok_on_standard_output_and_what_cannot_start_ends_with_255"),
];

const HERE: &str = "tests/it/traps.rs";
const LOAD: &str = "src/frontend/load/tests.rs";
const ROUTER: &str = "src/route/router/tests.rs";

#[test]
fn every_trap_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let there = |file: &str, test: &str| {
        std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(&format!("fn {test}(")))
    };
    let lost: Vec<_> = KEPT.iter().filter(|(_, file, test)| !there(file, test)).collect();
    assert!(lost.is_empty(), "traps without their test: {lost:#?}");
    let numbers = KEPT.iter().filter_map(|(trap, ..)| trap.split(' ').next()?.parse::<usize>().ok());
    assert!(numbers.collect::<std::collections::BTreeSet<_>>().into_iter().eq(1..=18));
}

/// What is said of a config, and whether it can run.
fn checked(config: &Value) -> (bool, String) {
    let source = Source { name: "c.json".into(), bytes: config.to_string().into(), format: Some(Format::Json) };
    let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    let runs = loaded.link().is_some();
    let said: Vec<String> = loaded.problems.iter().map(|problem| problem.message.clone()).collect();
    (runs, said.join("\n"))
}

fn door() -> Value {
    json!({ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } })
}

/// A server that is not there.
fn dead(tag: &str) -> Value {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    socks_outbound(tag, gone)
}

#[tokio::test]
async fn trap_4_selectors_are_beginnings_of_tags_and_services_are_no_members() {
    let (a, ab, api, b) =
        (Exit::start("a").await, Exit::start("ab").await, Exit::start("AB").await, Exit::start("b").await);
    let house = House::start(&json!({
        "api": { "tag": "a-api", "services": [] },
        "inbounds": [door()],
        "outbounds": [b.outbound("b"), api.outbound("A"), a.outbound("a"), ab.outbound("ab")],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["a"], "strategy": { "type": "roundRobin" } }],
            "rules": [{ "network": "tcp", "balancerTag": "pool" }]
        }
    }));
    let mut seen = vec![];
    for _ in 0..4 {
        seen.push(exit_of(house.at("in"), "x.example:80").await);
    }
    seen.sort();
    // Xray would lead a third of the flows into its API.
    assert_eq!(seen, ["a", "a", "ab", "ab"]);
    house.stop().await;
}

/// Xray does not start such a config. As there, only a `fallbackTag` makes these two strategies leave the dead out.
#[tokio::test]
async fn trap_5_a_fallback_needs_no_observatory_and_is_for_the_dead() {
    let (live, rest) = (Exit::start("live").await, Exit::start("rest").await);
    for strategy in ["random", "roundRobin"] {
        for (fallback, members, want) in [
            (Some("rest"), vec![dead("m-a"), live.outbound("m-b")], "live"),
            (None, vec![dead("m-a"), live.outbound("m-b")], "live"),
            (Some("rest"), vec![], "rest"),
        ] {
            let outbounds: Vec<Value> = [vec![rest.outbound("rest")], members].concat();
            let house = House::start(&json!({
                "inbounds": [door()],
                "outbounds": outbounds,
                "routing": {
                    "balancers": [{
                        "tag": "pool", "selector": ["m-"], "fallbackTag": fallback, "strategy": { "type": strategy } }],
                    "rules": [{ "network": "tcp", "balancerTag": "pool" }]
                }
            }));
            // The first flows show who is dead.
            let mut last = vec![];
            for _ in 0..24 {
                last.push(exit_of(house.at("in"), "x.example:80").await);
            }
            let kept = match fallback {
                Some(_) => last[16..].iter().all(|exit| exit == want),
                None => last.iter().any(|exit| exit == want) && last.iter().any(String::is_empty),
            };
            assert!(kept, "{strategy} {fallback:?}: {last:?}");
            house.stop().await;
        }
    }
}

/// In Xray the first two end in opposite ways: closed, and sent out by the default outbound. Here both are closed.
#[tokio::test]
async fn trap_7_what_names_nobody_is_closed_and_never_leaves_by_the_default() {
    let rest = Exit::start("rest").await;
    let house = House::start(&json!({
        "inbounds": [door()],
        "outbounds": [rest.outbound("rest")],
        "routing": {
            "balancers": [
                { "tag": "empty", "selector": ["nobody"] },
                { "tag": "kept", "selector": ["nobody"], "fallbackTag": "rest" }
            ],
            "rules": [
                { "port": 1, "outboundTag": "nobody" },
                { "port": 2, "balancerTag": "empty" },
                { "port": 3, "balancerTag": "kept" },
                // Whatever takes a flow first has it: no later rule is tried.
                { "port": "1-2", "outboundTag": "rest" }
            ]
        }
    }));
    for (port, want) in [(1, None), (2, None), (3, Some("rest")), (4, Some("rest"))] {
        let target = format!("x.example:{port}");
        let at = house.at("in");
        // A door may say so itself, or close behind its answer.
        let said = tokio::spawn(async move { exit_of(at, &target).await }).await.unwrap_or_default();
        assert_eq!(said, want.unwrap_or_default(), "port {port}");
    }
    assert_eq!(rest.last_asked(), "x.example:4");
    house.stop().await;
}

#[tokio::test]
async fn trap_10_mux_drops_datagrams_to_port_443() {
    let echo = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let redirect = echo.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut datagram = [0; 64];
        while let Ok((len, from)) = echo.recv_from(&mut datagram).await {
            let _ = echo.send_to(&datagram[..len], from).await;
        }
    });
    let id = "27848739-7e62-4138-9fd3-098a63964b6b";
    let server = House::start(&json!({
        "inbounds": [{
            "tag": "in", "protocol": "vless", "listen": "127.0.0.1",
            "settings": { "clients": [{ "id": id }], "decryption": "none" } }],
        "outbounds": [{ "protocol": "freedom", "settings": {
            "redirect": redirect, "finalRules": [{ "action": "allow" }] } }]
    }));
    let next = json!([{
        "address": "127.0.0.1", "port": server.at("in").port(), "users": [{ "id": id, "encryption": "none" }] }]);
    let cases = [
        (json!({ "enabled": true }), 443, false),
        (json!({ "enabled": true }), 8443, true),
        (json!({ "enabled": true, "concurrency": -1 }), 443, false),
        (json!({ "enabled": true, "xudpProxyUDP443": "allow" }), 443, true),
        (json!({ "enabled": true, "xudpProxyUDP443": "skip" }), 443, true),
        (json!({ "enabled": false }), 443, true),
    ];
    for (mux, port, passes) in cases {
        let outbound = json!({ "protocol": "vless", "settings": { "vnext": next }, "mux": mux });
        let client = House::start(&json!({ "inbounds": [door()], "outbounds": [outbound] }));
        let (_control, relay) = association(client.at("in")).await;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let quic = wrapped(SocketAddr::from(([192, 0, 2, 1], port)), b"quic");
        socket.send_to(&quic, relay).await.unwrap();
        let mut answer = [0; 64];
        let limit = Duration::from_millis(if passes { 10_000 } else { 300 });
        let came = timeout(limit, socket.recv_from(&mut answer)).await.is_ok();
        assert_eq!(came, passes, "{mux} {port}");
        client.stop().await;
    }
    server.stop().await;
}

#[test]
fn trap_15_an_api_with_an_address_of_its_own_is_no_outbound() {
    let mut door = door();
    door["port"] = 1080.into();
    let config = |api: Value| {
        json!({
            "api": api, "inbounds": [door], "outbounds": [{ "tag": "rest", "protocol": "freedom" }],
            "routing": { "rules": [{ "inboundTag": ["in"], "outboundTag": "api" }] }
        })
    };
    let lost = "there is no outbound api: flows that meet it will be closed";
    let (runs, said) = checked(&config(json!({ "tag": "api", "services": [] })));
    assert!(runs && !said.contains(lost), "{said}");
    let (runs, said) = checked(&config(json!({ "tag": "api", "listen": "127.0.0.1:1", "services": [] })));
    assert!(runs && said.contains(lost), "{said}");
}

#[test]
fn trap_18_a_test_says_ok_on_standard_output_and_what_cannot_start_ends_with_255() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut door = door();
    door["port"] = taken.local_addr().unwrap().port().into();
    let folder = tempfile::tempdir().unwrap();
    let good = json!({ "inbounds": [door], "outbounds": [{ "protocol": "freedom" }] });
    std::fs::write(folder.path().join("good.json"), good.to_string()).unwrap();
    std::fs::write(folder.path().join("bad.json"), r#"{"inbounds": [{"protocol": "sox"}]}"#).unwrap();
    for (args, status, last) in [
        (&["run", "-test", "-c", "good.json"][..], 0, "Configuration OK."),
        (&["run", "-test", "-c", "bad.json"], 23, ""),
        (&["run", "-c", "bad.json"], 23, "Failed to start: "),
        (&["run", "-c", "good.json"], 255, "Failed to start: "),
    ] {
        let output = run_once_in(folder.path(), args, b"");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.lines().last().unwrap_or_default().starts_with(last), "{args:?}: {said}");
        assert_eq!(said.contains("Configuration OK."), status == 0);
    }
}
