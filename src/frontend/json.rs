//! JSON as Xray reads it, into a tree with places.
//!
//! Written by hand because no library does all of what old configs need: comments of three kinds, duplicate keys that
//! merge, a place for every value, several mistakes told in one run, and what was opened where when a bracket is missing.

mod advice;
mod duplicates;
mod literals;

use super::format::Format;
use super::text::{Comment, Parsed, Text};
use crate::shape::{Entry, Kind, Node, Problem, Severity, Value};

/// How deep objects and lists may nest. Real configs stay below 20; the limit keeps recursion off the stack's end.
pub const MAX_DEPTH: usize = 512;

/// After this many mistakes the rest is likely noise.
const MAX_PROBLEMS: usize = 30;

/// Reads a text. `strict` is Xray's `XRAY_JSON_STRICT`: no comments, no trailing commas, nothing behind the value.
#[must_use]
pub fn parse(text: &Text, strict: bool) -> Parsed {
    let mut parser =
        Parser { text, bytes: text.body.as_bytes(), at: 0, strict, path: vec![], comments: vec![], problems: vec![] };
    let root = parser.document().ok();
    let broken = parser.problems.iter().any(|p| p.severity == Severity::Error);
    Parsed { root: root.filter(|_| !broken), comments: parser.comments, problems: parser.problems }
}

/// The text is broken in a way that cannot be read past; the reason was noted.
struct Stop;

type Read<T> = Result<T, Stop>;

/// A step on the way to the current value; keys as the bytes between their quotes.
enum Step {
    Key(usize, usize),
    Index(usize),
}

struct Parser<'t> {
    text: &'t Text,
    bytes: &'t [u8],
    at: usize,
    strict: bool,
    path: Vec<Step>,
    comments: Vec<Comment>,
    problems: Vec<Problem>,
}

impl Parser<'_> {
    /// What else the text is, if its first words cannot be JSON's: the commonest mistake is another language.
    fn stranger(&self) -> Option<(&'static str, &'static str)> {
        let rest = self.text.body.get(self.at..)?;
        let inner = rest.trim_start_matches('[').trim_start();
        match (rest.chars().next()?, Format::of_text(rest)) {
            ('<', _) => Some(("this is a web page, not a configuration", "is the address right?")),
            ('{' | '"' | '\'', _) => None,
            (_, Format::Yaml) => Some(("this is YAML, not JSON", "name the file .yaml, or give -format yaml")),
            (_, Format::Toml) if inner.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Some(("this is TOML, not JSON", "name the file .toml, or give -format toml"))
            }
            _ => None,
        }
    }

    fn document(&mut self) -> Read<Node> {
        self.blanks()?;
        if self.peek().is_none() {
            let message = if self.comments.is_empty() { "the file is empty" } else { "the file holds comments only" };
            return self.fail(0, 0, message, Some("a configuration is an object: { … }"));
        }
        if let Some((what, help)) = self.stranger() {
            return self.fail(self.at, self.at + self.char_len(), what, Some(help));
        }
        let root = self.value()?;
        if root.map().is_none() {
            let what = root.describe(false);
            let (start, end) = (root.span.start as usize, root.span.end as usize);
            let message = format!("a configuration is an object, found {what}");
            self.error(start, end.min(start + 1), message, Some("the outermost brackets are { and }".into()));
        }
        let end = self.at;
        if self.blanks().is_err() {
            // Nothing behind the value is read, an unclosed comment there does no harm.
            if !self.strict {
                self.problems.pop();
            }
        } else if self.peek().is_some() {
            let line = self.text.place(self.offset(end.saturating_sub(1))).line;
            let severity = if self.strict { Severity::Error } else { Severity::Warning };
            let span = self.text.span(self.at, self.at + self.char_len());
            let message = "what follows the end of the configuration is not read";
            let mut problem = self.text.problem(severity, Kind::Syntax, span, message);
            problem.help = Some(format!("the outermost bracket was closed on line {line}"));
            self.problems.push(problem);
        }
        Ok(root)
    }

    fn value(&mut self) -> Read<Node> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => return self.object(),
            Some(b'[') => return self.list(),
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number()?,
            Some(b'\'') => Value::Text(self.single_quoted()?),
            Some(b) if b.is_ascii_alphabetic() || b == b'_' || b == b'$' => self.word()?,
            _ => return self.unexpected("a value"),
        };
        Ok(Node { value, span: self.text.span(start, self.at) })
    }

    fn object(&mut self) -> Read<Node> {
        let open = self.at;
        self.enter()?;
        let mut members = duplicates::Members::new(self.free_keys());
        let mut comma: Option<usize> = None;
        loop {
            self.blanks()?;
            match self.peek() {
                Some(b'}') => break,
                Some(b',') => self.stray_comma()?,
                Some(b'"' | b'\'') => {}
                Some(b) if b.is_ascii_alphanumeric() || b == b'_' || b == b'$' => {}
                _ => return self.mismatch(open, if comma.is_some() { "a key" } else { "a key or `}`" }),
            }
            let key_start = self.at;
            let key = self.object_key()?;
            let key_span = self.text.span(key_start, self.at);
            self.colon(&key)?;
            self.blanks()?;
            self.path.push(Step::Key(key_span.start as usize, key_span.end as usize));
            if self.peek().is_none() || matches!(self.peek(), Some(b',' | b'}' | b']')) {
                return self.unexpected(&format!("the value of `{key}`"));
            }
            let node = self.value()?;
            let mut problems = std::mem::take(&mut self.problems);
            members.add(self.text, Entry { key, key_span, node }, &|| self.path_text(), &mut problems);
            self.problems = problems;
            self.path.pop();
            comma = self.after_member(open, b'}')?;
        }
        self.trailing(comma);
        self.at += 1;
        Ok(Node { value: Value::Map(members.entries), span: self.text.span(open, self.at) })
    }

    fn list(&mut self) -> Read<Node> {
        let open = self.at;
        self.enter()?;
        let mut items = vec![];
        let mut comma: Option<usize> = None;
        loop {
            self.blanks()?;
            match self.peek() {
                Some(b']') => break,
                Some(b',') => self.stray_comma()?,
                Some(b'}') | None => {
                    return self.mismatch(open, if comma.is_some() { "a value" } else { "a value or `]`" });
                }
                _ => {}
            }
            self.path.push(Step::Index(items.len()));
            items.push(self.value()?);
            self.path.pop();
            comma = self.after_member(open, b']')?;
        }
        self.trailing(comma);
        self.at += 1;
        Ok(Node { value: Value::List(items), span: self.text.span(open, self.at) })
    }

    /// Steps over an opening bracket unless it is one too deep.
    fn enter(&mut self) -> Read<()> {
        if self.path.len() >= MAX_DEPTH {
            self.path.truncate(3);
            let message = format!("nested too deeply: more than {MAX_DEPTH} levels");
            return self.fail(self.at, self.at + 1, &message, None);
        }
        self.at += 1;
        Ok(())
    }

    fn object_key(&mut self) -> Read<String> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'\'') => self.single_quoted(),
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'-' | b'.')) {
                    self.at += 1;
                }
                let key = self.slice(start, self.at).to_owned();
                self.error(start, self.at, "a key must stand in double quotes", Some(format!("write \"{key}\"")));
                self.mistakes()?;
                Ok(key)
            }
        }
    }

    fn colon(&mut self, key: &str) -> Read<()> {
        self.blanks()?;
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(b'=') => {
                self.error(self.at, self.at + 1, format!("expected `:` after `{key}`, found `=`"), None);
                self.mistakes()?;
                self.at += 1;
            }
            _ => return self.unexpected(&format!("`:` after `{key}`")),
        }
        Ok(())
    }

    /// Steps over the comma behind a member and returns its place; at the closing bracket there is none. A missing comma
    /// is told where it is missing, and reading goes on.
    fn after_member(&mut self, open: usize, close: u8) -> Read<Option<usize>> {
        let end = self.at;
        self.blanks()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(Some(self.at - 1))
            }
            Some(b) if b == close => Ok(None),
            Some(b) if b == b'"' || (close == b']' && (b == b'{' || b == b'[')) || b.is_ascii_alphanumeric() => {
                let line = self.text.place(self.offset(end)).line;
                let help = format!("put a comma at the end of this value, on line {line}");
                self.error(end.saturating_sub(1), end, "a comma is missing behind this value", Some(help));
                self.mistakes()?;
                Ok(None)
            }
            _ => self.mismatch(open, if close == b'}' { "`,` or `}`" } else { "`,` or `]`" }),
        }
    }

    fn trailing(&mut self, comma: Option<usize>) {
        let Some(at) = comma else { return };
        let severity = if self.strict { Severity::Error } else { Severity::Warning };
        let message = "a comma behind the last member";
        let mut problem = self.text.problem(severity, Kind::Syntax, self.text.span(at, at + 1), message);
        problem.help = Some("it is skipped here; Xray refuses it, so take it out".into());
        problem.path = self.path_text();
        if self.problems.len() < 4 * MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn stray_comma(&mut self) -> Read<()> {
        while self.peek() == Some(b',') {
            self.error(self.at, self.at + 1, "a comma with nothing before it", Some("take it out".into()));
            self.mistakes()?;
            self.at += 1;
            self.blanks()?;
        }
        Ok(())
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b'#') => self.line_comment()?,
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'/') => self.line_comment()?,
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'*') => {
                    let Some(len) = self.text.body[self.at + 2..].find("*/") else {
                        return self.fail(
                            self.at,
                            self.at + 2,
                            "this comment is never closed",
                            Some("close it with */"),
                        );
                    };
                    self.comment(self.at + 2 + len + 2)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn line_comment(&mut self) -> Read<()> {
        let end = self.text.body[self.at..].find('\n').map_or(self.bytes.len(), |n| self.at + n);
        self.comment(end)
    }

    fn comment(&mut self, end: usize) -> Read<()> {
        if self.strict {
            let help = "comments are refused because XRAY_JSON_STRICT is set";
            return self.fail(self.at, end, "a comment in strict JSON", Some(help));
        }
        self.comments.push(self.text.comment(self.at, end));
        self.at = end;
        Ok(())
    }

    // === what goes wrong ===

    /// A bracket or end of file where the member of an open bracket should go on.
    fn mismatch<T>(&mut self, open: usize, expected: &str) -> Read<T> {
        let bracket = self.bytes.get(open).map_or('{', |b| char::from(*b));
        let place = self.text.place(self.offset(open));
        if self.peek().is_none() {
            let last = self.text.place(self.offset(self.bytes.len())).line;
            let help = format!("the file ends on line {last} where {expected} was expected");
            return self.fail(open, open + 1, &format!("this `{bracket}` is never closed"), Some(&help));
        }
        let stop = self.unexpected(expected);
        if let Some(problem) = self.problems.last_mut()
            && problem.help.is_none()
        {
            problem.help = Some(format!("the `{bracket}` was opened at line {}, column {}", place.line, place.column));
        }
        stop
    }

    fn unexpected<T>(&mut self, expected: &str) -> Read<T> {
        let Some(found) = self.text.body[self.at..].chars().next() else {
            let at = self.bytes.len();
            return self.fail(at.saturating_sub(1), at, &format!("expected {expected}, but the file ends here"), None);
        };
        let help = advice::look_alike(found);
        let message = if found.is_control() {
            format!("expected {expected}, found a control character (U+{:04X})", u32::from(found))
        } else {
            format!("expected {expected}, found `{found}`")
        };
        self.fail(self.at, self.at + found.len_utf8(), &message, help.as_deref())
    }

    fn error(&mut self, start: usize, end: usize, message: impl Into<String>, help: Option<String>) {
        let span = self.text.span(start, end);
        let mut problem = self.text.problem(Severity::Error, Kind::Syntax, span, message);
        problem.help = help;
        problem.path = self.path_text();
        self.problems.push(problem);
    }

    fn fail<T>(&mut self, start: usize, end: usize, message: &str, help: Option<&str>) -> Read<T> {
        self.error(start, end, message, help.map(str::to_owned));
        Err(Stop)
    }

    /// Ends the reading when there are too many mistakes.
    fn mistakes(&self) -> Read<()> {
        if self.problems.iter().filter(|p| p.severity == Severity::Error).count() < MAX_PROBLEMS {
            Ok(())
        } else {
            Err(Stop)
        }
    }

    // === small things ===

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.body.get(start..end).unwrap_or_default()
    }

    fn char_len(&self) -> usize {
        self.text.body.get(self.at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    }

    fn offset(&self, at: usize) -> u32 {
        self.text.span(at, at).start
    }

    /// Whether the object that begins here has free keys: maps in Xray, whose keys are compared exactly.
    fn free_keys(&self) -> duplicates::Keys {
        match self.path.last() {
            Some(Step::Key(start, end)) => duplicates::Keys::of(self.slice(*start, *end)),
            _ => duplicates::Keys::Folded,
        }
    }

    /// The path as people read it.
    fn path_text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step {
                Step::Key(start, end) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(self.slice(*start, *end).trim_matches(['"', '\'']));
                }
                Step::Index(n) => text.push_str(&format!("[{n}]")),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
