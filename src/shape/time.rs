//! Times. JSON has three spellings, TOML one: whole seconds, or a text with a unit (DECISIONS 25).

use std::ops::Deref;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::defs::Defs;
use super::field::Field;
use super::node::{Node, Value};
use super::plain::Plain;
use super::problem::Kind;
use super::reader::{Dialect, Reader};

macro_rules! times {
    ($($(#[doc = $doc:literal])* $name:ident, $json:ident;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Duration);

        impl Deref for $name {
            type Target = Duration;
            fn deref(&self) -> &Duration {
                &self.0
            }
        }

        impl Field for $name {
            fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
                let unit = if cx.json() { Unit::$json } else { Unit::Either };
                read(cx, node, unit).map(Self)
            }

            fn write(&self, dialect: Dialect) -> Plain {
                match (dialect, Unit::$json) {
                    (Dialect::Json, Unit::Seconds) => Plain::Int(self.0.as_secs().into()),
                    (Dialect::Json, Unit::Millis) => Plain::Int(i128::try_from(self.0.as_millis()).unwrap_or(i128::MAX)),
                    _ => Plain::Text(print(self.0)),
                }
            }

            fn shape(dialect: Dialect, _: &mut Defs) -> Json {
                match (dialect, Unit::$json) {
                    (Dialect::Json, Unit::Text) => json!({ "type": "string" }),
                    (Dialect::Json, Unit::Millis) => json!({ "type": ["integer", "string"], "minimum": 0 }),
                    (Dialect::Json, _) => json!({ "type": "integer", "minimum": 0 }),
                    _ => json!({ "type": ["integer", "string"], "minimum": 0 }),
                }
            }
        }
    )*};
}

times! {
    /// Whole seconds in JSON.
    Seconds, Seconds;
    /// Milliseconds in JSON; also a text with a unit there, because the `optimal` settings allow both.
    Millis, Millis;
    /// Go's text with units in JSON (`"1m30s"`).
    GoTime, Text;
}

/// What a number means, and whether a number or a text may stand.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Seconds,
    Millis,
    Text,
    Either,
}

fn read(cx: &mut Reader<'_>, node: &Node, unit: Unit) -> Option<Duration> {
    match (&node.value, unit) {
        (Value::Int(n), Unit::Seconds | Unit::Either) => match u64::try_from(*n) {
            Ok(n) => Some(Duration::from_secs(n)),
            Err(_) => cx.wrong_value(node, "u64"),
        },
        (Value::Int(n), Unit::Millis) => match u64::try_from(*n) {
            Ok(n) => Some(Duration::from_millis(n)),
            Err(_) => cx.wrong_value(node, "milliseconds from 0"),
        },
        (Value::Int(n), Unit::Text) => {
            let problem = cx.error(node, Kind::Type, format!("invalid duration: {n}"));
            problem.help = Some(format!("write it with a unit, in quotes: \"{n}s\" or \"{n}ms\""));
            None
        }
        (Value::Text(text), Unit::Text | Unit::Millis | Unit::Either) => match parse(text) {
            Some(time) => Some(time),
            None => {
                let problem = cx.error(node, Kind::Value, format!("invalid duration: {text:?}"));
                problem.help =
                    Some("write a number with a unit (ns, us, ms, s, m, h), such as \"1m30s\" or \"800ms\"".into());
                None
            }
        },
        (_, Unit::Seconds) => cx.wrong_type(node, "whole seconds"),
        (_, Unit::Millis) => cx.wrong_type(node, "milliseconds, or a string such as \"5s\""),
        (_, Unit::Text) => cx.wrong_type(node, "a string such as \"10s\""),
        (_, Unit::Either) => cx.wrong_type(node, "seconds, or a string such as \"800ms\""),
    }
}

/// Reads Go's duration syntax. A negative time is 0: every key of Xray that can be negative means "off" by it.
pub fn parse(text: &str) -> Option<Duration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        rest = &rest[unit..];
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
    }
    // Floats miss by less than a nanosecond's half; config times are far coarser.
    Some(if negative { Duration::ZERO } else { total })
}

/// Writes a time as the shortest text that reads as the same.
#[must_use]
pub fn print(time: Duration) -> String {
    let nanos = time.as_nanos();
    for (unit, name) in
        [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
    {
        if nanos != 0 && nanos.is_multiple_of(unit) {
            return format!("{}{name}", nanos / unit);
        }
    }
    if nanos == 0 { "0s".into() } else { format!("{nanos}ns") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_read() {
        assert_eq!(parse("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse("1.5h"), Some(Duration::from_secs(5400)));
        assert_eq!(parse("0"), Some(Duration::ZERO));
        assert_eq!(parse("-3s"), Some(Duration::ZERO));
        for bad in ["", "60", "1d", "5 s", "s", "1x", "ms1", "."] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_print_as_they_read() {
        for text in ["90s", "1500ms", "2h", "45m", "3us", "7ns", "0s"] {
            assert_eq!(parse(text).map(print).as_deref(), Some(text));
        }
    }
}
