#![allow(clippy::unwrap_used)]

use super::*;
use crate::frontend::{Text, parse_json};
use crate::shape::Problem;

fn read(json: &str) -> (Routing, Vec<Problem>) {
    let parsed = parse_json(&Text::new(0, "t.json", json), false);
    let env = |_: &str| None;
    let mut cx = Reader::new(Dialect::Json, &env);
    let raw = RawRouting::read(&mut cx, parsed.root.as_ref().unwrap()).unwrap_or_default();
    let routing = raw.into_routing(&mut cx);
    (routing, cx.problems)
}

fn one(rule: &str) -> (Option<Rule>, Vec<Problem>) {
    let (routing, problems) = read(&format!(r#"{{"rules": [{rule}]}}"#));
    (routing.rules.into_iter().next(), problems)
}

#[test]
fn every_condition_is_read() {
    let (rule, problems) = one(
        r#"{"type": "field", "ruleTag": "r", "outboundTag": "o", "domain": "a.example,full:B.example", "ip": ["!10.0.0.0/8"],
            "port": "53,1000-2000", "network": "tcp,udp", "source": ["10.0.0.1"], "sourcePort": 7, "localIP": ["::1"],
            "localPort": "8", "user": "a@x", "vlessRoute": "1-2", "inboundTag": ["in", ""], "protocol": ["http"],
            "attrs": {":method": "GET"}, "process": "curl", "localOS": "Linux",
            "webhook": {"url": "http://127.0.0.1/x", "deduplication": 5, "headers": {"a": "b"}}}"#,
    );
    assert!(problems.is_empty(), "{problems:?}");
    let rule = rule.unwrap();
    let domains: Vec<String> = rule.when.domain.0.iter().map(ToString::to_string).collect();
    assert_eq!(domains, ["full:b.example", "keyword:a.example"]);
    assert_eq!(rule.when.inbound, [Tag::new("in")]);
    assert_eq!(rule.when.local_os, ["linux"]);
    assert_eq!((rule.name.as_str(), rule.to), ("r", To::Outbound(Name::new("o"))));
}

#[test]
fn newer_names_win_over_older_ones_and_that_is_told() {
    let (rule, problems) = one(
        r#"{"outboundTag": "o", "domain": ["a"], "domains": ["b"], "sourceIP": ["1.1.1.1"], "source": ["2.2.2.2"]}"#,
    );
    let when = rule.unwrap().when;
    assert_eq!((when.domain.0[0].to_string(), when.source.0[0].to_string()), ("keyword:b".into(), "1.1.1.1".into()));
    assert_eq!(problems.len(), 2);
}

#[test]
fn a_rule_without_target_or_condition_is_an_error_at_its_place() {
    let (_, problems) =
        read(r#"{"rules": [{"port": 1, "outboundTag": "a"}, {"port": 53}, {"outboundTag": "a", "ip": []}]}"#);
    let told: Vec<_> = problems.iter().map(|p| (p.path.as_str(), p.message.as_str())).collect();
    assert_eq!(told[0], ("rules[1]", "neither outboundTag nor balancerTag is specified in routing rule"));
    assert_eq!(told[1].1, "this rule has no effective fields");
}

#[test]
fn an_empty_tag_is_none() {
    let (rule, problems) = one(r#"{"outboundTag": "", "balancerTag": "b", "port": 1}"#);
    assert_eq!((rule.map(|r| r.to), problems.len()), (Some(To::Balancer(Name::new("b"))), 0));
}

#[test]
fn older_routing_settings_are_appended() {
    let (routing, problems) = read(
        r#"{"strategy": "rules", "rules": [{"port": 1, "outboundTag": "a"}],
            "settings": {"domainStrategy": "IPOnDemand", "rules": [{"port": 2, "outboundTag": "b"}]}}"#,
    );
    assert_eq!((routing.strategy, routing.rules.len()), (RouteStrategy::IpOnDemand, 2));
    assert!(problems.iter().all(|p| p.severity == Severity::Note), "{problems:?}");
}

#[test]
fn bad_expressions_are_refused_with_the_pattern() {
    for (rule, part) in [
        (r#"{"outboundTag": "o", "domain": ["regexp:(?!x)"]}"#, "(?!x)"),
        (r#"{"outboundTag": "o", "attrs": {"a": "("}}"#, "`(`"),
        (r#"{"outboundTag": "o", "ip": ["300.1.1.1"]}"#, "300.1.1.1"),
        (r#"{"outboundTag": "o", "port": "9-8"}"#, "9-8"),
    ] {
        let (_, problems) = one(rule);
        assert!(problems.iter().any(|p| p.severity == Severity::Error && p.message.contains(part)), "{problems:?}");
        assert!(problems[0].path.starts_with("rules[0]"), "{problems:?}");
    }
}

#[test]
fn conditions_that_hold_for_nobody_are_told_and_kept() {
    let (rule, problems) = one(r#"{"outboundTag": "o", "port": "", "sourcePort": 0, "user": ["a", "regexp:("]}"#);
    let told: Vec<_> = problems.iter().map(|p| (p.severity, p.path.as_str())).collect();
    let warned = |path| (Severity::Warning, path);
    assert_eq!(told, [warned("rules[0].port"), warned("rules[0].sourcePort"), warned("rules[0].user[1]")]);
    assert_eq!(rule.unwrap().when.user.len(), 2);
}

#[test]
fn what_is_written_reads_back() {
    let json = r#"{"domainStrategy": "IPIfNonMatch", "rules": [
        {"ruleTag": "r", "outboundTag": "o", "domain": ["a", "domain:b", "full:c", "regexp:^d$", "dotless:e", "geosite:cn@ads",
         "ext:x.dat:y"], "ip": ["10.0.0.0/8", "!geoip:cn", "ext:z.dat:q"], "source": ["!1.1.1.1"], "port": "5", "network": "udp",
         "attrs": {"a": "b"}, "user": ["u"], "webhook": {"url": "http://x/"}},
        {"balancerTag": "b", "inboundTag": ["i"], "localPort": 3, "vlessRoute": 4, "protocol": "tls", "localOS": ["linux"]}]}"#;
    let (first, problems) = read(json);
    assert!(problems.is_empty(), "{problems:?}");
    let text = serde_json::to_string(&serde_json::Value::from(&Plain::Map(write(&first)))).unwrap();
    assert_eq!(read(&text).0, first, "{text}");
}
