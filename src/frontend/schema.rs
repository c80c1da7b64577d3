//! The two JSON schemas: made from the records, shipped as files, and run over a configuration after our own reading.
//!
//! They are for editors first. As a check they are a second opinion (DECISIONS 22): what our own reading reported is not
//! said again in worse words, and what only the schema objects to is a warning, because files in the field are loose.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::load::Loaded;
use super::sources::File;
use super::toml;
use super::xray;
use crate::shape::{Defs, Dialect, Kind, Node, Problem, Severity, Span, Value};

/// The shipped schema of Xray's JSON.
pub const XRAY: &str = include_str!("../../schemas/xray.schema.json");

/// The shipped schema of our TOML.
pub const TOML: &str = include_str!("../../schemas/etemenanki.schema.json");

/// Makes the schema of Xray's JSON from the records.
#[must_use]
pub fn xray() -> Json {
    let mut defs = Defs::default();
    let root = xray::schema::schema(&mut defs);
    let mut schema = whole("Xray", root, &defs);
    tidy(&mut schema);
    allow_null(&mut schema);
    let records = schema["$defs"].as_object().into_iter().flatten();
    let takes_null = |shape: &Json| shape["type"].as_array().is_some_and(|kinds| kinds.contains(&"null".into()));
    let nullable: Vec<String> =
        records.filter(|(_, shape)| takes_null(shape)).map(|(name, _)| format!("#/$defs/{name}")).collect();
    collapse(&mut schema, &nullable);
    schema
}

/// Makes the schema of our TOML.
#[must_use]
pub fn toml() -> Json {
    let mut defs = Defs::default();
    let reference = toml::root::schema(&mut defs);
    let root = defs.map.remove(ROOT).unwrap_or(reference);
    let mut schema = whole("etemenanki", root, &defs);
    tidy(&mut schema);
    schema
}

/// The record of a whole file, which is no part of another.
const ROOT: &str = "TomlRoot";

/// A schema as the text of its file.
#[must_use]
pub fn text(schema: &Json) -> String {
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}

fn whole(title: &str, root: Json, defs: &Defs) -> Json {
    let mut map = Map::new();
    map.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    map.insert("title".into(), title.into());
    if let Json::Object(root) = root {
        map.extend(root);
    }
    let defs: BTreeMap<&String, &Json> = defs.map.iter().collect();
    map.insert("$defs".into(), json!(defs));
    map.into()
}

/// Takes out defaults that say nothing.
fn tidy(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            let empty = |value: &Json| match value {
                Json::Object(map) => map.is_empty(),
                Json::Array(items) => items.is_empty(),
                Json::String(text) => text.is_empty(),
                _ => false,
            };
            if map.get("default").is_some_and(empty) {
                map.remove("default");
            }
            map.values_mut().for_each(tidy);
        }
        Json::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// In JSON `null` stands for a key that is not there, and in a list for nothing.
fn allow_null(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            for (keyword, value) in map.iter_mut() {
                match keyword.as_str() {
                    "properties" => {
                        for property in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                            allow_null(property);
                            or_null(property);
                        }
                    }
                    "items" | "additionalProperties" if value.is_object() => {
                        allow_null(value);
                        or_null(value);
                    }
                    "default" | "examples" | "enum" => {}
                    // A condition asks for a word; absent and null are no word.
                    "if" => {}
                    _ => allow_null(value),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(allow_null),
        _ => {}
    }
}

/// Keywords that describe and ask nothing.
const NOTES: &[&str] = &["description", "default", "deprecated", "x-secret", "examples"];

fn or_null(schema: &mut Json) {
    let Some(map) = schema.as_object_mut() else { return };
    let asks = map.keys().any(|key| !NOTES.contains(&key.as_str()));
    if !asks {
        return;
    }
    match map.get_mut("type") {
        Some(Json::String(word)) => {
            let word = word.clone();
            map.insert("type".into(), json!([word, "null"]));
        }
        Some(Json::Array(words)) if !words.contains(&"null".into()) => words.push("null".into()),
        Some(_) => {}
        None => {
            let (notes, asks): (Map<_, _>, Map<_, _>) =
                std::mem::take(map).into_iter().partition(|(key, _)| NOTES.contains(&key.as_str()));
            map.extend(notes);
            let mut either = vec![json!({ "type": "null" })];
            match asks.get("anyOf") {
                Some(Json::Array(some)) if asks.len() == 1 => {
                    either.extend(some.iter().filter(|s| **s != either[0]).cloned().collect::<Vec<_>>())
                }
                _ => either.push(asks.into()),
            }
            map.insert("anyOf".into(), either.into());
            return;
        }
    }
    if let Some(Json::Array(words)) = map.get_mut("enum")
        && !words.contains(&Json::Null)
    {
        words.push(Json::Null);
    }
}

/// A record takes `null` itself, so that a choice between it and `null` is none; the fewer choices, the nearer a violation
/// is told to its place.
fn collapse(schema: &mut Json, nullable: &[String]) {
    match schema {
        Json::Object(map) => {
            if let Some(Json::Array(some)) = map.get("anyOf") {
                let others: Vec<&Json> = some.iter().filter(|s| s["type"] != "null").collect();
                let takes_null = |s: &Json| match s["$ref"].as_str() {
                    Some(name) => nullable.iter().any(|n| n == name),
                    None => s["type"].as_array().is_some_and(|kinds| kinds.contains(&"null".into())),
                };
                if let [one] = others.as_slice()
                    && takes_null(one)
                {
                    let one = (*one).clone();
                    map.remove("anyOf");
                    for (key, value) in one.as_object().into_iter().flatten() {
                        map.entry(key.clone()).or_insert_with(|| value.clone());
                    }
                }
            }
            map.values_mut().for_each(|value| collapse(value, nullable));
        }
        Json::Array(items) => items.iter_mut().for_each(|item| collapse(item, nullable)),
        _ => {}
    }
}

/// What the shipped schema objects to and our own reading did not report.
#[must_use]
pub fn violations(loaded: &Loaded) -> Vec<Problem> {
    let shipped = match loaded.dialect {
        Dialect::Json => XRAY,
        Dialect::Toml => TOML,
    };
    let compiled =
        serde_json::from_str::<Json>(shipped).ok().and_then(|schema| jsonschema::validator_for(&schema).ok());
    // The files are part of the program and a test compiles them.
    let Some(validator) = compiled else { return vec![] };
    let mut found = vec![];
    for tree in loaded.sources.files.iter().filter_map(File::tree) {
        let instance = json_of(tree);
        for error in validator.iter_errors(&instance).take(MOST) {
            let pointer = error.instance_path().as_str().to_owned();
            let (span, reach) = at(tree, &pointer);
            let said = |problem: &Problem| problem.span.is_some_and(|s| touches(s, reach));
            if loaded.problems.iter().any(said) {
                continue;
            }
            let message = format!("does not fit the schema: {}", error.masked());
            let path = pointer.trim_start_matches('/').replace('/', ".");
            let (severity, kind) = (Severity::Warning, Kind::Value);
            found.push(Problem { severity, kind, span: Some(span), path, message, help: None });
        }
    }
    found
}

/// More than this is no second opinion but another format.
const MOST: usize = 50;

fn touches(a: Span, b: Span) -> bool {
    a.file == b.file && a.start <= b.end && b.start <= a.end
}

/// The place of a pointer, and everything in it.
fn at(tree: &Node, pointer: &str) -> (Span, Span) {
    let mut node = tree;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match &node.value {
            Value::Map(entries) => entries.iter().rev().find(|e| e.key == step).map(|e| &e.node),
            Value::List(items) => step.parse::<usize>().ok().and_then(|n| items.get(n)),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    (node.span, reach(node))
}

fn reach(node: &Node) -> Span {
    let members: Vec<Span> = match &node.value {
        Value::Map(entries) => entries.iter().flat_map(|e| [e.key_span, reach(&e.node)]).collect(),
        Value::List(items) => items.iter().map(reach).collect(),
        _ => vec![],
    };
    let start = members.iter().map(|s| s.start).fold(node.span.start, u32::min);
    let end = members.iter().map(|s| s.end).fold(node.span.end, u32::max);
    Span { start, end, ..node.span }
}

/// The tree as a value, of equal keys the last.
fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(n) => i64::try_from(*n).map_or_else(|_| json!(u64::try_from(*n).unwrap_or(u64::MAX)), Json::from),
        Value::Float(x) => json!(x),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json_of).collect()),
        Value::Map(entries) => Json::Object(entries.iter().map(|e| (e.key.clone(), json_of(&e.node))).collect()),
    }
}
