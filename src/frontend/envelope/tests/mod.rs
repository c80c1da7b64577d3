//! Round trips, and what is said about odd inputs.
#![allow(clippy::unwrap_used)]

mod keys;
mod protocols;
mod schemas;

use serde_json::{Value as Json, json};

use super::{inbound, outbound};
use crate::model::inbound::{Inbound, InboundKind};
use crate::model::outbound::{Outbound, OutboundKind};
use crate::shape::{Dialect, Entry, Node, Plain, PlainMap, Problem, Reader, Severity, Span, Value};

/// A JSON value as a tree without places.
pub(super) fn tree(value: &Json) -> Node {
    Node::bare(match value {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(
            || n.as_u64().map_or_else(|| Value::Float(n.as_f64().unwrap()), |n| Value::Int(n.into())),
            |n| Value::Int(n.into()),
        ),
        Json::String(s) => Value::Text(s.clone()),
        Json::Array(items) => Value::List(items.iter().map(tree).collect()),
        Json::Object(map) => Value::Map(
            map.iter().map(|(k, v)| Entry { key: k.clone(), key_span: Span::default(), node: tree(v) }).collect(),
        ),
    })
}

/// What a writer made, as a tree.
pub(super) fn plain(map: PlainMap) -> Node {
    tree(&Json::from(&Plain::Map(map)))
}

fn env(name: &str) -> Option<String> {
    match name {
        "PORT" => Some("1080".into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

pub(super) fn read<T>(
    dialect: Dialect,
    node: &Node,
    f: impl Fn(&mut Reader<'_>, &Node) -> Option<T>,
) -> (Option<T>, Vec<Problem>) {
    let mut cx = Reader::new(dialect, &env);
    let out = f(&mut cx, node);
    (out, cx.problems)
}

pub(super) fn errors(problems: &[Problem]) -> Vec<String> {
    problems.iter().filter(|p| p.severity == Severity::Error).map(|p| p.message.clone()).collect()
}

pub(super) fn said(problems: &[Problem]) -> String {
    problems.iter().map(|p| format!("{:?} {}: {}\n", p.severity, p.path, p.message)).collect()
}

/// JSON in, through TOML and through JSON, and the same model again.
pub(super) fn inbound_round(json: &Json) -> (Inbound, Vec<Problem>) {
    let (model, problems) = read(Dialect::Json, &tree(json), inbound::read);
    assert_eq!(errors(&problems), Vec::<String>::new(), "{json}");
    let model = model.unwrap();
    for dialect in [Dialect::Toml, Dialect::Json] {
        let written = plain(inbound::write(&model, dialect));
        let (back, found) = read(dialect, &written, inbound::read);
        assert_eq!(errors(&found), Vec::<String>::new(), "{dialect:?} {written:?}");
        assert_eq!(back.as_ref(), Some(&model), "{dialect:?}");
    }
    (model, problems)
}

/// The same for an outbound.
pub(super) fn outbound_round(json: &Json) -> (Outbound, Vec<Problem>) {
    let (model, problems) = read(Dialect::Json, &tree(json), outbound::read);
    assert_eq!(errors(&problems), Vec::<String>::new(), "{json}");
    let model = model.unwrap();
    for dialect in [Dialect::Toml, Dialect::Json] {
        let written = plain(outbound::write(&model, dialect));
        let (back, found) = read(dialect, &written, outbound::read);
        assert_eq!(errors(&found), Vec::<String>::new(), "{dialect:?} {written:?}");
        assert_eq!(back.as_ref(), Some(&model), "{dialect:?}");
    }
    (model, problems)
}

#[test]
fn ports_are_numbers_texts_lists_and_variables() {
    for (port, want) in [
        (json!(1080), "1080"),
        (json!("1080"), "1080"),
        (json!("30142-30144, 30146,30148"), "30142-30144,30146,30148"),
        (json!("env:PORT"), "1080"),
        (json!("80,env:PORT"), "80,1080"),
    ] {
        let (model, _) = inbound_round(&json!({ "protocol": "SOCKS", "port": port }));
        assert_eq!(model.ports.map(|p| p.to_string()).as_deref(), Some(want));
    }
    for (port, want) in [("env:NONE", "`NONE` is not set"), ("env:EMPTY", "`EMPTY` is empty")] {
        let (_, problems) = read(Dialect::Json, &tree(&json!({ "protocol": "socks", "port": port })), inbound::read);
        assert!(errors(&problems)[0].contains(want), "{problems:?}");
    }
}

#[test]
fn a_socks_door_is_open_only_if_that_was_meant() {
    let door = |settings: Json| json!({ "protocol": "socks", "port": 1, "settings": settings });
    let accounts = json!([{ "user": "u", "pass": "p" }]);
    for settings in [
        json!({ "auth": "Password", "accounts": accounts }),
        json!({ "accounts": accounts }),
        json!({ "auth": "password", "users": accounts }),
    ] {
        let (model, _) = inbound_round(&door(settings));
        let InboundKind::Socks(socks) = model.kind else { panic!("not socks") };
        assert_eq!(socks.logins().map(<[_]>::len), Some(1));
    }
    let (_, problems) =
        read(Dialect::Json, &tree(&door(json!({ "auth": "login", "accounts": accounts }))), inbound::read);
    assert_eq!(problems[0].severity, Severity::Error);
    assert_eq!(problems[0].path, "settings.auth");
    let misplaced = json!({ "protocol": "socks", "port": 1, "auth": "password", "accounts": accounts, "settings": {} });
    let (_, problems) = inbound_round(&misplaced);
    let told = said(&problems);
    assert!(told.contains("`auth` and `accounts` beside `settings` are read by nobody"), "{told}");
    assert_eq!(problems.len(), 1, "one mistake is told once: {told}");
}

#[test]
fn a_wrong_word_for_auth_is_one_mistake_and_can_be_read() {
    let body = r#"{"inbounds": [{"protocol": "socks", "port": 1, "settings": {"auth": "pasword",
        "accounts": [{"user": "u", "pass": "hunter2"}]}}]}"#;
    let env = |_: &str| None;
    let source = crate::frontend::Source { name: "c.json".into(), bytes: body.into(), format: None };
    let loaded = crate::frontend::load(vec![source], &crate::frontend::Options { strict: false, env: &env });
    let report = crate::frontend::render(&loaded.sources, &loaded.problems, crate::frontend::Colour::Plain);
    assert_eq!(loaded.problems.len(), 1, "{report}");
    assert!(report.contains("unknown variant `pasword`") && !report.contains("hunter2"), "{report}");
}

#[test]
fn a_relay_address_that_is_a_name_is_refused_at_its_place() {
    let door = json!({ "protocol": "socks", "port": 1, "settings": { "udp": true, "ip": "a.example" } });
    let (_, problems) = read(Dialect::Json, &tree(&door), inbound::read);
    assert_eq!((problems.len(), problems[0].path.as_str()), (1, "settings.ip"), "{problems:?}");
}

#[test]
fn an_empty_name_of_a_strategy_gives_way_to_the_older_key() {
    let json = json!({ "protocol": "freedom", "settings": { "targetStrategy": "", "domainStrategy": "UseIP" } });
    let (model, problems) = outbound_round(&json);
    let OutboundKind::Freedom(freedom) = model.kind else { panic!("not freedom") };
    assert_eq!(freedom.target_strategy, crate::model::fields::DomainStrategy::UseIp);
    assert!(problems.is_empty(), "{}", said(&problems));
}

#[test]
fn several_servers_and_users_become_pairs() {
    let json = json!({ "protocol": "socks", "settings": { "servers": [
        { "address": "a.example", "port": 1, "users": [{ "user": "u", "pass": "p" }, { "user": "v", "pass": "q" }] },
        { "address": "[2001:db8::1]", "port": "2" },
        null,
    ] } });
    let (model, problems) = outbound_round(&json);
    let targets: Vec<String> = model.kind.servers().iter().map(ToString::to_string).collect();
    assert_eq!(targets, ["a.example:1", "a.example:1", "[2001:db8::1]:2"]);
    let told = said(&problems);
    assert!(told.contains("3 servers in one outbound"), "{told}");
    assert!(told.contains("Note settings.servers[1].port: the port stands in quotes"), "{told}");
}

#[test]
fn toml_keeps_servers_outside_the_settings() {
    let json = json!({ "tag": "t", "protocol": "http", "settings": { "address": "p.example", "port": 8080, "user": "u", "pass": "p",
        "headers": { "X-A": "1" } } });
    let (model, _) = outbound_round(&json);
    let toml = Json::from(&Plain::Map(outbound::write(&model, Dialect::Toml)));
    let want = json!({ "tag": "t", "protocol": "http", "server": "p.example", "port": 8080,
        "settings": { "user": "u", "pass": "p", "headers": { "X-A": "1" } } });
    assert_eq!(toml, want);
    let (_, problems) = read(Dialect::Toml, &tree(&json!({ "protocol": "http", "server": "x" })), outbound::read);
    assert_eq!(errors(&problems), ["missing field `port`"]);
}

#[test]
fn a_superfluous_endpoint_is_kept_for_the_tcp_probe() {
    let toml =
        json!({ "tag": "d", "protocol": "direct", "server": "127.0.0.1", "port": 9, "address_family": "ipv4_only" });
    let (model, problems) = read(Dialect::Toml, &tree(&toml), outbound::read);
    let model = model.unwrap();
    assert_eq!(said(&problems), "");
    assert_eq!(model.probe_target().map(|t| t.to_string()).as_deref(), Some("127.0.0.1:9"));
    assert!(matches!(model.kind, OutboundKind::Freedom(_)));
    let (back, _) = read(Dialect::Toml, &plain(outbound::write(&model, Dialect::Toml)), outbound::read);
    assert_eq!(back, Some(model));
}
