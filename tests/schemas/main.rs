//! The shipped schemas: made from the records, and held against the readers in both directions.
//!
//! `UPDATE_SCHEMAS=1 cargo test --test schemas` writes `schemas/*.json`, `docs/toml.md` and `MIGRATION.md` anew.

#![allow(clippy::unwrap_used, missing_docs)]

mod docs;
mod every_key;
mod hints;
mod migration;
mod samples;

use std::collections::BTreeSet;
use std::path::Path;

use etemenanki::frontend::{Format, Options, Source, load_watched, schema};
use samples::{Known, Samples};
use serde_json::Value;

/// The same for a file whose lower part, below a mark, is made.
fn committed_below(name: &str, mark: &str, text: &str) {
    let there = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let (by_hand, _) = there.split_once(mark).unwrap_or_else(|| panic!("{name} has no line {mark}"));
    committed(name, &format!("{by_hand}{mark}\n{text}"));
}

/// Compares a committed file with what the code makes, or writes it.
fn committed(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "{name} is out of date: UPDATE_SCHEMAS=1 cargo test --test schemas");
}

#[test]
fn committed_schemas_are_those_of_the_records() {
    committed("schemas/xray.schema.json", &schema::text(&schema::xray()));
    committed("schemas/etemenanki.schema.json", &schema::text(&schema::toml()));
}

#[test]
fn the_reference_of_toml_is_that_of_the_schema() {
    committed_below("docs/toml.md", docs::MARK, &docs::reference(&schema::toml()));
}

#[test]
fn schemas_are_schemas() {
    for made in [schema::xray(), schema::toml()] {
        assert!(jsonschema::meta::is_valid(&made));
        let validator = jsonschema::validator_for(&made).unwrap();
        assert!(validator.is_valid(&serde_json::json!({})));
    }
}

/// Reads all instances and gathers what was asked for.
fn asked(schema: &Value, format: Format) -> Known {
    let mut asked = Known::new();
    for instance in Samples::of(schema).all() {
        let text = match format {
            Format::Toml => toml_text(&instance),
            _ => instance.to_string(),
        };
        let source = Source { name: "c".into(), bytes: text.into_bytes(), format: Some(format) };
        let loaded = load_watched(vec![source], &Options { strict: false, env: &|_| None });
        asked.extend(loaded.asked.into_iter().map(|(path, name)| (canonical(&path), name.to_owned())));
    }
    asked
}

/// A table with two names is one table; its readers tell places by the first.
fn canonical(path: &str) -> String {
    let names =
        [("rawSettings", "tcpSettings"), ("gunSettings", "grpcSettings"), ("splithttpSettings", "xhttpSettings")];
    names.iter().fold(path.to_owned(), |path, (other, first)| path.replace(other, first))
}

fn toml_text(instance: &Value) -> String {
    etemenanki::frontend::emit_toml(&plain(instance), &[])
}

fn plain(instance: &Value) -> etemenanki::shape::PlainMap {
    use etemenanki::shape::{Plain, PlainMap};
    fn value(json: &Value) -> Plain {
        match json {
            Value::Null => unreachable!("TOML has none"),
            Value::Bool(b) => Plain::Bool(*b),
            Value::Number(n) => n.as_i64().map_or_else(|| Plain::Float(n.as_f64().unwrap()), |n| Plain::Int(n.into())),
            Value::String(text) => Plain::Text(text.clone()),
            Value::Array(items) => Plain::List(items.iter().map(value).collect()),
            Value::Object(_) => Plain::Map(plain(json)),
        }
    }
    let entries = instance.as_object().unwrap().iter().map(|(key, json)| (key.clone(), value(json)));
    PlainMap { entries: entries.collect(), from: None }
}

/// Keys that are taken before the readers ask, with the reason.
fn rewritten(key: &(String, String)) -> bool {
    let (path, name) = key;
    let root = ["inbounds", "outbounds", "inbound", "outbound", "inboundDetour", "outboundDetour", "port"];
    // The envelope is opened, and files are merged, before sections are read.
    (path.is_empty() && root.contains(&name.as_str()))
        // V2Ray's words become the switches that Xray has.
        || name == "cacheStrategy" || name == "fallbackStrategy"
}

fn differ(wanted: &Known, there: &Known) -> Vec<String> {
    let missing: BTreeSet<_> = wanted.difference(there).filter(|key| !rewritten(key)).collect();
    missing.into_iter().map(|(path, name)| format!("{path} . {name}")).collect()
}

#[test]
fn every_key_of_a_schema_is_asked_for_and_every_key_asked_for_is_in_it() {
    for (schema, format) in [(schema::xray(), Format::Json), (schema::toml(), Format::Toml)] {
        let known = |depth| -> Known {
            Samples::of(&schema).known(depth).into_iter().map(|(path, name)| (canonical(&path), name)).collect()
        };
        let asked = asked(&schema, format);
        assert!(known(1).len() > 1000, "{format:?}: only {} keys {:?}", known(1).len(), known(1));
        let lost = differ(&known(1), &asked);
        assert!(lost.is_empty(), "{format:?}: in the schema, asked for by nobody:\n{}", lost.join("\n"));
        let hidden = differ(&asked, &known(2));
        assert!(hidden.is_empty(), "{format:?}: asked for, not in the schema:\n{}", hidden.join("\n"));
    }
}

#[test]
fn every_key_counts_or_says_why_not() {
    let found = every_key::try_all(&schema::xray());
    assert!(found.faults.is_empty(), "{} faults:\n{}", found.faults.len(), found.faults.join("\n"));
    let dropped = found.keys.values().filter(|fate| matches!(fate, every_key::Fate::Dropped(_))).count();
    println!("{} keys carried, {dropped} read and not carried", found.keys.len() - dropped);
    assert!(found.keys.len() > 600, "only {} keys", found.keys.len());
    committed_below("MIGRATION.md", migration::MARK, &migration::tables(&found));
}

/// The schemas are a second opinion: silent where our reading has spoken, with a place and without values where it has not.
#[test]
fn violations_have_places_and_hold_no_secrets() {
    let load = |name: &str, body: &str| {
        let source = Source { name: name.into(), bytes: body.as_bytes().to_vec(), format: None };
        load_watched(vec![source], &Options { strict: false, env: &|_| None })
    };
    let json =
        r#"{"outbounds": [{"protocol": "trojan", "settings": {"servers": [{"password": 12345678}]}}], "log": 5}"#;
    let toml = "[[outbound]]\nprotocol = \"freedom\"\n[outbound.settings]\nhunter2 = 1\n[log]\nlevel = \"loud\"\n";
    for (name, body, places, hidden) in
        [("c.json", json, ["12345678", "5"], "12345678"), ("c.toml", toml, ["[outbound.settings]", "\"loud\""], "loud")]
    {
        let mut loaded = load(name, body);
        assert!(schema::violations(&loaded).is_empty(), "{name}: said twice");
        loaded.problems.clear();
        let found = schema::violations(&loaded);
        let cut = |span: etemenanki::shape::Span| &body[span.start as usize..span.end as usize];
        for place in places {
            assert!(found.iter().any(|p| p.span.is_some_and(|s| cut(s) == place)), "{name}: {place}: {found:#?}");
        }
        assert!(!found.iter().any(|p| p.message.contains(hidden)), "{found:#?}");
    }
}
