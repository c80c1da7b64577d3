//! What the macros call.

use serde_json::{Value as Json, json};

use super::defs::Defs;
use super::field::{Field, mark_read};
use super::node::Node;
use super::plain::{Plain, PlainMap};
use super::problem::{Kind, nearest};
use super::reader::{Dialect, Reader};
use super::schema::KeyDoc;
use super::table::{Key, Table};

/// Doc lines as one paragraph.
#[must_use]
pub fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|l| l.trim()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Reads one key of a record and marks what became of it.
pub fn read_key<T: Field + PartialEq>(
    cx: &mut Reader<'_>,
    table: &mut Table<'_>,
    key: Key,
    required: bool,
    base: &T,
) -> Option<T> {
    if key.names(cx.dialect).is_empty() {
        return None;
    }
    let Some(entry) = table.take(cx, key) else {
        if required {
            let name = key.names(cx.dialect)[0];
            let help = T::if_missing().map(Into::into);
            cx.error(table.node(), Kind::Missing, format!("missing field `{name}`")).help = help;
        }
        return None;
    };
    cx.key(&entry.key, |cx| {
        let value = T::read(cx, &entry.node)?;
        mark_read(cx, &entry.node, &value, base);
        Some(value)
    })
}

/// Writes one key of a record, if it has a name in the dialect.
pub fn write_key<T: Field>(out: &mut PlainMap, dialect: Dialect, key: Key, value: &T) {
    if let Some(name) = key.names(dialect).first() {
        out.put(name, value.write(dialect));
    }
}

/// Adds what is to be said of one key of a record, if it has a name in the dialect.
pub fn push_key<T: Field>(
    keys: &mut Vec<KeyDoc>,
    dialect: Dialect,
    defs: &mut Defs,
    key: Key,
    doc: &[&str],
    required: bool,
    base: &T,
) {
    if key.names(dialect).is_empty() {
        return;
    }
    let shape = T::shape(dialect, defs);
    let default = (!required).then(|| base.write(dialect));
    keys.push(KeyDoc { key, doc: join_doc(doc), shape, default, required, ignored: None });
}

/// What is to be said of an older key of JSON.
#[must_use]
pub fn old_key(json: &'static [&'static str], doc: &str, ignored: Option<&'static str>) -> KeyDoc {
    let shape = json!({});
    KeyDoc { key: Key::json(json), doc: doc.to_owned(), shape, default: None, required: false, ignored }
}

/// One row of an enumeration: variant, TOML word, JSON words, doc lines.
type Row<T> = (T, &'static str, &'static [&'static str], &'static [&'static str]);

/// Reads a word of an enumeration.
pub fn read_word<T: Copy>(
    cx: &mut Reader<'_>,
    node: &Node,
    rows: &[Row<T>],
    fold: bool,
    fallback: Option<T>,
) -> Option<T> {
    let Some(text) = node.text() else {
        return cx.wrong_type(node, "a string");
    };
    let json = cx.json();
    let hit = rows.iter().find(|row| {
        if json { row.2.iter().any(|w| *w == text || (fold && w.eq_ignore_ascii_case(text))) } else { row.1 == text }
    });
    if let Some(row) = hit {
        return Some(row.0);
    }
    let words: Vec<&str> = rows.iter().map(|row| if json { row.2[0] } else { row.1 }).collect();
    let list = words.iter().filter(|w| !w.is_empty()).map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    let message = format!("unknown variant `{text}`, expected one of {list}");
    let help = nearest(text, words.iter().copied()).map(|w| format!("did you mean `{w}`?"));
    match fallback {
        Some(value) if json => {
            let used = words.first().copied().unwrap_or_default();
            // In the message itself: a log has no room for help.
            let counts = if used.is_empty() { "as if it were absent".into() } else { format!("as `{used}`") };
            let message = format!("{message}; in Xray too it counts {counts}");
            cx.warn(node, Kind::Value, message).help = help;
            Some(value)
        }
        _ => {
            cx.error(node, Kind::Value, message).help = help;
            None
        }
    }
}

/// The JSON word of a variant.
pub fn json_word<T: Copy + PartialEq>(value: T, rows: &[Row<T>]) -> Plain {
    rows.iter().find(|row| row.0 == value).map_or("", |row| row.2[0]).into()
}

/// The schema of an enumeration; open where unknown words or other letter cases are taken.
pub fn shape_word<T>(dialect: Dialect, rows: &[Row<T>], fold: bool, closed: bool) -> Json {
    match dialect {
        Dialect::Toml => json!({ "type": "string", "enum": rows.iter().map(|r| r.1).collect::<Vec<_>>() }),
        Dialect::Json => {
            let words: Vec<&str> = rows.iter().flat_map(|r| r.2.iter().copied()).collect();
            if fold || !closed {
                json!({ "anyOf": [{ "enum": words }, { "type": "string" }] })
            } else {
                json!({ "type": "string", "enum": words })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::{Entry, Span, Value};
    use super::*;
    use crate::shape::{Seconds, Secret, Severity};

    crate::words! {
        /// A family.
        enum Family(fold) {
            /// Either.
            Any = "any" => "UseIP";
            /// Four.
            V4 = "ipv4_only" => "UseIPv4" | "UseIP4";
        }
    }

    crate::record! {
        /// A thing.
        struct Thing {
            /// Its path.
            path: String = "/".into() => "path";
            /// Its beat.
            heartbeat: Seconds => "heartbeatPeriod";
            /// Its key.
            key: Secret<String> => "privateKey" | "key", required;
            /// Its family.
            family: Family => "family";
            /// Its nest.
            nest: Option<Box<Thing>> => "nest";
        }
        ignored { "old" | "older" => "an older key" }
    }

    fn node(value: Value) -> Node {
        Node::bare(value)
    }

    fn map(entries: Vec<(&str, Value)>) -> Node {
        let entry =
            |(key, value): (&str, Value)| Entry { key: key.into(), key_span: Span::default(), node: node(value) };
        node(Value::Map(entries.into_iter().map(entry).collect()))
    }

    fn text(t: &str) -> Value {
        Value::Text(t.into())
    }

    #[test]
    fn json_is_read_loosely_and_every_problem_is_told() {
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Json, &env);
        let tree = map(vec![
            ("PATH", text("/x")),
            ("heartbeatperiod", Value::Int(-1)),
            ("family", text("useip4")),
            ("pivateKey", text("hunter2")),
            ("old", Value::Bool(true)),
            ("older", Value::Int(1)),
            ("_note", Value::Null),
        ]);
        let thing = Thing::read(&mut cx, &tree).unwrap_or_default();
        assert_eq!((thing.path.as_str(), thing.family), ("/x", Family::V4));
        let told: Vec<_> = cx.problems.iter().map(|p| (p.severity, p.message.as_str())).collect();
        assert_eq!(
            told,
            [
                (Severity::Error, "invalid value: integer `-1`, expected u64"),
                (Severity::Error, "missing field `privateKey`"),
                (Severity::Note, "`old` has no effect: an older key"),
                (Severity::Note, "`older` has no effect: an older key"),
                (Severity::Warning, "unknown field `pivateKey`"),
            ]
        );
        assert_eq!((cx.problems[4].help.as_deref(), &cx.problems[1].help), (Some("did you mean `privateKey`?"), &None));
    }

    #[test]
    fn a_word_that_is_unknown_may_count_as_another_and_that_is_said() {
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Json, &env);
        assert_eq!(
            read_word(&mut cx, &node(text("UseIPv5")), Family::WORDS, true, Some(Family::Any)),
            Some(Family::Any)
        );
        let problem = &cx.problems[0];
        assert_eq!((problem.severity, problem.help.as_deref()), (Severity::Warning, Some("did you mean `UseIPv4`?")));
        assert!(problem.message.ends_with("; in Xray too it counts as `UseIP`"), "{}", problem.message);
    }

    #[test]
    fn toml_is_read_strictly_in_serdes_words() {
        let env = |_: &str| None;
        let mut cx = Reader::new(Dialect::Toml, &env);
        let tree = map(vec![("path", Value::Int(3)), ("key", text("k")), ("heartbeatPeriod", Value::Int(3))]);
        Thing::read(&mut cx, &tree);
        let told: Vec<_> = cx.problems.iter().map(|p| p.message.as_str()).collect();
        let keys = "`path`, `heartbeat`, `key`, `family`, `nest`";
        assert_eq!(
            told,
            [
                "invalid type: integer `3`, expected a string".to_owned(),
                format!("unknown field `heartbeatPeriod`, expected one of {keys}")
            ]
        );
    }

    #[test]
    fn writing_leaves_defaults_out_and_reads_back() {
        let inner = Thing { key: "b".into(), family: Family::V4, ..Thing::default() };
        let thing = Thing { key: "a".into(), nest: Some(Box::new(inner)), ..Thing::default() };
        for dialect in [Dialect::Json, Dialect::Toml] {
            let written = thing.write(dialect);
            let env = |_: &str| None;
            let mut cx = Reader::new(dialect, &env);
            let back = Thing::read(&mut cx, &tree_of(&written));
            assert_eq!((back, cx.problems.len()), (Some(thing.clone()), 0));
        }
        let Plain::Map(PlainMap { entries, .. }) = thing.write(Dialect::Toml) else { return };
        assert_eq!(entries.iter().map(|e| e.0.as_str()).collect::<Vec<_>>(), ["key", "nest"]);
        assert!(!format!("{thing:?}").contains("\"a\""));
    }

    fn tree_of(plain: &Plain) -> Node {
        node(match plain {
            Plain::Bool(b) => Value::Bool(*b),
            Plain::Int(n) => Value::Int(*n),
            Plain::Float(x) => Value::Float(*x),
            Plain::Text(t) => text(t),
            Plain::List(items) => Value::List(items.iter().map(tree_of).collect()),
            Plain::Map(m) => return map(m.entries.iter().map(|(k, v)| (k.as_str(), tree_of(v).value)).collect()),
        })
    }

    #[test]
    fn schemas_hold_every_key_and_recursion_ends() {
        let mut defs = Defs::default();
        Thing::shape(Dialect::Json, &mut defs);
        let keys: Vec<_> =
            defs.map["Thing"]["properties"].as_object().into_iter().flatten().map(|(k, _)| k.clone()).collect();
        assert_eq!(keys, ["path", "heartbeatPeriod", "privateKey", "key", "family", "nest", "old", "older"]);
    }
}
