#![allow(clippy::unwrap_used)]

use super::*;
use crate::frontend::{Text, parse_toml};
use crate::model::hashkey::KeyPart;
use crate::shape::{Entry, Field, Node, Problem, Span, Value};

fn read(body: &str) -> (Option<Balancer>, Vec<Problem>) {
    let parsed = parse_toml(&Text::new(0, "t.toml", body));
    let env = |_: &str| None;
    let mut cx = Reader::new(Dialect::Toml, &env);
    let raw = TomlBalancer::read(&mut cx, parsed.root.as_ref().unwrap());
    let balancer = raw.and_then(|raw| raw.into_balancer(&mut cx));
    (balancer, cx.problems)
}

/// Reads what a writer made, without the detour over text.
pub(in crate::frontend) fn read_back(map: &PlainMap) -> Balancer {
    let env = |_: &str| None;
    let mut cx = Reader::new(Dialect::Toml, &env);
    let raw = TomlBalancer::read(&mut cx, &node(&Plain::Map(map.clone()))).unwrap();
    let balancer = raw.into_balancer(&mut cx).unwrap();
    assert!(cx.problems.is_empty(), "{:?}", cx.problems);
    balancer
}

fn node(plain: &Plain) -> Node {
    Node::bare(match plain {
        Plain::Bool(b) => Value::Bool(*b),
        Plain::Int(n) => Value::Int(*n),
        Plain::Float(x) => Value::Float(*x),
        Plain::Text(t) => Value::Text(t.clone()),
        Plain::List(items) => Value::List(items.iter().map(node).collect()),
        Plain::Map(map) => Value::Map(
            map.entries
                .iter()
                .map(|(key, value)| Entry { key: key.clone(), key_span: Span::default(), node: node(value) })
                .collect(),
        ),
    })
}

fn told(body: &str) -> Vec<String> {
    read(body).1.into_iter().map(|p| p.message).collect()
}

#[test]
fn the_first_users_example_and_its_defaults() {
    let (balancer, problems) = read("tag = \"proxy\"\noutbounds = [\"primary\", \"backup\"]");
    let balancer = balancer.unwrap();
    assert!(problems.is_empty());
    assert_eq!(balancer.strategy, Strategy::Failover(Failover::default()));
    assert_eq!(balancer.probe, Some(TcpProbe::default()));
    let (spread, _) =
        read("tag = \"s\"\noutbounds = [\"a\"]\nstrategy = \"round_robin\"\nprobe_interval = 10\nprobe_timeout = 3");
    assert_eq!(spread.unwrap().probe, Some(TcpProbe { interval: 10, timeout: 3, ..TcpProbe::default() }));
}

#[test]
fn messages_are_the_contracts_word_for_word() {
    assert_eq!(told("tag = \"b\"\noutbounds = []"), ["a balancer needs at least one outbound"]);
    assert_eq!(told("tag = \"b\""), ["missing field `outbounds`"]);
    assert_eq!(told("outbounds = [\"a\"]"), ["missing field `tag`"]);
    let wrong = told("tag = \"b\"\noutbounds = [\"a\"]\nprobe_interval = \"30s\"");
    assert_eq!(wrong, ["invalid type: string \"30s\", expected u64"]);
    let negative = told("tag = \"b\"\noutbounds = [\"a\"]\nprobe_timeout = -1");
    assert_eq!(negative, ["invalid value: integer `-1`, expected u64"]);
    let unknown = told("tag = \"b\"\noutbounds = [\"a\"]\nprobe_intervall = 3");
    assert!(unknown[0].starts_with(
        "unknown field `probe_intervall`, expected one of `tag`, `outbounds`, `strategy`, `probe_interval`, `probe_timeout`"
    ));
    let strategy = told("tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"Failover\"");
    assert!(
        strategy[0].starts_with("unknown balancer strategy \"Failover\" (expected \"failover\" or \"round_robin\"")
    );
}

#[test]
fn a_table_of_another_strategy_is_refused() {
    let other = told("tag = \"b\"\noutbounds = [\"a\"]\n[optimal]\ncount = 2");
    assert_eq!(other, ["[balancer.optimal] is not used: the strategy is \"failover\""]);
}

/// Weights and factors of every bad kind: refused by value, or of a defined meaning.
#[test]
fn bad_numbers_are_refused_and_huge_weights_are_not() {
    let adaptive = "tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"adaptive\"\n[adaptive]\n";
    for (line, want) in [
        ("kappa = nan", "invalid value: floating point `NaN`, expected a finite number"),
        ("gamma = inf", "invalid value: floating point `inf`, expected a finite number"),
        ("weights = [{ tag = \"a\", weight = -1 }]", "invalid value: integer `-1`, expected u32"),
        ("weights = [{ tag = \"a\", weight = nan }]", "invalid type: floating point `NaN`, expected u32"),
        ("url = \"ftp://x\"", "the test address \"ftp://x\" is not an http:// or https:// URL"),
        ("window = 0", "`window` must be at least 1"),
        ("margin = -0.1", "`margin` must not be below 0"),
        ("timeout = 0", "`timeout` must be above 0: no attempt could succeed"),
    ] {
        assert_eq!(told(&format!("{adaptive}{line}")), [want], "{line}");
    }
    let hrw = "tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"hrw\"\n[hrw]\n";
    let weights = "weights = [{ tag = \"a\", weight = 9223372036854775807 }, { tag = \"b\", weight = 0 }]";
    assert!(told(&format!("{hrw}{weights}")).is_empty());
    assert_eq!(told(&format!("{hrw}hash_key = [\"dest_sit\"]")), ["unknown hash key `dest_sit`"]);
}

/// Trap 12: a percentage where a share is meant.
#[test]
fn trap_12_percentages_are_told() {
    let body = |strategy: &str, line: &str| {
        format!("tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"{strategy}\"\n[{strategy}]\n{line}")
    };
    let tolerance = told(&body("least_load", "tolerance = 30.0"));
    assert_eq!(tolerance, ["`tolerance` is a share from 0 to 1: 30 counts as 1"]);
    assert_eq!(told(&body("adaptive", "margin = 15")), ["`margin` is a share, and 15 means 16 times as good"]);
}

/// A client has one source: what keeps its member is the host it asks for.
#[test]
fn hrw_goes_by_the_destination_where_nothing_is_written() {
    let (balancer, _) = read("tag = \"b\"\noutbounds = [\"a\"]\nstrategy = \"hrw\"");
    let Strategy::Hrw(hrw) = balancer.unwrap().strategy else { panic!("not hrw") };
    assert_eq!(hrw.hash_key.0, [KeyPart::DestHost]);
}
