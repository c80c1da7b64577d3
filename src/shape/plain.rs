//! Values on their way out: what a writer makes of a draft, before it becomes JSON or TOML text.

use super::node::Span;

/// A value without place, in the order in which it is to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Plain {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A table.
    Map(PlainMap),
}

/// Keys and values in the order of writing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlainMap {
    /// The entries; no key repeats.
    pub entries: Vec<(String, Plain)>,
    /// Where the item was read, so that its comments can travel with it.
    pub from: Option<Span>,
}

impl PlainMap {
    /// Appends an entry.
    pub fn put(&mut self, key: &str, value: impl Into<Plain>) {
        self.entries.push((key.to_owned(), value.into()));
    }

    /// Appends a table unless it is empty.
    pub fn put_table(&mut self, key: &str, table: Self) {
        if !table.is_empty() {
            self.put(key, Plain::Map(table));
        }
    }

    /// Whether nothing was put.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl From<bool> for Plain {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<&str> for Plain {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Plain {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<PlainMap> for Plain {
    fn from(map: PlainMap) -> Self {
        Self::Map(map)
    }
}

impl From<Vec<Self>> for Plain {
    fn from(items: Vec<Self>) -> Self {
        Self::List(items)
    }
}

/// For schemas and for `--to json`.
impl From<&Plain> for serde_json::Value {
    fn from(plain: &Plain) -> Self {
        match plain {
            Plain::Bool(b) => Self::Bool(*b),
            Plain::Int(n) => {
                i64::try_from(*n).map_or_else(|_| Self::from(u64::try_from(*n).unwrap_or(u64::MAX)), Self::from)
            }
            Plain::Float(x) => Self::from(*x),
            Plain::Text(text) => Self::String(text.clone()),
            Plain::List(items) => Self::Array(items.iter().map(Self::from).collect()),
            Plain::Map(map) => Self::Object(map.entries.iter().map(|(k, v)| (k.clone(), Self::from(v))).collect()),
        }
    }
}
