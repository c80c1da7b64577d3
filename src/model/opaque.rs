//! Values that are carried as they are, because nothing of ours looks inside.

use serde_json::{Value as Json, json};

use crate::shape::{Defs, Dialect, Field, Node, Plain, PlainMap, Reader, Value};

/// A value of any shape; the same in both dialects. `null` inside it is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque(pub Plain);

impl Default for Opaque {
    fn default() -> Self {
        Self(Plain::List(vec![]))
    }
}

impl Field for Opaque {
    fn read(_: &mut Reader<'_>, node: &Node) -> Option<Self> {
        plain(node).map(Self)
    }

    fn write(&self, _: Dialect) -> Plain {
        self.0.clone()
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({})
    }
}

fn plain(node: &Node) -> Option<Plain> {
    Some(match &node.value {
        Value::Null => return None,
        Value::Bool(b) => Plain::Bool(*b),
        Value::Int(n) => Plain::Int(*n),
        Value::Float(x) => Plain::Float(*x),
        Value::Text(text) => Plain::Text(text.clone()),
        Value::List(items) => Plain::List(items.iter().filter_map(plain).collect()),
        Value::Map(entries) => {
            let entries = entries.iter().filter_map(|e| Some((e.key.clone(), plain(&e.node)?))).collect();
            Plain::Map(PlainMap { entries, from: None })
        }
    })
}
