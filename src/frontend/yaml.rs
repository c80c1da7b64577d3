//! YAML as Xray reads it, into the tree with places.
//!
//! Xray turns YAML into JSON with a reader of YAML 1.1 and goes on from there, so bare `yes` is true and `0755` is 493
//! here too. The events of the parser below `serde-saphyr` are used, because serde loses what those rules need: whether a
//! scalar stood in quotes, and where.

mod scalars;

use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScanError, Tag};

use super::text::{Parsed, Text};
use crate::shape::{Entry, Kind, Node, Problem, Severity, Span, Value};

/// How many nodes aliases may copy in all; a few lines can otherwise stand for billions.
const MAX_COPIED: usize = 200_000;

/// Reads the first document of a text.
#[must_use]
pub fn parse(text: &Text) -> Parsed {
    let mut options = Options::default();
    // Whole servers stand commented out in real files.
    options.max_buffered_comment_events = 100_000;
    let mut builder = Builder { text, out: Parsed::default(), open: vec![], anchors: HashMap::new(), copied: 0 };
    for event in Parser::new_from_str_with_options(&text.body, options) {
        match event {
            Ok((Event::DocumentEnd | Event::StreamEnd, _)) if builder.out.root.is_some() => break,
            Ok((event, span)) => {
                let span = span.byte_range().map_or_else(Span::default, |r| text.span(r.start, r.end));
                if builder.event(event, span).is_none() {
                    break;
                }
            }
            Err(error) => {
                builder.syntax(&error);
                break;
            }
        }
    }
    let mut out = builder.out;
    if out.root.as_ref().is_none_or(Node::is_null) && out.problems.is_empty() {
        out.problems.push(text.problem(Severity::Error, Kind::Syntax, text.span(0, 0), "the file is empty"));
    } else if let Some(root) = out.root.as_ref().filter(|root| root.map().is_none()) {
        let message = format!("a configuration is a mapping, found {}", root.describe(false));
        out.problems.push(text.problem(Severity::Error, Kind::Syntax, text.span(0, 0), message));
    }
    if out.problems.iter().any(|p| p.severity == Severity::Error) {
        out.root = None;
    }
    out
}

/// A list or map that is not closed yet.
struct Open {
    value: Value,
    start: u32,
    anchor: usize,
    /// The key whose value comes next.
    key: Option<(String, Span)>,
}

struct Builder<'t> {
    text: &'t Text,
    out: Parsed,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    copied: usize,
}

impl Builder<'_> {
    /// Takes one event; nothing comes back when reading must stop.
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        match event {
            Event::Comment(..) => {
                self.out.comments.push(self.text.comment(span.start as usize, span.end as usize));
                Some(())
            }
            Event::Scalar(raw, style, anchor, tag) => {
                let tag = tag.as_ref().and_then(|tag| Tag::core_suffix(tag));
                let value = scalars::resolve(&raw, style, tag);
                if self.wants_key() {
                    return self.key(raw.into_owned(), &value, span);
                }
                self.put(Node { value, span }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Value::List(vec![]), anchor, span),
            Event::MappingStart(_, anchor, _) => self.begin(Value::Map(vec![]), anchor, span),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop()?;
                let span = Span { start: open.start, end: span.end.max(open.start), ..span };
                let value = match open.value {
                    Value::Map(entries) => Value::Map(self.settle(entries)),
                    other => other,
                };
                self.put(Node { value, span }, open.anchor)
            }
            Event::Alias(id) => {
                let (node, size) = self.anchors.get(&id)?.clone();
                self.copied += size;
                if self.copied > MAX_COPIED {
                    return self.fail(span, "the aliases of this file stand for too much text");
                }
                if self.wants_key() {
                    let key = node.text().unwrap_or_default().to_owned();
                    return self.key(key, &node.value, span);
                }
                self.put(node, 0)
            }
            _ => Some(()),
        }
    }

    fn wants_key(&self) -> bool {
        self.open.last().is_some_and(|open| matches!(open.value, Value::Map(_)) && open.key.is_none())
    }

    /// Keys are texts in the end, whatever they were read as.
    fn key(&mut self, raw: String, value: &Value, span: Span) -> Option<()> {
        let key = match value {
            Value::Text(text) => text.clone(),
            Value::Bool(b) => b.to_string(),
            Value::Int(n) => n.to_string(),
            _ => raw,
        };
        self.open.last_mut()?.key = Some((key, span));
        Some(())
    }

    fn begin(&mut self, value: Value, anchor: usize, span: Span) -> Option<()> {
        if self.wants_key() {
            return self.fail(span, "a key must be a text");
        }
        self.open.push(Open { value, start: span.start, anchor, key: None });
        Some(())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Option<()> {
        if anchor != 0 {
            let size = size(&node);
            self.copied += size;
            if self.copied > 10 * MAX_COPIED {
                return self.fail(node.span, "the anchors of this file hold too much text");
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            None => self.out.root = Some(node),
            Some(Open { value: Value::List(items), .. }) => items.push(node),
            Some(Open { value: Value::Map(entries), key, .. }) => {
                let (key, key_span) = key.take()?;
                entries.push(Entry { key, key_span, node });
            }
            Some(_) => {}
        }
        Some(())
    }

    /// Merge keys are put in; of equal keys the last stays.
    fn settle(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut out: Vec<Entry> = vec![];
        let mut merged = vec![];
        for entry in entries {
            if entry.key == "<<" {
                match entry.node.value {
                    Value::Map(more) => merged.extend(more),
                    Value::List(items) => merged.extend(items.into_iter().filter_map(into_map).flatten()),
                    _ => {}
                }
                continue;
            }
            let Some(first) = places.get(&entry.key).and_then(|n| out.get_mut(*n)) else {
                places.insert(entry.key.clone(), out.len());
                out.push(entry);
                continue;
            };
            let (a, b) = (self.text.place(first.key_span.start).line, self.text.place(entry.key_span.start).line);
            let message = format!("`{}` is written twice, on line {a} and on line {b}: the last one counts", entry.key);
            let problem = self.text.problem(Severity::Warning, Kind::Conflict, entry.key_span, message);
            self.out.problems.push(problem);
            *first = entry;
        }
        for entry in merged {
            if !places.contains_key(&entry.key) {
                places.insert(entry.key.clone(), out.len());
                out.push(entry);
            }
        }
        out
    }

    fn syntax(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or_default().min(self.text.body.len());
        let end = self.text.body[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        let span = self.text.span(at, end);
        let mut problem = self.text.problem(Severity::Error, Kind::Syntax, span, error.info());
        let line = self.text.line(self.text.place(span.start).line);
        if line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
            problem.help = Some("YAML is indented with blanks, never with tabs".into());
        }
        self.out.problems.push(problem);
    }

    fn fail(&mut self, span: Span, message: &str) -> Option<()> {
        let problem: Problem = self.text.problem(Severity::Error, Kind::Syntax, span, message);
        self.out.problems.push(problem);
        None
    }
}

fn into_map(node: Node) -> Option<Vec<Entry>> {
    match node.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    }
}

/// How many nodes a tree has.
fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|e| size(&e.node)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
