use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::*;
use crate::addr::{DomainName, Network, PortSet};
use crate::geo::Lists;
use crate::model::fields::Networks;
use crate::model::matcher::{Bare, DomainRule, DomainRules, IpRule, IpRules};

fn domains(texts: &[&str]) -> DomainRules {
    DomainRules::of(texts.iter().map(|text| DomainRule::parse(text, Bare::Keyword).unwrap()).collect())
}

fn ips(texts: &[&str]) -> IpRules {
    IpRules::of(texts.iter().map(|text| IpRule::parse(text).unwrap()).collect())
}

fn router(strategy: RouteStrategy, rules: &[When]) -> Router {
    Router::compile(strategy, rules.iter().map(|when| ("r", when)), &Lists::default()).unwrap()
}

type Attribute = fn(&str) -> Option<&'static str>;

struct Ask {
    name: Option<DomainName>,
    address: Option<IpAddr>,
    facts: Facts<'static>,
    attribute: Option<Attribute>,
}

/// A flow to `host:port` from `127.0.0.1:4000` over the inbound `in`.
fn to(host: &str, port: u16) -> Ask {
    let address: Option<IpAddr> = host.parse().ok();
    let facts = Facts {
        inbound: "in",
        network: Network::Tcp,
        protocol: None,
        name: None,
        address,
        port,
        resolved: None,
        source: SocketAddr::from(([127, 0, 0, 1], 4000)),
        local: SocketAddr::from(([127, 0, 0, 2], 1080)),
        user: None,
        attribute: None,
        vless_route: 0,
    };
    Ask { name: DomainName::new(host).ok(), address, facts, attribute: None }
}

/// Asks until there is an answer, and resolves names by `hosts`; says how often that was needed.
fn run(router: &Router, ask: &Ask, hosts: &[(&str, &str)]) -> (Option<usize>, u32) {
    let answers: Vec<IpAddr> = ask
        .name
        .iter()
        .flat_map(|name| hosts.iter().filter(move |host| host.0 == name.as_str()))
        .map(|host| host.1.parse().unwrap())
        .collect();
    let lookups = Cell::new(0);
    let attribute = ask.attribute.unwrap_or(|_| None);
    let lookup = |name: &str| attribute(name);
    let mut facts =
        Facts { name: ask.name.as_ref(), address: ask.address, attribute: Some(&lookup), ..shorter(ask.facts) };
    loop {
        match router.decide(&facts) {
            Decision::To(rule) => return (Some(rule), lookups.get()),
            Decision::Default => return (None, lookups.get()),
            Decision::NeedIps => {
                assert!(facts.resolved.is_none(), "asked twice");
                lookups.set(lookups.get() + 1);
                facts.resolved = Some(&answers);
            }
        }
    }
}

/// Facts are covariant but for the closure, which borrows for as long as they do.
fn shorter<'a>(facts: Facts<'static>) -> Facts<'a> {
    Facts { attribute: None, ..facts }
}

fn hit(rules: &[When], ask: &Ask) -> Option<usize> {
    run(&router(RouteStrategy::AsIs, rules), ask, &[]).0
}

#[test]
fn every_condition_of_a_rule_must_hold() {
    let rules = [
        When { source: ips(&["127.0.0.2/32"]), ip: ips(&["192.0.2.0/24"]), ..When::default() },
        When { source: ips(&["192.0.2.0/24"]), ip: ips(&["127.0.0.2/32"]), ..When::default() },
    ];
    let mut ask = to("192.0.2.7", 80);
    assert_eq!(hit(&rules, &ask), None);
    ask.facts.source = SocketAddr::from(([127, 0, 0, 2], 1));
    assert_eq!(hit(&rules, &ask), Some(0));
    let mut other = to("127.0.0.2", 80);
    other.facts.source = SocketAddr::from(([127, 0, 0, 2], 1));
    assert_eq!(hit(&rules, &other), None);
}

#[test]
fn each_condition_alone() {
    let ports = |text| Some(PortSet::parse(text).unwrap());
    let mut ask = to("www.example.com", 443);
    ask.facts.protocol = Some("http1");
    ask.facts.user = Some("love@x");
    ask.facts.vless_route = 7;
    ask.attribute = Some(|name| (name == ":method").then_some("GET"));
    let attrs = |name: &str, pattern: &str| BTreeMap::from([(name.to_owned(), pattern.to_owned())]);
    let cases: Vec<(&str, When, bool)> = vec![
        ("inbound", When { inbound: vec!["x".into(), "in".into()], ..When::default() }, true),
        ("other inbound", When { inbound: vec!["i".into()], ..When::default() }, false),
        ("network", When { network: Some(Networks::TCP), ..When::default() }, true),
        ("other network", When { network: Some(Networks::UDP), ..When::default() }, false),
        ("no network", When { network: Some(Networks::default()), ..When::default() }, false),
        ("port", When { port: ports("80,400-500"), ..When::default() }, true),
        ("other port", When { port: ports("80"), ..When::default() }, false),
        ("no port", When { port: Some(PortSet::default()), ..When::default() }, false),
        ("source port", When { source_port: ports("4000"), ..When::default() }, true),
        ("local port", When { local_port: ports("1080"), ..When::default() }, true),
        ("source", When { source: ips(&["127.0.0.0/30"]), ..When::default() }, true),
        ("not source", When { source: ips(&["!127.0.0.0/8"]), ..When::default() }, false),
        ("local", When { local: ips(&["127.0.0.2"]), ..When::default() }, true),
        ("vless", When { vless_route: ports("7"), ..When::default() }, true),
        ("user", When { user: vec!["love@x".into()], ..When::default() }, true),
        ("user pattern", When { user: vec!["regexp:^l.ve".into()], ..When::default() }, true),
        ("other user", When { user: vec!["LOVE@x".into()], ..When::default() }, false),
        ("protocol by prefix", When { protocol: vec!["tls".into(), "http".into()], ..When::default() }, true),
        ("protocol has letter case", When { protocol: vec!["HTTP".into()], ..When::default() }, false),
        ("attribute", When { attrs: attrs(":method", "^GE"), ..When::default() }, true),
        ("attribute that is missing", When { attrs: attrs("accept", ""), ..When::default() }, false),
        ("domain", When { domain: domains(&["domain:example.com"]), ..When::default() }, true),
        ("ip of a name", When { ip: ips(&["0.0.0.0/0", "!10.0.0.0/8"]), ..When::default() }, false),
        (
            "this system",
            When { local_os: vec!["LINUX".into(), "darwin".into(), "windows".into()], ..When::default() },
            true,
        ),
        ("other system", When { local_os: vec!["plan9".into()], ..When::default() }, false),
    ];
    for (name, when, want) in cases {
        assert_eq!(hit(&[when], &ask).is_some(), want, "{name}");
    }
}

#[test]
fn domain_strategies_resolve_when_xray_does() {
    // The rules and names of the public case: an address rule before a name rule.
    let rules = [
        When { ip: ips(&["192.0.2.0/24"]), ..When::default() },
        When { domain: domains(&["full:late.example.com"]), ..When::default() },
    ];
    let hosts = [
        ("late.example.com", "192.0.2.5"),
        ("only-ip.example.com", "192.0.2.6"),
        ("other.example.com", "198.51.100.1"),
    ];
    for (strategy, wants) in [
        (RouteStrategy::AsIs, [(Some(1), 0), (None, 0), (None, 0)]),
        (RouteStrategy::IpIfNonMatch, [(Some(1), 0), (Some(0), 1), (None, 1)]),
        (RouteStrategy::IpOnDemand, [(Some(0), 1), (Some(0), 1), (None, 1)]),
        (RouteStrategy::AlwaysIp, [(Some(0), 1), (Some(0), 1), (None, 1)]),
    ] {
        let router = router(strategy, &rules);
        for ((name, _), want) in hosts.iter().zip(wants) {
            assert_eq!(run(&router, &to(name, 80), &hosts), want, "{strategy:?} {name}");
        }
        assert_eq!(
            run(&router, &to("192.0.2.9", 80), &hosts),
            (Some(0), 0),
            "{strategy:?}: an address needs no lookup"
        );
    }
}

#[test]
fn nothing_is_resolved_before_a_condition_looks() {
    let rules = [
        When { inbound: vec!["other".into()], ip: ips(&["10.0.0.0/8"]), ..When::default() },
        When { domain: domains(&["domain:example.com"]), ip: ips(&["10.0.0.0/8"]), ..When::default() },
    ];
    let on_demand = router(RouteStrategy::IpOnDemand, &rules);
    // `ip` is tried before `domain`, so the second rule costs a lookup for any name.
    assert_eq!(run(&on_demand, &to("example.org", 80), &[]), (None, 1));
    let unreached = router(RouteStrategy::IpOnDemand, &rules[..1]);
    assert_eq!(run(&unreached, &to("example.org", 80), &[]), (None, 0));
    let unreached = router(RouteStrategy::IpIfNonMatch, &rules[..1]);
    assert_eq!(run(&unreached, &to("example.org", 80), &[]), (None, 0));
}

#[test]
fn a_sniffed_name_beside_an_address() {
    let rules = [When { ip: ips(&["192.0.2.1"]), ..When::default() }];
    let mut ask = to("shop.example.com", 443);
    ask.address = "192.0.2.1".parse().ok();
    let hosts = [("shop.example.com", "198.51.100.1")];
    let with = |strategy| router(strategy, &rules);
    assert_eq!(run(&with(RouteStrategy::AsIs), &ask, &hosts), (Some(0), 0), "the real address counts");
    assert_eq!(run(&with(RouteStrategy::IpOnDemand), &ask, &hosts), (None, 1), "the name's address counts");
    assert_eq!(run(&with(RouteStrategy::IpOnDemand), &ask, &[]), (Some(0), 1), "nothing came of the name");
}

#[test]
fn the_first_rule_counts_however_it_is_filed() {
    let name = |text: &str| When { domain: domains(&[text]), ..When::default() };
    let net = |text: &str| When { ip: ips(&[text]), ..When::default() };
    let rules = [
        name("full:b.example"),
        name("regexp:^a\\."),
        name("domain:example"),
        net("10.0.0.0/24"),
        net("10.0.0.0/8"),
        When { port: Some(PortSet::one(53)), ..When::default() },
        net("!10.0.0.0/8"),
        name("dotless:"),
    ];
    let together = router(RouteStrategy::AsIs, &rules);
    for (host, want) in [
        ("b.example", Some(0)),
        ("a.example", Some(1)),
        ("c.example", Some(2)),
        ("10.0.0.1", Some(3)),
        ("10.1.0.1", Some(4)),
        ("11.0.0.1", Some(6)),
        ("router", Some(7)),
        ("example.org", None),
    ] {
        assert_eq!(run(&together, &to(host, 80), &[]).0, want, "{host}");
    }
}

#[test]
fn rules_that_a_flow_has_nothing_to_do_with_are_not_tried() {
    let ports = |n: u16| Some(PortSet::one(n));
    let kinds: [fn(u16) -> When; 6] = [
        |n| When { domain: domains(&[&format!("domain:s{n}.example")]), ..When::default() },
        |n| When { ip: ips(&[&format!("10.{}.{}.0/24", n / 256, n % 256)]), ..When::default() },
        |n| When { source: ips(&[&format!("10.{}.{}.0/24", n / 256, n % 256)]), ..When::default() },
        |n| When { inbound: vec![format!("in{n}").as_str().into()], ..When::default() },
        |n| When { user: vec![format!("user{n}@x")], ..When::default() },
        |n| When { port: Some(PortSet::one(n)), ..When::default() },
    ];
    // All kinds one after the other, each with a second condition that the flow meets.
    let rules: Vec<When> = (1000..4000)
        .map(|n| When { network: Some(Networks::TCP), source_port: ports(4000), ..kinds[usize::from(n % 6)](n) })
        .collect();
    let router = router(RouteStrategy::AsIs, &rules);
    let mut asks = [to("www.s7.test", 443), to("192.0.2.1", 443), to("www.s1200.example", 443), to("10.4.177.1", 443)];
    asks[1].facts.user = Some("nobody@x");
    let tried: Vec<u32> = asks
        .iter()
        .map(|ask| {
            let facts = Facts { name: ask.name.as_ref(), address: ask.address, ..shorter(ask.facts) };
            let mut tried = 0;
            let asked = Asked::new(facts.domain());
            router.index.first_where(&facts, &asked, u32::MAX, |_| {
                tried += 1;
                false
            });
            tried
        })
        .collect();
    assert_eq!(tried, [0, 0, 1, 1]);
    assert_eq!(hit(&rules, &asks[2]), Some(200));
    assert_eq!(hit(&rules, &asks[3]), Some(201));
}

#[test]
fn of_two_rules_for_one_name_the_second_takes_what_the_first_does_not() {
    let rule = |text: &str, port| When { domain: domains(&[text]), port: Some(PortSet::one(port)), ..When::default() };
    let net = |text: &str, port| When { ip: ips(&[text]), port: Some(PortSet::one(port)), ..When::default() };
    let rules = [
        rule("domain:example", 1),
        rule("domain:example", 2),
        rule("keyword:exam", 3),
        rule("domain:example", 3),
        net("10.0.0.0/8", 1),
        net("10.0.0.0/8", 2),
        net("10.0.0.0/24", 2),
        net("0.0.0.0/0", 3),
    ];
    for port in [1, 2, 3] {
        assert_eq!(hit(&rules, &to("a.example", port)), Some(usize::from(port) - 1));
        let want = [4, 5, 7][usize::from(port) - 1];
        assert_eq!(hit(&rules, &to("10.0.0.1", port)), Some(want));
    }
    assert_eq!((hit(&rules, &to("a.example", 4)), hit(&rules, &to("10.0.0.1", 4))), (None, None));
}

#[test]
fn the_bad_rule_is_named() {
    let good = When { domain: domains(&["a"]), ..When::default() };
    let bad = When { domain: DomainRules(vec![DomainRule::Regex("a{9999}{9999}".into())]), ..When::default() };
    let error = Router::compile(RouteStrategy::AsIs, [("x", &good), ("y", &bad)], &Lists::default()).unwrap_err();
    assert!(error.to_string().starts_with("rule y: `a{9999}{9999}`: "), "{error}");
    let list = When { domain: domains(&["geosite:cn"]), ..When::default() };
    let error = Router::compile(RouteStrategy::AsIs, [("x", &list)], &Lists::default()).unwrap_err();
    assert_eq!(error.to_string(), "rule x: geosite:cn: the list was not loaded");
    let process = When { process: vec!["curl".into()], ..When::default() };
    assert!(Router::compile(RouteStrategy::AsIs, [("x", &process)], &Lists::default()).is_err());
}

#[test]
fn trap_9_negated_lists_are_one_set_and_say_nothing_of_the_other_family() {
    let rules = [When { ip: ips(&["!10.0.0.0/8", "!192.168.0.0/16"]), ..When::default() }];
    for (host, want) in [("10.0.0.1", false), ("192.168.0.1", false), ("192.0.2.1", true), ("2001:db8::1", false)] {
        assert_eq!(hit(&rules, &to(host, 80)).is_some(), want, "{host}");
    }
    assert_eq!(hit(&rules, &to("name.example", 80)), None, "without an address nothing holds, not even a negation");
}

#[test]
fn trap_14_a_set_of_no_ports_holds_for_no_flow() {
    let rules = [When { port: Some(PortSet::default()), ..When::default() }];
    assert_eq!((hit(&rules, &to("a.example", 0)), hit(&rules, &to("a.example", 80))), (None, None));
}

#[test]
fn trap_17_addresses_are_asked_for_before_the_name_is_looked_at() {
    let rules = [When { domain: domains(&["full:other.example"]), ip: ips(&["10.0.0.0/8"]), ..When::default() }];
    let ask = to("a.example", 80);
    assert_eq!(run(&router(RouteStrategy::IpOnDemand, &rules), &ask, &[]), (None, 1), "resolved for nothing");
    assert_eq!(run(&router(RouteStrategy::AsIs, &rules), &ask, &[]), (None, 0));
}

mod explaining {
    use proptest::prelude::*;

    use super::*;
    use crate::route::Ended;

    /// A rule of a few conditions, each of which a flow of [`anything`] may meet or not.
    fn rule() -> impl Strategy<Value = When> {
        let some = |texts: &'static [&'static str]| proptest::collection::vec(proptest::sample::select(texts), 0..3);
        let maybe = |text: &'static str| proptest::option::weighted(0.2, Just(PortSet::parse(text).unwrap()));
        (
            some(&["full:a.example", "domain:example", "keyword:b", "regexp:^b", "dotless:"]),
            some(&["10.0.0.0/8", "10.1.0.0/16", "!10.2.0.0/16", "2001:db8::/32", "!fc00::/7"]),
            maybe("80,443"),
            maybe("1-2000"),
            proptest::option::weighted(0.2, Just(Networks::UDP)),
            proptest::collection::vec(proptest::sample::select(&["in", "other"][..]), 0..2),
            some(&["127.0.0.0/8", "127.0.0.1", "!127.0.0.0/8", "192.0.2.0/24"]),
            proptest::collection::vec(proptest::sample::select(&["me@x", "you@x", "regexp:^me"][..]), 0..2),
        )
            .prop_map(|(names, nets, port, source_port, network, inbound, sources, users)| When {
                domain: domains(&names),
                ip: ips(&nets),
                port,
                source_port,
                network,
                inbound: inbound.into_iter().map(Into::into).collect(),
                source: ips(&sources),
                user: users.into_iter().map(str::to_owned).collect(),
                ..When::default()
            })
    }

    /// Facts as texts: host, port, network, what the name resolves to.
    fn anything() -> impl Strategy<Value = (&'static str, u16, Network, Option<Vec<IpAddr>>)> {
        let hosts = ["a.example", "b.example", "b", "10.1.2.3", "10.2.0.1", "192.0.2.1", "2001:db8::1", "fc00::1"];
        let ip = proptest::sample::select(&["10.1.2.3", "10.2.0.1", "192.0.2.1", "fc00::1"][..]);
        (
            proptest::sample::select(hosts.to_vec()),
            proptest::sample::select(vec![80, 443, 7]),
            proptest::sample::select(vec![Network::Tcp, Network::Udp]),
            proptest::option::of(proptest::collection::vec(ip.prop_map(|ip| ip.parse().unwrap()), 0..3)),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn an_explanation_always_ends_in_the_decision(
            rules in proptest::collection::vec(rule(), 0..6),
            strategy in proptest::sample::select(vec![
                RouteStrategy::AsIs, RouteStrategy::IpIfNonMatch, RouteStrategy::IpOnDemand, RouteStrategy::AlwaysIp,
            ]),
            (host, port, network, resolved) in anything(),
        ) {
            let router = router(strategy, &rules);
            let ask = to(host, port);
            let resolved = resolved.filter(|_| ask.name.is_some());
            let facts = Facts {
                name: ask.name.as_ref(), address: ask.address, network, resolved: resolved.as_deref(), user: Some("me@x"),
                ..shorter(ask.facts)
            };
            let (decision, explained) = (router.decide(&facts), router.explain(&facts));
            prop_assert_eq!(explained.decision, decision);
            // Every rule before the last one is told of once and lacks something; the last one is the one that decides.
            for (n, tried) in explained.tried.iter().enumerate() {
                prop_assert_eq!(tried.rule, n);
                prop_assert!(!tried.text().ends_with(": "), "{:?}", tried);
                let last = n + 1 == explained.tried.len();
                prop_assert!(last || matches!(tried.ended, Ended::Lacks(_)), "{:?}", explained);
            }
            match decision {
                Decision::To(rule) => prop_assert_eq!(&explained.tried.last().unwrap().ended, &Ended::Takes, "{}", rule),
                Decision::Default => prop_assert_eq!(explained.tried.len(), rules.len()),
                Decision::NeedIps => {}
            }
        }
    }

    #[test]
    fn the_first_condition_that_fails_is_told_in_the_order_of_trying() {
        let rules = [
            When { port: Some(PortSet::parse("80,1000-2000").unwrap()), domain: domains(&["none"]), ..When::default() },
            When { user: vec!["secret@x".into()], inbound: vec!["in".into()], ..When::default() },
            When { ip: ips(&["10.0.0.0/8"]), inbound: vec!["in".into()], ..When::default() },
            When { domain: domains(&["domain:example"]), network: Some(Networks::TCP), ..When::default() },
        ];
        let router = router(RouteStrategy::AsIs, &rules);
        let ask = to("a.example", 443);
        let facts = Facts { name: ask.name.as_ref(), user: Some("me@x"), ..shorter(ask.facts) };
        let line = router.explain(&facts).line(|_| "r");
        assert_eq!(
            line,
            "r does not: port: 443 is not 80, 1000-2000; r does not: user me@x is not among them; \
             r does not: ip: the target is a name that is not resolved; r takes it: network tcp, domain: domain:example"
        );
        let many: Vec<When> = (0..9).map(|_| rules[0].clone()).collect();
        let line = self::router(RouteStrategy::AsIs, &many).explain(&facts).line(|_| "r");
        assert!(
            line.starts_with("4 rules lack something; r does not") && line.ends_with("; no rule takes it"),
            "{line}"
        );
    }
}
