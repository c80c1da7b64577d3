//! TOML text into the tree with places.
//!
//! `toml_edit` parses; this file turns its tables into nodes and finds the comments, which in TOML are simple enough to
//! be found by eye: `#` outside a string.

use std::ops::Range;

use toml_edit::{Array, InlineTable, Item, Key, Table};

use super::text::{Comment, Parsed, Text};
use crate::shape::{Entry, Kind, Node, Problem, Severity, Span, Value};

/// Reads a text.
#[must_use]
pub fn parse(text: &Text) -> Parsed {
    let comments = comments(text);
    let document = match toml_edit::Document::parse(text.body.as_str()) {
        Ok(document) => document,
        Err(error) => return Parsed { root: None, comments, problems: vec![syntax(text, &error)] },
    };
    let mut tree = Tree { text, problems: vec![] };
    let whole = text.span(0, text.body.len());
    let root = Node { value: tree.table(document.as_table(), whole), span: whole };
    let broken = tree.problems.iter().any(|p| p.severity == Severity::Error);
    Parsed { root: Some(root).filter(|_| !broken), comments, problems: tree.problems }
}

struct Tree<'t> {
    text: &'t Text,
    problems: Vec<Problem>,
}

impl Tree<'_> {
    /// `fallback` is the place of a table that has none of its own, such as `a` where only `[a.b]` is written.
    fn table(&mut self, table: &Table, fallback: Span) -> Value {
        let mut entries = vec![];
        for (name, item) in table {
            let key_span = self.key_span(table.key(name), fallback);
            if let Some(node) = self.item(item, key_span) {
                entries.push(Entry { key: name.to_owned(), key_span, node });
            }
        }
        // Tables come in the order of their names' first mention; places give the order of the text.
        entries.sort_by_key(|e| e.key_span.start);
        Value::Map(entries)
    }

    fn item(&mut self, item: &Item, key_span: Span) -> Option<Node> {
        let span = self.span(item.span(), key_span);
        match item {
            Item::None => None,
            Item::Value(value) => self.value(value, key_span),
            Item::Table(table) => Some(Node { value: self.table(table, key_span), span: self.extent(table, span) }),
            Item::ArrayOfTables(tables) => {
                let mut items = vec![];
                for table in tables {
                    let own = self.span(table.span(), key_span);
                    items.push(Node { value: self.table(table, own), span: self.extent(table, own) });
                }
                Some(Node { value: Value::List(items), span })
            }
        }
    }

    fn value(&mut self, value: &toml_edit::Value, key_span: Span) -> Option<Node> {
        let span = self.span(value.span(), key_span);
        let value = match value {
            toml_edit::Value::String(text) => Value::Text(text.value().clone()),
            toml_edit::Value::Integer(n) => Value::Int((*n.value()).into()),
            toml_edit::Value::Float(x) => Value::Float(*x.value()),
            toml_edit::Value::Boolean(b) => Value::Bool(*b.value()),
            toml_edit::Value::Array(array) => self.array(array, key_span),
            toml_edit::Value::InlineTable(table) => self.inline(table, span),
            toml_edit::Value::Datetime(_) => {
                let message = "a date has no meaning in a configuration";
                let mut problem = self.text.problem(Severity::Error, Kind::Type, span, message);
                problem.help = Some("if a text is meant, put it in quotes".into());
                self.problems.push(problem);
                return None;
            }
        };
        Some(Node { value, span })
    }

    fn array(&mut self, array: &Array, key_span: Span) -> Value {
        Value::List(array.iter().filter_map(|value| self.value(value, key_span)).collect())
    }

    fn inline(&mut self, table: &InlineTable, fallback: Span) -> Value {
        let mut entries = vec![];
        for (name, value) in table {
            let key_span = self.key_span(table.key(name), fallback);
            if let Some(node) = self.value(value, key_span) {
                entries.push(Entry { key: name.to_owned(), key_span, node });
            }
        }
        Value::Map(entries)
    }

    fn key_span(&self, key: Option<&Key>, fallback: Span) -> Span {
        self.span(key.and_then(Key::span), fallback)
    }

    /// A table's header; for one that was made by dotted keys, or implied by a deeper header, the key.
    fn extent(&self, table: &Table, span: Span) -> Span {
        if table.is_implicit() || table.is_dotted() { span } else { self.span(table.span(), span) }
    }

    fn span(&self, range: Option<Range<usize>>, fallback: Span) -> Span {
        range.map_or(fallback, |range| self.text.span(range.start, range.end))
    }
}

fn syntax(text: &Text, error: &toml_edit::TomlError) -> Problem {
    let end = text.body.len();
    let range = error.span().unwrap_or(end..end);
    let span = text.span(floor(&text.body, range.start), floor(&text.body, range.end.max(range.start)));
    // The library's message may run over two lines: what is wrong, what was expected.
    let mut lines = error.message().lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("not valid TOML");
    let rest: Vec<_> = lines.collect();
    let help = if rest.is_empty() { advice(text, span) } else { Some(rest.join("; ")) };
    Problem { help, ..text.problem(Severity::Error, Kind::Syntax, span, message) }
}

/// The commonest mistake is another language.
fn advice(text: &Text, span: Span) -> Option<String> {
    let line = text.line(text.place(span.start).line).trim_start();
    if line.starts_with(['{', '"']) && line.contains([':', '{']) {
        return Some("this looks like JSON; name the file .json or give -format json".into());
    }
    line.starts_with("//").then(|| "comments begin with # in TOML".into())
}

/// The nearest beginning of a character.
fn floor(body: &str, at: usize) -> usize {
    let mut at = at.min(body.len());
    while !body.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Every comment: what begins with `#` outside a string.
fn comments(text: &Text) -> Vec<Comment> {
    let body = text.body.as_str();
    let bytes = body.as_bytes();
    let mut found = vec![];
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' => {
                let end = body[at..].find('\n').map_or(body.len(), |n| at + n);
                let end = if bytes.get(end.wrapping_sub(1)) == Some(&b'\r') { end - 1 } else { end };
                found.push(text.comment(at, end));
                at = end.max(at + 1);
            }
            b'"' | b'\'' => at = string_end(bytes, at),
            _ => at += 1,
        }
    }
    found
}

/// The byte behind the string that begins here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes.get(start..start + 3).is_some_and(|q| q.iter().all(|b| *b == quote));
    let mut at = start + if long { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' if quote == b'"' => at += 2,
            b'\n' if !long => return at,
            b if b == quote && !long => return at + 1,
            b if b == quote && bytes[at..].starts_with(&[quote; 3]) => {
                at += 3;
                // Up to two more quotes belong to the text.
                while bytes.get(at) == Some(&quote) {
                    at += 1;
                }
                return at;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Parsed {
        parse(&Text::new(0, "c.toml", body))
    }

    fn cut(body: &str, span: Span) -> &str {
        &body[span.start as usize..span.end as usize]
    }

    #[test]
    fn tables_become_maps_with_places() {
        let body = "[[outbound]]\ntag = \"a\"\nport = 70000\n[outbound.stream.ws]\npath = '/x'\n[route]\nx.y = [1, { z = true }]\n";
        let root = read(body).root.unwrap();
        let root = root.map().unwrap();
        assert_eq!(root.iter().map(|e| e.key.as_str()).collect::<Vec<_>>(), ["outbound", "route"]);
        let first = &root[0].node.list().unwrap()[0];
        assert_eq!(cut(body, first.span), "[[outbound]]");
        let entries = first.map().unwrap();
        assert_eq!((cut(body, entries[1].key_span), cut(body, entries[1].node.span)), ("port", "70000"));
        assert_eq!((entries[2].key.as_str(), cut(body, entries[2].node.span)), ("stream", "stream"));
        let ws = &entries[2].node.map().unwrap()[0];
        assert_eq!(cut(body, ws.node.span), "[outbound.stream.ws]");
        let dotted = &root[1].node.map().unwrap()[0];
        assert_eq!(dotted.node.map().unwrap()[0].node.list().unwrap().len(), 2);
    }

    #[test]
    fn comments_are_found_outside_strings() {
        let body = "# top\na = \"#no\" # yes\nb = '''\n# no\n'''''\nc = \"\"\"\\\"# no\"\"\" # also\r\n";
        let parsed = read(body);
        let texts: Vec<_> = parsed.comments.iter().map(|c| (c.text.as_str(), c.own_line)).collect();
        assert_eq!(texts, [("top", true), ("yes", false), ("also", false)]);
        assert!(parsed.root.is_some(), "{:?}", parsed.problems);
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let body = "a = 1\nb = = 2\n";
        let parsed = read(body);
        let problem = &parsed.problems[0];
        assert!(parsed.root.is_none() && problem.kind == Kind::Syntax);
        assert!((6..14).contains(&problem.span.unwrap().start), "{problem:?}");
        let json = read("{\n \"log\": {}\n}");
        assert!(json.problems[0].help.as_deref().unwrap().contains("JSON"), "{json:?}");
    }

    #[test]
    fn dates_are_refused_and_depth_is_bounded() {
        assert_eq!(read("a = 2020-01-01").problems[0].kind, Kind::Type);
        assert!(read(&format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000))).root.is_none());
        assert!(read(&format!("[{}a]", "a.".repeat(10_000))).root.is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(body in "([a-c\\[\\]{}=.,#'\"\\\\\n \r0-9]|\"\"\"|'''|é){0,60}") {
            let parsed = read(&body);
            for problem in &parsed.problems {
                let span = problem.span.unwrap_or_default();
                prop_assert!(body.get(span.start as usize..span.end as usize).is_some(), "{problem:?}");
            }
            prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
        }
    }
}
