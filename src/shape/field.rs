//! What the value of a key can be.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::defs::{Defs, nullable};
use super::node::{Node, Raw, Spot, Value};
use super::plain::{Plain, PlainMap};
use super::reader::{Class, Dialect, Reader};

/// A type that can be the value of a key, in both dialects.
pub trait Field: Sized {
    /// Reads a node; a failed reading was reported and gives nothing.
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self>;

    /// What to write so that reading gives this value again.
    fn write(&self, dialect: Dialect) -> Plain;

    /// The JSON schema of what [`Field::read`] takes.
    fn shape(dialect: Dialect, defs: &mut Defs) -> Json;

    /// What to write where it must be and is not, if that is worth saying.
    #[must_use]
    fn if_missing() -> Option<&'static str> {
        None
    }
}

impl Field for bool {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.value {
            Value::Bool(b) => Some(b),
            _ => cx.wrong_type(node, "a boolean"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Bool(*self)
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "boolean" })
    }
}

macro_rules! integers {
    ($($int:ident),*) => {$(
        impl Field for $int {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                match node.value {
                    Value::Int(n) => match Self::try_from(n) {
                        Ok(n) => Some(n),
                        Err(_) => cx.wrong_value(node, stringify!($int)),
                    },
                    _ => {
                        let number = node.text().and_then(|t| t.trim().parse::<Self>().ok());
                        cx.wrong_type::<Self>(node, stringify!($int));
                        if let (Some(number), Some(problem)) = (number, cx.problems.last_mut()) {
                            problem.help = Some(format!("write it without quotes: {number}"));
                        }
                        None
                    }
                }
            }

            fn write(&self, _: Dialect) -> Plain {
                Plain::Int(i128::from(*self))
            }

            fn shape(_: Dialect, _: &mut Defs) -> Json {
                json!({ "type": "integer", "minimum": Self::MIN, "maximum": Self::MAX })
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i16, i32, i64);

impl Field for f64 {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.value {
            #[expect(clippy::cast_precision_loss, reason = "a config number beyond 2^53 may lose its last digits")]
            Value::Int(n) => Some(n as Self),
            Value::Float(x) if x.is_finite() => Some(x),
            Value::Float(_) => cx.wrong_value(node, "a finite number"),
            _ => cx.wrong_type(node, "a number"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Float(*self)
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "number" })
    }
}

impl Field for String {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => cx.wrong_type(node, "a string"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.clone())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

impl<T: Field> Field for Option<T> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        T::read(cx, node).map(Some)
    }

    fn write(&self, dialect: Dialect) -> Plain {
        // Only present values are written: an absent one equals the default of its key.
        self.as_ref().map_or_else(|| Plain::Map(PlainMap::default()), |value| value.write(dialect))
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        T::shape(dialect, defs)
    }
}

impl<T: Field> Field for Box<T> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        T::read(cx, node).map(Self::new)
    }

    fn write(&self, dialect: Dialect) -> Plain {
        (**self).write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        T::shape(dialect, defs)
    }
}

/// A list only; see [`TextList`](super::TextList) for Xray's list-or-text. `null` members are left out, as clients
/// write them for nothing.
impl<T: Field> Field for Vec<T> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::List(items) => {
                let items = cx.each(items, |cx, item| if item.is_null() { None } else { T::read(cx, item) });
                Some(items.into_iter().flatten().collect())
            }
            _ if cx.json() => cx.wrong_type(node, "an array"),
            _ => cx.wrong_type(node, "a sequence"),
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        Plain::List(self.iter().map(|item| item.write(dialect)).collect())
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        let item = T::shape(dialect, defs);
        let item = if dialect == Dialect::Json { nullable(item) } else { item };
        json!({ "type": "array", "items": item })
    }
}

/// Free keys, compared exactly in both dialects; of equal keys the last counts.
impl<T: Field> Field for BTreeMap<String, T> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => {
                let mut map = Self::new();
                for entry in entries.iter().filter(|e| !e.node.is_null()) {
                    if let Some(value) = cx.key(&entry.key, |cx| T::read(cx, &entry.node)) {
                        map.insert(entry.key.clone(), value);
                    }
                }
                Some(map)
            }
            _ if cx.json() => cx.wrong_type(node, "an object"),
            _ => cx.wrong_type(node, "a table"),
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let entries = self.iter().map(|(key, value)| (key.clone(), value.write(dialect))).collect();
        Plain::Map(PlainMap { entries, from: None })
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        let value = T::shape(dialect, defs);
        let value = if dialect == Dialect::Json { nullable(value) } else { value };
        json!({ "type": "object", "additionalProperties": value })
    }
}

impl Field for Raw {
    fn read(_: &mut Reader<'_>, node: &Node) -> Option<Self> {
        Some(Self(node.clone()))
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Map(PlainMap::default())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({})
    }
}

/// A place is no key: records hold it `hidden`, and nobody asks for these.
impl Field for Spot {
    fn read(_: &mut Reader<'_>, _: &Node) -> Option<Self> {
        None
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Map(PlainMap::default())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!(false)
    }
}

/// Marks a value that was read: as default if it says what holds anyway, else as kept or, under another name, rewritten.
pub fn mark_read<T: PartialEq>(cx: &mut Reader<'_>, node: &Node, value: &T, default: &T) {
    if matches!(node.value, Value::Map(_)) {
        return;
    }
    let class = if value == default { Class::Default } else { Class::Kept };
    cx.mark(node.span, class, "");
}
