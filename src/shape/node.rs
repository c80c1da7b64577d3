//! Trees of values that know where they were written; one kind for JSON, YAML and TOML.

use std::fmt;
use std::sync::Arc;

/// A byte range in one of the files of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Which file, in the order in which they were given.
    pub file: u16,
    /// First byte.
    pub start: u32,
    /// Byte behind the last.
    pub end: u32,
}

/// Where an item of a draft was written. Two spots are always equal, so that drafts compare by meaning.
#[derive(Clone, Default)]
pub struct Spot(Option<(Span, Arc<str>)>);

impl Spot {
    /// A known place: the bytes, and the path as people read it (`outbounds[2].settings`).
    #[must_use]
    pub fn new(span: Span, path: &str) -> Self {
        Self(Some((span, path.into())))
    }

    /// The bytes, if the item was written in a file.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.0.as_ref().map(|(span, _)| *span)
    }

    /// The path, empty if the item was not written in a file.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.as_ref().map_or("", |(_, path)| path)
    }
}

impl PartialEq for Spot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spot {}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What stands there.
    pub value: Value,
    /// Where it stands, quotes and brackets included.
    pub span: Span,
}

/// What a node can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// JSON's `null`; the same as leaving the key out.
    Null,
    /// True or false.
    Bool(bool),
    /// A number without point and exponent.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order written; equal keys may repeat.
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key, unescaped.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Node {
    /// A node that stands nowhere.
    #[must_use]
    pub fn bare(value: Value) -> Self {
        Self { value, span: Span::default() }
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members, if it is a list.
    #[must_use]
    pub fn list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if it is a map.
    #[must_use]
    pub fn map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value in the words of serde's "invalid type" messages; `shown` = false leaves texts out.
    #[must_use]
    pub fn describe(&self, shown: bool) -> String {
        match &self.value {
            Value::Null => "null".into(),
            Value::Bool(b) => format!("boolean `{b}`"),
            Value::Int(n) => format!("integer `{n}`"),
            Value::Float(x) => format!("floating point `{x}`"),
            Value::Text(text) if shown => format!("string {text:?}"),
            Value::Text(_) => "string".into(),
            Value::List(_) => "sequence".into(),
            Value::Map(_) => "map".into(),
        }
    }
}

/// A part of the tree that is read later, when it is known what it must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw(pub Node);

impl Default for Raw {
    fn default() -> Self {
        Self(Node::bare(Value::Null))
    }
}
