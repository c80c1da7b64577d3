//! Which balancers share a keeper, and what is measured there.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::addr::OutboundId;
use crate::balance::{Plan, Rank};
use crate::probe::what::What;

/// A config in Xray's JSON, with outbounds of these tags at ports of their own.
fn config(tags: &[&str], rest: Value) -> Config {
    let outbound = |(tag, port): (&&str, u16)| {
        let servers = json!([{ "address": "127.0.0.1", "port": port }]);
        json!({ "tag": tag, "protocol": "socks", "settings": { "servers": servers } })
    };
    let mut whole = json!({ "outbounds": tags.iter().zip(1..).map(outbound).collect::<Vec<_>>() });
    whole.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let source = crate::frontend::Source {
        name: "test.json".into(),
        bytes: whole.to_string().into(),
        format: Some(crate::frontend::Format::Json),
    };
    let loaded = crate::frontend::load(vec![source], &crate::frontend::Options { strict: false, env: &|_| None });
    let draft = loaded.draft.unwrap();
    crate::model::check::link(&draft, crate::shape::Dialect::Json).config.unwrap()
}

fn chosen(config: &Config) -> Result<Vec<Watched>, Unfit> {
    let balancers: Vec<_> = config
        .balancers
        .iter()
        .map(|linked| {
            let member = |member: &crate::model::config::LinkedMember| crate::balance::Member {
                tag: member.tag.clone(),
                hop: member.hop,
                udp: true,
                weight: 100,
            };
            let members = linked.members.iter().map(member).collect();
            let (strategy, exit) = (crate::balance::Strategy::Random, crate::balance::Exit::None);
            Arc::new(Balancer::new(linked.tag.clone(), members, strategy, exit))
        })
        .collect();
    choose(config, &balancers, |hop| known(config, hop))
}

/// The fourth outbound of a config carries only datagrams.
fn known(config: &Config, hop: Hop) -> Known {
    let Hop::Outbound(id) = hop else { return Known::default() };
    let server = config.outbound(id).and_then(crate::model::outbound::Outbound::probe_target);
    Known { server, only_udp: id == OutboundId(3), print: u64::from(id.0) }
}

fn balancer(tag: &str, strategy: Value) -> Value {
    json!({ "tag": tag, "selector": ["n-"], "strategy": strategy })
}

fn said(what: Option<&Arc<What>>) -> String {
    match what.map(|what| &**what) {
        None => "nothing".into(),
        Some(What::Test(test)) => format!("test {}", test.url),
        Some(What::Ping(ping)) => format!("{} {} {}", ping.method, ping.url, ping.body),
        Some(What::Tcp(server)) => format!("tcp {server}"),
        Some(What::Dns(query)) => format!("dns {} {}", query.server, query.name),
    }
}

const NODES: [&str; 4] = ["n-a", "n-b", "other", "n-udp"];

#[test]
fn equal_settings_share_a_keeper_and_different_ones_do_not() {
    let fast = json!({ "type": "optimal", "settings": { "interval": 1000 } });
    let balancers = json!([
        balancer("one", json!({ "type": "optimal" })),
        balancer("two", json!({ "type": "optimal", "settings": { "weights": [{ "tag": "n-a", "weight": 300 }] } })),
        balancer("three", fast),
        balancer("four", json!({ "type": "leastPing" })),
        balancer("five", json!({ "type": "random" })),
    ]);
    let rest = json!({
        "routing": { "balancers": balancers },
        "observatory": { "subjectSelector": ["n-"], "probeURL": "http://check.example/" },
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let groups: Vec<Vec<&str>> =
        keepers.iter().map(|k| k.setup.groups.iter().map(|group| group.tag.as_str()).collect()).collect();
    assert_eq!(groups, [vec!["one", "two"], vec!["three"], vec!["four", "five"]], "weights are no probe settings");
    assert_eq!(keepers[0].setup.subjects.len(), 3, "every member once");
    assert_eq!(keepers[0].setup.groups[1].members, [0, 1, 2]);
    let prints: std::collections::BTreeSet<u64> = keepers.iter().map(|keeper| keeper.setup.print).collect();
    assert_eq!(prints.len(), 3);
}

/// They may speak different protocols or be other users there; that they lead to one place cannot be seen from here. One
/// name that stands twice is one member.
#[test]
fn trap_21_two_names_for_one_server_are_two_members() {
    let servers = json!([{ "address": "127.0.0.1", "port": 1 }]);
    let outbound = |tag: &str| json!({ "tag": tag, "protocol": "socks", "settings": { "servers": servers } });
    let rest = json!({
        "outbounds": [outbound("n-a"), outbound("n-b")],
        "routing": { "balancers": [{
            "tag": "best", "members": ["n-a", "n-b", "n-a"], "strategy": { "type": "optimal" },
        }] },
    });
    let keepers = chosen(&config(&[], rest)).unwrap();
    let tags: Vec<&str> = keepers[0].setup.subjects.iter().map(|subject| subject.tag.as_str()).collect();
    assert_eq!(tags, ["n-a", "n-b"]);
}

#[test]
fn optimal_has_the_seeds_defaults() {
    let rest = json!({ "routing": { "balancers": [balancer("best", json!({ "type": "optimal" }))] } });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let Plan::Rounds(rounds) = &keepers[0].setup.plan else { panic!("not rounds") };
    assert_eq!((rounds.timeout, rounds.interval, rounds.count), (5 * SECOND, 600 * SECOND, 1));
    assert_eq!((rounds.warmup.len(), rounds.stagger, rounds.second), (0, Duration::ZERO, false));
    let group = &keepers[0].setup.groups[0];
    assert_eq!((group.wait, group.guards, &group.rank), (None, true, &Rank::Rate));
    let mean = &keepers[0].means.subjects[0];
    let Some(What::Test(test)) = mean.test.as_deref() else { panic!("not a test") };
    assert_eq!((test.url.as_str(), test.max_bytes), ("https://www.google.com/", 16 << 20));
    assert_eq!((test.accept.clone(), test.responder), (200..=399, false));
    assert_eq!(said(mean.life.as_ref()), "HEAD https://www.google.com/ 0", "the origin of the test");
    assert_eq!(said(mean.second.as_ref()), "nothing");
}

#[test]
fn a_second_address_serves_guards_and_tells_a_dead_target_from_dead_members() {
    let settings = json!({ "url": "http://t.example/a?b", "probeUrl": "http://p.example/", "startup": "wait" });
    let settings = json!({ "type": "adaptive", "settings": settings });
    let rest = json!({
        "routing": { "balancers": [balancer("best", settings)] },
        "observatory": { "subjectSelector": ["n-a"], "probeURL": "http://check.example/" },
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let Plan::Rounds(rounds) = &keepers[0].setup.plan else { panic!("not rounds") };
    assert!(rounds.second && rounds.warmup == [20 * SECOND, 60 * SECOND, 180 * SECOND]);
    let means = &keepers[0].means.subjects;
    assert_eq!(said(means[0].life.as_ref()), "GET http://check.example/ 0", "the observatory watches this one");
    assert_eq!(said(means[1].life.as_ref()), "HEAD http://p.example/ 0");
    assert_eq!(said(means[0].second.as_ref()), "HEAD http://p.example/ 0");
    assert_eq!(keepers[0].setup.groups[0].wait, Some(2 * SECOND));
}

#[test]
fn what_carries_only_datagrams_is_asked_by_datagrams() {
    let rest = json!({
        "routing": { "balancers": [balancer("one", json!("optimal")), balancer("two", json!("leastPing"))] },
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let udp = |keeper: &Watched| {
        let at = keeper.setup.subjects.iter().position(|subject| subject.tag.as_str() == "n-udp").unwrap();
        keeper.means.subjects[at].clone()
    };
    let question = "dns 8.8.8.8:53 www.google.com";
    let (rounds, sweep) = (udp(&keepers[0]), udp(&keepers[1]));
    assert_eq!([&rounds.test, &rounds.life, &sweep.light].map(|what| said(what.as_ref())), [question; 3]);
    assert_eq!(said(sweep.test.as_ref()), "nothing");
}

#[test]
fn observatories_mean_what_they_mean_in_xray() {
    let burst = json!({
        "subjectSelector": ["n-a"],
        "idle": "30m",
        "pingConfig": {
            "destination": "http://d.example/", "connectivity": "http://c.example/",
            "interval": "20s", "sampling": 3, "timeout": "2s", "httpMethod": "get",
        },
    });
    let rest = json!({
        "routing": { "balancers": [balancer("load", json!({ "type": "leastLoad" }))] },
        "burstObservatory": burst,
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let setup = &keepers[0].setup;
    let plan = Plan::Burst { interval: 20 * SECOND, timeout: 2 * SECOND, sampling: 3, connectivity: true };
    assert_eq!((&setup.plan, setup.idle), (&plan, Some(1800 * SECOND)));
    assert_eq!(setup.subjects.iter().map(|subject| subject.watched).collect::<Vec<_>>(), [true, false, false]);
    let means = &keepers[0].means;
    assert_eq!(said(means.subjects[0].light.as_ref()), "GET http://d.example/ 1048576", "GET takes the page as well");
    assert_eq!(said(means.direct.as_ref()), "GET http://c.example/ 1048576");

    let plain = json!({ "subjectSelector": ["n-"], "enableConcurrency": true });
    let rest = json!({
        "routing": { "balancers": [balancer("ping", json!({ "type": "leastPing" }))] },
        "observatory": plain, "burstObservatory": { "subjectSelector": ["n-"], "pingConfig": {} },
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    let plan = Plan::Sweep { interval: 10 * SECOND, timeout: 5 * SECOND, concurrent: true };
    assert_eq!(keepers[0].setup.plan, plan, "of two, the first registered is read");
    let light = said(keepers[0].means.subjects[0].light.as_ref());
    assert_eq!(light, "GET https://www.google.com/generate_204 0");
}

#[test]
fn observers_are_found_by_name() {
    let observer = |kind: &str, tag: &str| json!({ "type": kind, "tag": tag, "settings": { "subjectSelector": ["n-"], "pingConfig": {} } });
    let reads = |tag: &str| balancer(tag, json!({ "type": "random", "settings": { "observerTag": tag } }));
    let rest = json!({
        "routing": { "balancers": [reads("x"), reads("y")] },
        "multiObservatory": { "observers": [observer("default", "y"), observer("burst", "x")] },
    });
    let keepers = chosen(&config(&NODES, rest)).unwrap();
    assert!(matches!(keepers[0].setup.plan, Plan::Burst { sampling: 10, .. }), "{:?}", keepers[0].setup.plan);
    assert!(matches!(keepers[1].setup.plan, Plan::Sweep { .. }));
}

#[test]
fn without_an_observatory_least_strategies_probe_and_the_others_go_by_flows() {
    let mut fallback = balancer("d", json!("roundRobin"));
    fallback["fallbackTag"] = "other".into();
    let balancers = json!([
        balancer("a", json!("leastPing")),
        balancer("b", json!("leastLoad")),
        balancer("c", json!("hrw")),
        fallback,
        balancer("e", json!("random")),
    ]);
    let keepers = chosen(&config(&NODES, json!({ "routing": { "balancers": balancers } }))).unwrap();
    let plans: Vec<&Plan> = keepers.iter().map(|keeper| &keeper.setup.plan).collect();
    let sweep = Plan::Sweep { interval: 10 * SECOND, timeout: 5 * SECOND, concurrent: false };
    let burst = Plan::Burst { interval: 60 * SECOND, timeout: 5 * SECOND, sampling: 10, connectivity: false };
    assert_eq!(plans, [&sweep, &burst, &Plan::Nothing]);
    assert!(keepers[0].setup.subjects.iter().all(|subject| subject.watched));
    let flows = &keepers[2].setup;
    assert!(!flows.guards.probes && flows.subjects.iter().all(|subject| !subject.watched));
    let guards: Vec<bool> = flows.groups.iter().map(|group| group.guards).collect();
    assert_eq!(guards, [true, true, false], "a fallback is of use only if real dials say who is dead");
}

#[test]
fn failover_asks_servers_by_tcp_an_observatory_or_whom_it_is_told() {
    let failover = |settings: Value| balancer("fail", json!({ "type": "failover", "settings": settings }));
    let of = |settings: Value, rest: Value| {
        let mut rest = rest;
        rest["routing"] = json!({ "balancers": [failover(settings)] });
        chosen(&config(&NODES, rest)).unwrap().remove(0)
    };
    let seed = of(json!({ "returnAfter": 3 }), json!({}));
    assert_eq!(seed.setup.plan, Plan::Beats { interval: 30 * SECOND, timeout: 5 * SECOND, spread: false });
    assert_eq!(said(seed.means.subjects[0].light.as_ref()), "tcp 127.0.0.1:1");
    assert_eq!(seed.setup.groups[0].rank, Rank::List { returns: 3 });
    let observed = of(json!({}), json!({ "observatory": { "subjectSelector": ["n-"] } }));
    assert!(matches!(observed.setup.plan, Plan::Sweep { .. }));
    let told = of(json!({ "probe": "http", "probeUrl": "http://p.example/", "probeIdle": "5m" }), json!({}));
    assert_eq!(said(told.means.subjects[0].light.as_ref()), "HEAD http://p.example/ 0");
    assert!(matches!(told.setup.plan, Plan::Beats { spread: true, .. }) && told.setup.idle == Some(300 * SECOND));
    let udp = of(json!({ "probe": "dns", "probeUrl": "dns://9.9.9.9/a.example" }), json!({}));
    assert_eq!(said(udp.means.subjects[0].light.as_ref()), "dns 9.9.9.9:53 a.example");
}

#[test]
fn addresses_that_cannot_be_asked_are_errors_with_the_balancers_name() {
    let told = |strategy: Value, rest: Value| {
        let mut rest = rest;
        rest["routing"] = json!({ "balancers": [balancer("pool", strategy)] });
        chosen(&config(&NODES, rest)).unwrap_err().to_string()
    };
    let bad = told(json!("random"), json!({ "observatory": { "subjectSelector": ["n-"], "probeURL": "ftp://x/" } }));
    assert_eq!(bad, "balancer pool: a test URL begins with http:// or https://, not `ftp:`");
    let bad = told(json!({ "type": "optimal", "settings": { "url": "http://" } }), json!({}));
    assert_eq!(bad, "balancer pool: `http://` is not a URL");
    let costs = json!({ "type": "leastLoad", "settings": { "costs": [{ "regexp": true, "match": "(", "value": 1 }] } });
    assert!(told(costs, json!({})).contains("not a regular expression"));
}

const SECOND: Duration = Duration::from_secs(1);
