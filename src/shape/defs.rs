//! The named schemas that others refer to; apart from those who fill it, since fields and records both do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The named records met so far, as JSON schemas.
#[derive(Debug, Default)]
pub struct Defs {
    /// By name.
    pub map: BTreeMap<String, Value>,
}

/// The same schema with `null` allowed, which is the same as leaving a value out.
#[must_use]
pub fn nullable(shape: Value) -> Value {
    let Value::Object(mut map) = shape else { return shape };
    if map.contains_key("$ref") {
        return json!({ "anyOf": [map, { "type": "null" }] });
    }
    if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.push(json!({ "type": "null" }));
        return map.into();
    }
    match map.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.contains(&json!("null")) => kinds.push("null".into()),
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            map.insert("type".into(), kinds);
        }
        _ => {}
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.push(Value::Null);
    }
    map.into()
}
