//! Schemas in which `settings` depends on `protocol`.

use serde_json::{Value, json};

use crate::shape::{Dialect, KeyDoc, object};

/// The schema of an envelope; each kind's words choose the schema of its settings.
pub(super) fn by_protocol(
    dialect: Dialect,
    doc: &str,
    keys: &[KeyDoc],
    kinds: Vec<(&'static [&'static str], Value)>,
) -> Value {
    let mut schema = object(dialect, doc, keys);
    let every: Vec<&str> = kinds.iter().flat_map(|(words, _)| words.iter().copied()).collect();
    let branches: Vec<Value> = kinds
        .into_iter()
        .map(|(words, settings)| {
            let settings = match dialect {
                Dialect::Json => json!({ "anyOf": [{ "type": "null" }, settings] }),
                Dialect::Toml => settings,
            };
            json!({
                "if": { "properties": { "protocol": word(dialect, words) }, "required": ["protocol"] },
                "then": { "properties": { "settings": settings } }
            })
        })
        .collect();
    if let Some(map) = schema.as_object_mut() {
        map.insert("allOf".into(), branches.into());
        if let Some(protocol) =
            map.get_mut("properties").and_then(|p| p.get_mut("protocol")).and_then(Value::as_object_mut)
        {
            for (key, value) in word(dialect, &every).as_object().into_iter().flatten() {
                protocol.insert(key.clone(), value.clone());
            }
        }
    }
    schema
}

/// A word of a list; in JSON in any letter case.
fn word(dialect: Dialect, words: &[&str]) -> Value {
    match dialect {
        Dialect::Toml => json!({ "type": "string", "enum": words }),
        Dialect::Json => {
            let any_case = |w: &&str| {
                w.chars()
                    .map(|c| {
                        if c.is_ascii_alphabetic() {
                            format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
                        } else {
                            c.to_string()
                        }
                    })
                    .collect::<String>()
            };
            let pattern = words.iter().map(any_case).collect::<Vec<_>>().join("|");
            json!({ "type": "string", "pattern": format!("^({pattern})$"), "examples": words })
        }
    }
}
