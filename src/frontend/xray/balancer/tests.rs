#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::frontend::{Text, parse_json};
use crate::shape::Problem;

fn read(json: &str) -> (Option<Balancer>, Vec<Problem>) {
    let parsed = parse_json(&Text::new(0, "t.json", json), false);
    let env = |_: &str| None;
    let mut cx = Reader::new(Dialect::Json, &env);
    let raw = RawBalancer::read(&mut cx, parsed.root.as_ref().unwrap());
    let balancer = raw.and_then(|raw| raw.into_balancer(&mut cx));
    (balancer, cx.problems)
}

fn told(json: &str) -> Vec<String> {
    read(json).1.into_iter().map(|p| p.message).collect()
}

fn strategy(json: &str) -> Strategy {
    let (balancer, problems) = read(&format!(r#"{{"tag": "b", "selector": ["p"], {json}}}"#));
    assert!(problems.is_empty(), "{problems:?}");
    balancer.unwrap().strategy
}

#[test]
fn the_proposals_own_example_is_read() {
    let Strategy::Optimal(optimal) = strategy(
        r#""strategy": "optimal", "optimalSettings": {"timeout": 10000, "interval": 20000, "url": "https://about.google",
           "count": 1, "weights": [{"tag": "p1", "weight": 150}, {"tag": "p2", "weight": 150}]}"#,
    ) else {
        panic!("not optimal")
    };
    assert_eq!((*optimal.timeout, *optimal.interval), (Duration::from_secs(10), Duration::from_secs(20)));
    assert_eq!((optimal.url.as_str(), optimal.weights[1].weight), ("https://about.google", 150));
}

#[test]
fn the_defaults_are_those_of_the_proposal() {
    let Strategy::Optimal(optimal) = strategy(r#""strategy": "OPTIMAL""#) else { panic!("not optimal") };
    assert_eq!((optimal.timeout.as_secs(), optimal.interval.as_secs(), optimal.count), (5, 600, 1));
    assert_eq!(optimal.url, "https://www.google.com");
    let weights = r#""strategy": "optimal", "optimalSettings": {"weights": [{"tag": "p1"}]}"#;
    let Strategy::Optimal(optimal) = strategy(weights) else { panic!("not optimal") };
    assert_eq!(optimal.weights[0].weight, 100);
}

#[test]
fn every_name_is_read_as_text_and_as_object_in_any_case() {
    for word in WORDS {
        for word in [word.to_owned(), word.to_uppercase(), word.to_lowercase()] {
            let text = strategy(&format!(r#""strategy": "{word}""#));
            let object = strategy(&format!(r#""strategy": {{"type": "{word}"}}"#));
            assert_eq!(text, object, "{word}");
        }
    }
    assert_eq!(strategy(r#""strategy": null"#), Strategy::Random(Observed::default()));
    assert_eq!(strategy(r#""strategy": {"type": ""}"#), Strategy::Random(Observed::default()));
}

#[test]
fn settings_inside_and_beside_are_the_same_and_exclude_each_other() {
    let inside = strategy(r#""strategy": {"type": "optimal", "settings": {"count": 3}}"#);
    let beside = strategy(r#""strategy": "optimal", "optimalSettings": {"count": 3}"#);
    assert_eq!(inside, beside);
    let both =
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "optimal", "settings": {}}, "optimalSettings": {}}"#;
    assert_eq!(told(both), ["both `strategy.settings` and `optimalSettings` are given"]);
}

#[test]
fn mistakes_name_the_balancer_and_the_words() {
    let unknown = told(r#"{"tag": "pool", "selector": ["p"], "strategy": "leastconn"}"#);
    assert!(unknown[0].starts_with("balancer pool: unknown balancing strategy: leastconn, expected one of `random`"));
    assert_eq!(told(r#"{"selector": ["p"]}"#), ["empty balancer tag"]);
    assert_eq!(told(r#"{"tag": "b"}"#), ["balancer b: empty selector list"]);
    let number =
        told(r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "leastload", "settings": {"maxRTT": 1000}}}"#);
    assert_eq!(number, ["invalid duration: 1000"]);
    let url = told(r#"{"tag": "b", "selector": ["p"], "strategy": "optimal", "optimalSettings": {"url": "ftp://x"}}"#);
    assert_eq!(url, ["the test address \"ftp://x\" is not an http:// or https:// URL"]);
    let unused = told(r#"{"tag": "b", "selector": ["p"], "optimalSettings": {"count": 2}}"#);
    assert_eq!(unused, ["`optimalSettings` is not used: the strategy is `random`"]);
}

#[test]
fn what_is_written_reads_back() {
    for json in [
        r#"{"tag": "b", "selector": ["p", "q"], "fallbackTag": "d"}"#,
        r#"{"tag": "b", "members": ["p"], "strategy": "failover", "guards": false}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "roundRobin", "settings": {"probe": "tcp"}}}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "leastLoad", "settings": {"costs": [{"regexp": true,
            "match": "x", "value": 2.5}], "baselines": ["1s"], "expected": 2, "maxRTT": "800ms", "tolerance": 0.2}}}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "hrw", "settings": {"hashKey": ["dest_site"], "top": 2}}}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "HRW", "settings": {"hashKey": "$http_x_user_id",
            "weights": [{"tag": "p", "weight": -1}], "fenced": ["p2"], "probe": "http", "probeInterval": 5}}}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "leastPing", "settings": {"probe": "auto"}}}"#,
        r#"{"tag": "b", "selector": ["p"], "strategy": {"type": "adaptive", "settings": {"window": 3, "halfLife": "9s"}}}"#,
    ] {
        let first = read(json).0.unwrap();
        let text = serde_json::to_string(&serde_json::Value::from(&Plain::Map(write(&first)))).unwrap();
        let (second, problems) = read(&text);
        assert!(problems.is_empty(), "{text}: {problems:?}");
        assert_eq!(second.unwrap(), first, "{text}");
        let toml = crate::frontend::toml::balancer::write(&first);
        assert_eq!(crate::frontend::toml::balancer::tests::read_back(&toml), first, "{toml:?}");
    }
}
