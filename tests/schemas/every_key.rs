//! Every key counts: two configurations that differ in one key alone give two drafts, also after a way through TOML.
//!
//! Keys come from the schema of Xray's JSON, so none can be forgotten; where it does not say which value is valid,
//! [`hints`](super::hints) does. What is read and not carried must say why, and `MIGRATION.md` lists it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use etemenanki::frontend::{Options, Source, emit_toml, load, settle, toml};
use etemenanki::model::draft::Draft;
use etemenanki::shape::{Plain, PlainMap, Severity};
use serde_json::{Map, Value, json};

use super::hints::{base, company, sample, start};

/// What was found out about one key.
pub enum Fate {
    /// It is in the draft; the TOML keys that say it.
    Carried(BTreeSet<String>),
    /// It is read, and nothing in the draft says it; why.
    Dropped(String),
}

/// All keys by path (list places as `[]`), and what is wrong.
#[derive(Default)]
pub struct Findings {
    pub keys: BTreeMap<String, Fate>,
    pub faults: Vec<String>,
}

/// Keys that are carried only together with others, so that a difference in them alone is none, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("routing.rules[].type", "every rule is a field rule"),
    ("vnext[].users[].reverse", "refused there, as by Xray; beside `address` it is carried"),
    ("browserForwarder", "there is no browser forwarder"),
    ("outbounds[hysteria].settings.version", "the protocol has one version"),
    ("inbounds[hysteria].settings.version", "the protocol has one version"),
    ("hysteriaSettings.version", "the protocol has one version"),
];

type Wrap = Rc<dyn Fn(Value) -> Value>;

/// Tries every key of a schema.
pub fn try_all(schema: &Value) -> Findings {
    let mut walk = Walk { root: schema, seen: BTreeSet::new(), later: VecDeque::new(), found: Findings::default() };
    let whole: Wrap = Rc::new(|root| {
        let mut object = json!({ "outbounds": [{ "tag": "t", "protocol": "freedom" }] });
        extend(&mut object, root);
        object
    });
    walk.object(schema, "", "", "", &whole);
    // Breadth first: a record that stands at several places is tried at the shortest path.
    while let Some(Later { schema, record, word, path, wrap }) = walk.later.pop_front() {
        walk.object(schema, &record, &word, &path, &wrap);
    }
    walk.found
}

struct Walk<'s> {
    root: &'s Value,
    seen: BTreeSet<(String, String)>,
    later: VecDeque<Later<'s>>,
    found: Findings,
}

/// An object that was found in another.
struct Later<'s> {
    schema: &'s Value,
    record: String,
    word: String,
    path: String,
    wrap: Wrap,
}

impl<'s> Walk<'s> {
    fn later(&mut self, schema: &'s Value, record: &str, word: &str, path: &str, wrap: &Wrap) {
        let (record, word, path, wrap) = (record.to_owned(), word.to_owned(), path.to_owned(), wrap.clone());
        self.later.push_back(Later { schema, record, word, path, wrap });
    }

    fn object(&mut self, schema: &'s Value, record: &str, word: &str, path: &str, wrap: &Wrap) {
        if !self.seen.insert((record.to_owned(), word.to_owned())) {
            return;
        }
        for (key, shape) in schema["properties"].as_object().into_iter().flatten() {
            let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let start = start(record, word, key);
            self.key(record, word, &start, key, shape, &here, wrap);
            let (beside, key, outer) = (company(record, key), key.clone(), wrap.clone());
            let inner: Wrap = Rc::new(move |value| {
                let mut object = start.clone();
                extend(&mut object, beside.clone());
                object[&key] = value;
                outer(object)
            });
            let unnamed = if here.ends_with(".vnext") || here.ends_with(".servers") { "Server" } else { "" };
            self.nested(shape, unnamed, word, &here, &inner);
        }
        for (word_key, branch, then) in super::samples::branches(schema) {
            for (key, shape) in then["properties"].as_object().into_iter().flatten() {
                let (start, key2, outer) = (base(record, word), key.clone(), wrap.clone());
                let (word_key, branch2) = (word_key.to_owned(), branch.to_owned());
                let inner: Wrap = Rc::new(move |value| {
                    let mut object = start.clone();
                    object[&word_key] = json!(branch2);
                    object[&key2] = value;
                    outer(object)
                });
                let unnamed = if record == "Outbound" { "outbound" } else { "" };
                self.nested(shape, unnamed, branch, &format!("{}.{key}", of_kind(path, branch)), &inner);
            }
        }
    }

    /// Finds the objects in a key's shape.
    fn nested(&mut self, shape: &'s Value, unnamed: &str, word: &str, path: &str, wrap: &Wrap) {
        if let Some(name) = shape.get("$ref").and_then(Value::as_str) {
            let name = name.trim_start_matches("#/$defs/");
            let target = &self.root["$defs"][name];
            return self.later(target, name, "", path, wrap);
        }
        for kind in ["anyOf", "allOf"] {
            for some in shape.get(kind).and_then(Value::as_array).into_iter().flatten() {
                self.nested(some, unnamed, word, path, wrap);
            }
        }
        if let Some(items) = shape.get("items") {
            let outer = wrap.clone();
            let inner: Wrap = Rc::new(move |value| outer(json!([value])));
            self.nested(items, unnamed, word, &format!("{path}[]"), &inner);
        }
        if let Some(free) = shape.get("additionalProperties").filter(|s| s.is_object()) {
            let outer = wrap.clone();
            let inner: Wrap = Rc::new(move |value| outer(json!({ "1": value })));
            self.nested(free, unnamed, word, &format!("{path}.*"), &inner);
        }
        let Some(properties) = shape.get("properties") else { return };
        // A kind and its settings: one alternative for each kind.
        let kinds = properties.get("type").and_then(first_word);
        match (kinds, properties.get("settings")) {
            (Some(kind), Some(settings)) => {
                let (outer, place) = (wrap.clone(), format!("{}.settings", of_kind(path, &kind)));
                let inner: Wrap = Rc::new(move |value| outer(json!({ "type": kind, "settings": value })));
                self.nested(settings, "", "", &place, &inner);
            }
            _ if !unnamed.is_empty() => self.later(shape, unnamed, word, path, wrap),
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn key(&mut self, record: &str, word: &str, start: &Value, key: &str, shape: &Value, path: &str, wrap: &Wrap) {
        let why = without_effect(shape).or_else(|| elsewhere(path));
        if let Some(why) = why {
            self.found.keys.insert(path.to_owned(), Fate::Dropped(why));
            return;
        }
        let before = start.get(key).cloned().or_else(|| shape.get("default").cloned());
        let Some(value) = sample(record, word, key).or_else(|| made(shape, before.as_ref())) else {
            // A key that a reader takes only to tell what is wrong with it.
            if let (Some(doc), 1) = (shape["description"].as_str(), shape.as_object().map_or(0, Map::len)) {
                let why = doc.trim_end_matches('.').to_owned();
                if key != "settings" {
                    self.found.keys.insert(path.to_owned(), Fate::Dropped(why));
                }
                return;
            }
            // A table whose own keys are tried.
            let table = shape.get("$ref").is_some() || record == "Inbound" || record == "Outbound";
            if !table && !matches!(key, "settings") {
                self.found.faults.push(format!("{path} ({record}.{key}): no sample for {shape}"));
            }
            return;
        };
        let mut without = start.clone();
        extend(&mut without, company(record, key));
        let mut with = without.clone();
        with[key] = value;
        let (with, without) = (wrap(with), wrap(without));
        match compare(&with, &without) {
            Ok(toml) => {
                self.found.keys.insert(path.to_owned(), Fate::Carried(toml));
            }
            Err(fault) => self.found.faults.push(format!("{path} ({record}.{key}): {fault}\n    {with}")),
        }
    }
}

/// Loads both, compares, and takes the first through TOML. Returns the TOML keys that differ.
fn compare(with: &Value, without: &Value) -> Result<BTreeSet<String>, String> {
    let mut changed = draft(&with.to_string(), "c.json")?;
    let plain = draft(&without.to_string(), "c.json").ok();
    if plain.as_ref() == Some(&changed) {
        return Err("changes nothing".into());
    }
    settle(&mut changed);
    let written = toml::root::write(&changed);
    let text = emit_toml(&written, &[]);
    let back = draft(&text, "c.toml").map_err(|why| format!("its TOML does not load: {why}\n{text}"))?;
    if back != changed {
        return Err(format!("its TOML means something else\n{text}"));
    }
    let mut other = BTreeSet::new();
    if let Some(mut plain) = plain {
        settle(&mut plain);
        leaves(&Plain::Map(toml::root::write(&plain)), "", &mut other);
    }
    let mut here = BTreeSet::new();
    leaves(&Plain::Map(written), "", &mut here);
    let fresh: BTreeSet<String> = here.difference(&other).cloned().collect();
    let gone = other.difference(&here).cloned();
    let all = if fresh.is_empty() { gone.collect() } else { fresh };
    Ok(all.into_iter().map(|leaf| leaf.split('=').next().unwrap_or_default().to_owned()).collect())
}

fn draft(text: &str, name: &str) -> Result<Draft, String> {
    let source = Source { name: name.into(), bytes: text.as_bytes().to_vec(), format: None };
    let loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    let error = loaded.problems.iter().find(|p| p.severity == Severity::Error);
    loaded.draft.ok_or_else(|| error.map_or_else(String::new, |p| format!("{}: {}", p.path, p.message)))
}

/// Every value with its path, list places as `[]`.
fn leaves(plain: &Plain, path: &str, out: &mut BTreeSet<String>) {
    match plain {
        Plain::Map(PlainMap { entries, .. }) if !entries.is_empty() => {
            for (key, value) in entries {
                let under = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(value, &under, out);
            }
        }
        Plain::List(items) if items.iter().any(|i| matches!(i, Plain::Map(_))) => {
            items.iter().for_each(|item| leaves(item, &format!("{path}[]"), out));
        }
        other => {
            out.insert(format!("{path}={other:?}"));
        }
    }
}

/// Why a key is not carried by itself; entries with a point are ends of paths.
fn elsewhere(path: &str) -> Option<String> {
    let fits = |end: &str| path == end || (end.contains('.') && path.ends_with(end));
    ELSEWHERE.iter().find(|(end, _)| fits(end)).map(|(_, why)| (*why).to_owned())
}

/// A path that says of which kind an item is: `inbounds[socks]`, `strategy(hrw)`.
fn of_kind(path: &str, word: &str) -> String {
    path.strip_suffix("[]").map_or_else(|| format!("{path}({word})"), |list| format!("{list}[{word}]"))
}

fn extend(object: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (object.as_object_mut(), more) {
        into.extend(more);
    }
}

fn without_effect(shape: &Value) -> Option<String> {
    let why = shape.get("description")?.as_str()?.strip_prefix("Without effect: ")?;
    Some(why.trim_end_matches('.').to_owned())
}

fn first_word(shape: &Value) -> Option<String> {
    if let Some(words) = shape.get("enum").and_then(Value::as_array) {
        return words.first().and_then(Value::as_str).map(str::to_owned);
    }
    shape.get("anyOf").and_then(Value::as_array)?.iter().find_map(first_word)
}

/// A value of a shape that differs from what holds anyway.
fn made(shape: &Value, default: Option<&Value>) -> Option<Value> {
    if let Some(any) = shape.get("anyOf").and_then(Value::as_array) {
        return any.iter().filter(|s| s.get("type") != Some(&json!("null"))).find_map(|shape| made(shape, default));
    }
    if let Some(words) = shape.get("enum").and_then(Value::as_array) {
        let fine = |w: &&Value| Some(*w) != default && w.as_str().is_some_and(|w| !w.is_empty());
        return words.iter().rev().find(fine).cloned();
    }
    let kind = shape.get("type")?;
    let is = |name: &str| kind == name || kind.as_array().is_some_and(|kinds| kinds.contains(&json!(name)));
    if is("boolean") {
        return Some(json!(default != Some(&json!(true))));
    }
    if is("integer") || is("number") {
        return [json!(7), json!(9)].into_iter().find(|n| Some(n) != default);
    }
    if is("string") {
        return [json!("word"), json!("other")].into_iter().find(|w| Some(w) != default);
    }
    if is("array") {
        return made(shape.get("items")?, None).map(|item| json!([item]));
    }
    if is("object") && shape.get("additionalProperties").is_some_and(Value::is_object) {
        let inner = made(&shape["additionalProperties"], None)?;
        return Some(Value::Object(Map::from_iter([("k".to_owned(), inner)])));
    }
    None
}
