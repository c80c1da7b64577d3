//! Strings, numbers and words of JSON, with advice for what other languages write instead.

use super::advice::{number_advice, short};
use super::{Parser, Read};
use crate::shape::{Kind, Severity, Value};

impl Parser<'_> {
    /// A string, at its opening quote.
    pub(super) fn string(&mut self) -> Read<String> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.at;
            while self.peek().is_some_and(|b| b >= b' ' && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            out.push_str(self.slice(plain, self.at));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                None | Some(b'\n' | b'\r') => {
                    let help = "a string ends on the line where it begins; a line break in it is written \\n";
                    return self.fail(open, self.at, "this string is never closed", Some(help));
                }
                Some(b) => {
                    let name = if b == b'\t' { "a tab".to_owned() } else { format!("control character U+{b:04X}") };
                    let help = if b == b'\t' { "write \\t".to_owned() } else { format!("write \\u{b:04x}") };
                    self.error(self.at, self.at + 1, format!("{name} inside a string"), Some(help));
                    self.mistakes()?;
                    self.at += 1;
                }
            }
        }
    }

    /// A backslash and what it escapes.
    fn escape(&mut self, out: &mut String) -> Read<()> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let Some(unit) = self.hex() else {
                    return self.bad_escape(start, "`\\u` needs four hexadecimal digits");
                };
                out.push(self.code_unit(start, unit));
                return Ok(());
            }
            _ => return self.bad_escape(start, "an unknown escape"),
        };
        out.push(plain);
        self.at += 1;
        Ok(())
    }

    /// The character of a `\u` escape; a pair of surrogates is one character, a lone one is replaced as Go does.
    fn code_unit(&mut self, start: usize, unit: u32) -> char {
        if let Some(c) = char::from_u32(unit) {
            return c;
        }
        if (0xd800..0xdc00).contains(&unit) && self.slice(self.at, self.at + 2) == "\\u" {
            let back = self.at;
            self.at += 2;
            if let Some(low @ 0xdc00..0xe000) = self.hex()
                && let Some(c) = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
            {
                return c;
            }
            self.at = back;
        }
        let span = self.text.span(start, self.at);
        let message = "half of a surrogate pair, replaced by U+FFFD";
        let mut problem = self.text.problem(Severity::Warning, Kind::Syntax, span, message);
        problem.path = self.path_text();
        if self.problems.len() < super::MAX_PROBLEMS {
            self.problems.push(problem);
        }
        char::REPLACEMENT_CHARACTER
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
        let value = digits.iter().fold(0, |n, d| n * 16 + char::from(*d).to_digit(16).unwrap_or_default());
        self.at += 4;
        Some(value)
    }

    fn bad_escape(&mut self, start: usize, message: &str) -> Read<()> {
        let end = self.at + self.char_len();
        let help = "a backslash itself is written \\\\, as in \"C:\\\\path\"";
        self.error(start, end, message, Some(help.into()));
        self.mistakes()
    }

    /// A string in single quotes: never JSON, but clear enough to read on.
    pub(super) fn single_quoted(&mut self) -> Read<String> {
        let open = self.at;
        let line = &self.text.body[open + 1..];
        let line = &line[..line.find('\n').unwrap_or(line.len())];
        let Some(len) = line.find('\'') else {
            return self.unexpected("double quotes");
        };
        let inner = line[..len].to_owned();
        self.at = open + len + 2;
        self.error(open, self.at, "strings stand in double quotes", Some("write \" instead of '".into()));
        self.mistakes()?;
        Ok(inner)
    }

    pub(super) fn number(&mut self) -> Read<Value> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.' | b'_')) {
            self.at += 1;
        }
        let raw = self.slice(start, self.at);
        if grammatical(raw) {
            if !raw.contains(['.', 'e', 'E'])
                && let Ok(n) = raw.parse()
            {
                return Ok(Value::Int(n));
            }
            if let Ok(x) = raw.parse::<f64>()
                && x.is_finite()
            {
                return Ok(Value::Float(x));
            }
        }
        let help = number_advice(raw);
        self.error(start, self.at, format!("`{}` is no number", short(raw)), Some(help));
        self.mistakes()?;
        Ok(Value::Null)
    }

    /// `true`, `false`, `null`, or a bare word that is none of them.
    pub(super) fn word(&mut self) -> Read<Value> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'-' | b'.')) {
            self.at += 1;
        }
        let raw = self.slice(start, self.at);
        match raw {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            _ => {}
        }
        let help = match raw.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => "write true".to_owned(),
            "false" | "no" | "off" => "write false".to_owned(),
            "null" | "none" | "nil" | "undefined" => "write null, or leave the key out".to_owned(),
            "nan" | "infinity" | "inf" => "JSON has no such number".to_owned(),
            _ => format!("a text stands in double quotes: \"{}\"", short(raw)),
        };
        let message = format!("expected a value, found `{}`", short(raw));
        self.error(start, self.at, message, Some(help));
        self.mistakes()?;
        Ok(Value::Null)
    }
}

/// JSON's grammar of numbers.
fn grammatical(raw: &str) -> bool {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let body = raw.strip_prefix('-').unwrap_or(raw);
    let whole = digits(body);
    if whole == 0 || (whole > 1 && body.starts_with('0')) {
        return false;
    }
    let mut rest = &body[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let len = digits(fraction);
        if len == 0 {
            return false;
        }
        rest = &fraction[len..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
