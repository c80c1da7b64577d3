//! What a bare word means in YAML 1.1.

use serde_saphyr::granit_parser::ScalarStyle;

use crate::shape::Value;

/// The value of a scalar; quoted ones, and those tagged `!!str`, are text.
pub(super) fn resolve(raw: &str, style: ScalarStyle, tag: Option<&str>) -> Value {
    if tag == Some("str") || (style != ScalarStyle::Plain && tag.is_none()) {
        return Value::Text(raw.to_owned());
    }
    match raw {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if !raw.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Value::Text(raw.to_owned());
    }
    let plain: String = raw.chars().filter(|c| *c != '_').collect();
    integer(&plain).map(Value::Int).or_else(|| float(&plain)).unwrap_or_else(|| Value::Text(raw.to_owned()))
}

/// Go's integers: a leading zero is octal.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let value = match lower.as_bytes() {
        [b'0', b'x', ..] => i64::from_str_radix(&lower[2..], 16),
        [b'0', b'b', ..] => i64::from_str_radix(&lower[2..], 2),
        [b'0', b'o', ..] => i64::from_str_radix(&lower[2..], 8),
        [b'0', _, ..] => i64::from_str_radix(&lower[1..], 8),
        _ => return lower.parse::<u64>().ok().map(|n| sign * i128::from(n)),
    };
    value.ok().filter(|n| *n >= 0).map(|n| sign * i128::from(n))
}

/// Decimal floats; whole ones become integers, as they do on the way through JSON.
fn float(text: &str) -> Option<Value> {
    let decimal = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !text.chars().all(decimal) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let x: f64 = text.parse().ok().filter(|x: &f64| x.is_finite())?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 10^21")]
    let value = if x.fract() == 0.0 && x.abs() < 1e21 { Value::Int(x as i128) } else { Value::Float(x) };
    Some(value)
}
