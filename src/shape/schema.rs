//! What a record says of itself, for schemas and docs.

use serde_json::{Map, Value, json};

use super::defs::{Defs, nullable};
use super::plain::{Plain, PlainMap};
use super::reader::{Dialect, Reader};
use super::table::{Key, Table};

/// One key of a record, as docs and schemas show it.
#[derive(Debug, Clone)]
pub struct KeyDoc {
    /// Its names.
    pub key: Key,
    /// What it means.
    pub doc: String,
    /// The JSON schema of its value.
    pub shape: Value,
    /// What holds when it is absent, if that can be written.
    pub default: Option<Plain>,
    /// Whether it must be there.
    pub required: bool,
    /// Why it has no effect, if it has none.
    pub ignored: Option<&'static str>,
}

/// A settings struct that was declared with [`record!`](crate::record).
pub trait Record: Default {
    /// Its name in schemas.
    const NAME: &'static str;

    /// What it is.
    fn doc() -> String;

    /// Reads its keys out of an open table, leaving others alone.
    fn read_from(cx: &mut Reader<'_>, table: &mut Table<'_>) -> Self;

    /// Writes what differs from the defaults.
    fn write_to(&self, dialect: Dialect, out: &mut PlainMap);

    /// Its keys.
    fn keys(dialect: Dialect, defs: &mut Defs) -> Vec<KeyDoc>;

    /// Its JSON schema, put among `defs`; returns the reference.
    fn schema(dialect: Dialect, defs: &mut Defs) -> Value {
        if !defs.map.contains_key(Self::NAME) {
            // The place is taken first: a record may hold itself.
            defs.map.insert(Self::NAME.to_owned(), Value::Null);
            let keys = Self::keys(dialect, defs);
            let schema = object(dialect, &Self::doc(), &keys);
            defs.map.insert(Self::NAME.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{}", Self::NAME) })
    }
}

/// The JSON schema of an object with these keys. In JSON every alias is a property; unknown keys are the reader's to
/// report, so only TOML closes the object.
#[must_use]
pub fn object(dialect: Dialect, doc: &str, keys: &[KeyDoc]) -> Value {
    let mut properties = Map::new();
    let mut required = vec![];
    for key in keys {
        for (n, name) in key.key.names(dialect).into_iter().enumerate() {
            let shape = if dialect == Dialect::Json { nullable(key.shape.clone()) } else { key.shape.clone() };
            let mut shape = match shape {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            let mut doc = key.doc.clone();
            if n > 0 {
                doc = format!("Other name of `{}`. {doc}", key.key.names(dialect)[0]);
            }
            if let Some(why) = key.ignored {
                doc = format!("Without effect: {why}");
                shape.insert("deprecated".into(), true.into());
            }
            if !doc.is_empty() {
                shape.insert("description".into(), doc.into());
            }
            if let Some(default) = &key.default {
                shape.insert("default".into(), default.into());
            }
            properties.insert(name.to_owned(), Value::Object(shape));
        }
        if key.required && dialect == Dialect::Toml {
            required.extend(key.key.names(dialect));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".into(), if dialect == Dialect::Json { json!(["object", "null"]) } else { json!("object") });
    if !doc.is_empty() {
        schema.insert("description".into(), doc.into());
    }
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    if dialect == Dialect::Toml {
        schema.insert("additionalProperties".into(), false.into());
    }
    schema.into()
}
