//! Xray's loose value types that several sections share.

use std::net::IpAddr;

use serde_json::{Value as Json, json};

use super::defs::Defs;
use super::field::Field;
use super::node::{Node, Value};
use super::plain::Plain;
use super::problem::Kind;
use super::reader::{Dialect, Reader};

/// A list of texts; in JSON also one text that is split at commas, without trimming (as Xray does).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TextList(pub Vec<String>);

impl Field for TextList {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Text(text) if cx.json() => Some(Self(text.split(',').map(str::to_owned).collect())),
            Value::List(items) => {
                let items = cx
                    .each(items, |cx, item| if item.is_null() { Some(String::new()) } else { String::read(cx, item) });
                Some(Self(items.into_iter().flatten().collect()))
            }
            _ if cx.json() => cx.wrong_type(node, "an array of strings, or one string with commas"),
            _ => cx.wrong_type(node, "a sequence"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::List(self.0.iter().map(|text| Plain::Text(text.clone())).collect())
    }

    fn shape(dialect: Dialect, _: &mut Defs) -> Json {
        let items =
            if dialect == Dialect::Json { json!({ "type": ["string", "null"] }) } else { json!({ "type": "string" }) };
        let list = json!({ "type": "array", "items": items });
        if dialect == Dialect::Json { json!({ "anyOf": [{ "type": "string" }, list] }) } else { list }
    }
}

/// A number or a range of numbers, `5` or `"5-10"`; reversed bounds are swapped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ranged {
    /// Lower bound.
    pub from: i32,
    /// Upper bound.
    pub to: i32,
}

impl Ranged {
    /// The range between two numbers.
    #[must_use]
    pub fn new(a: i32, b: i32) -> Self {
        Self { from: a.min(b), to: a.max(b) }
    }

    /// Reads `n` or `a-b`, either of which may be negative; the empty text is 0.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self::default());
        }
        if let Ok(n) = text.parse() {
            return Some(Self::new(n, n));
        }
        let cut = 1 + text.get(1..)?.find('-')?;
        Some(Self::new(text[..cut].trim().parse().ok()?, text[cut + 1..].trim().parse().ok()?))
    }
}

impl Field for Ranged {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let value = match &node.value {
            Value::Int(n) => i32::try_from(*n).ok().map(|n| Self::new(n, n)),
            Value::Text(text) => Self::parse(text),
            _ => return cx.wrong_type(node, "a number or a range such as \"10-20\""),
        };
        value.or_else(|| cx.wrong_value(node, "a number or a range such as \"10-20\""))
    }

    fn write(&self, _: Dialect) -> Plain {
        if self.from == self.to {
            Plain::Int(self.from.into())
        } else {
            Plain::Text(format!("{}-{}", self.from, self.to))
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["integer", "string"] })
    }
}

impl Field for IpAddr {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.text() {
            Some(text) => match text.trim().trim_start_matches('[').trim_end_matches(']').parse::<Self>() {
                Ok(ip) => Some(ip.to_canonical()),
                Err(_) => {
                    cx.error(node, Kind::Value, format!("not an IP address: {text:?}"));
                    None
                }
            },
            None => cx.wrong_type(node, "an IP address"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_take_negative_bounds_and_swap() {
        assert_eq!(Ranged::parse("10-5"), Some(Ranged { from: 5, to: 10 }));
        assert_eq!(Ranged::parse("-3--1"), Some(Ranged { from: -3, to: -1 }));
        assert_eq!(Ranged::parse("-7"), Some(Ranged { from: -7, to: -7 }));
        assert_eq!(Ranged::parse(""), Some(Ranged::default()));
        assert_eq!(Ranged::parse("é-3"), None);
        assert_eq!(Ranged::parse("x"), None);
    }
}
