//! Comments travel with their item.
//!
//! A comment belongs to the value it stands beside, else to the value below it, else to the one above; and the value
//! belongs to the item of the draft that it became a part of. What has no item goes to the head of the file.

use crate::frontend::{Comment, File, Note, Text};
use crate::shape::{Node, Plain, PlainMap, Span, Value};

/// The comments of a file as notes on the items of an output.
#[must_use]
pub fn notes(file: &File, output: &PlainMap) -> Vec<Note> {
    let mut anchors = vec![];
    collect(output, &mut anchors);
    let Some(tree) = file.tree() else { return vec![] };
    let root = Hull::of(tree);
    let anchors = anchors.into_iter().filter(|span| span.file == file.text.file).map(|span| {
        let around = root.find(span).map_or((span.start, span.end), |hull| (hull.start, hull.end));
        Anchor { span, start: around.0, end: around.1 }
    });
    let finder = Finder { text: &file.text, root: &root, anchors: anchors.collect() };
    file.comments.iter().filter(|c| !c.text.is_empty()).map(|comment| finder.note(comment, &file.comments)).collect()
}

/// The places of all items of an output.
fn collect(map: &PlainMap, out: &mut Vec<Span>) {
    out.extend(map.from);
    for (_, value) in &map.entries {
        collect_value(value, out);
    }
}

fn collect_value(value: &Plain, out: &mut Vec<Span>) {
    match value {
        Plain::Map(map) => collect(map, out),
        Plain::List(items) => items.iter().for_each(|item| collect_value(item, out)),
        _ => {}
    }
}

/// A value with everything in it. A TOML table's own place is its header alone, so places of members count.
struct Hull {
    own: Span,
    start: u32,
    end: u32,
    members: Vec<Self>,
}

impl Hull {
    fn of(node: &Node) -> Self {
        let members: Vec<Self> = match &node.value {
            Value::Map(entries) => entries
                .iter()
                .map(|entry| {
                    let mut member = Self::of(&entry.node);
                    member.start = member.start.min(entry.key_span.start);
                    member
                })
                .collect(),
            Value::List(items) => items.iter().map(Self::of).collect(),
            _ => vec![],
        };
        let start = members.iter().map(|m| m.start).fold(node.span.start, u32::min);
        let end = members.iter().map(|m| m.end).fold(node.span.end, u32::max);
        Self { own: node.span, start, end, members }
    }

    fn find(&self, span: Span) -> Option<&Self> {
        if self.own == span {
            return Some(self);
        }
        self.members.iter().filter(|m| m.start <= span.start && span.end <= m.end).find_map(|m| m.find(span))
    }

    /// The innermost value around a comment.
    fn around(&self, comment: &Comment) -> &Self {
        let inner = self.members.iter().find(|m| m.start < comment.span.start && comment.span.end <= m.end);
        inner.map_or(self, |inner| inner.around(comment))
    }
}

struct Anchor {
    span: Span,
    start: u32,
    end: u32,
}

struct Finder<'f> {
    text: &'f Text,
    root: &'f Hull,
    anchors: Vec<Anchor>,
}

impl Finder<'_> {
    fn note(&self, comment: &Comment, all: &[Comment]) -> Note {
        let (item, above) = self.item(comment, all);
        Note { item, above, text: comment.text.clone() }
    }

    fn item(&self, comment: &Comment, all: &[Comment]) -> (Option<Span>, bool) {
        let at = comment.span;
        if at.end <= self.root.own.start || self.is_head(comment, all) {
            return (None, true);
        }
        if at.start >= self.root.own.end {
            return (None, false);
        }
        let around = self.root.around(comment);
        let before = around.members.iter().filter(|m| m.end <= at.start).max_by_key(|m| m.end);
        let after = around.members.iter().filter(|m| m.start >= at.end).min_by_key(|m| m.start);
        let beside = before.filter(|m| !comment.own_line && self.line(m.end) == self.line(at.start));
        let apart = before.is_some() && comment.own_line && after.is_some_and(|m| self.is_apart(comment, m.start, all));
        if let Some(value) = beside.or_else(|| after.filter(|_| !apart)) {
            return (self.anchor(value, true).or_else(|| self.anchor(around, true)), true);
        }
        match before {
            // Behind the last member of a list: the item itself, not a part of one.
            Some(value) => {
                let item = self.anchor(value, false);
                let whole = item.is_some_and(|span| value.find(span).is_some());
                (item.or_else(|| self.anchor(around, true)), !whole)
            }
            None => (self.anchor(around, true), true),
        }
    }

    /// Whether an empty line stands between a comment, with those that follow it at once, and what comes next.
    fn is_apart(&self, comment: &Comment, next: u32, all: &[Comment]) -> bool {
        let mut line = self.line(comment.span.end);
        // Comments stand in the order of the file: only those between are looked at.
        let later = all.partition_point(|c| c.span.start <= comment.span.start);
        for other in all.iter().skip(later).take_while(|c| c.span.end <= next) {
            if self.line(other.span.start) > line + 1 {
                return true;
            }
            line = self.line(other.span.end);
        }
        self.line(next) > line + 1
    }

    /// Comments on the first lines of a file, apart from what follows by an empty line, are the file's.
    fn is_head(&self, comment: &Comment, all: &[Comment]) -> bool {
        let first = self.root.members.iter().map(|m| m.start).min().unwrap_or(self.root.end);
        comment.span.end <= first && !self.is_inside_braces(comment) && self.is_apart(comment, first, all)
    }

    /// In JSON and YAML flow style the root begins with a bracket; what stands behind it belongs to the members.
    fn is_inside_braces(&self, comment: &Comment) -> bool {
        let start = self.root.own.start as usize;
        self.text.body.get(start..=start) == Some("{") && comment.span.start as usize > start
    }

    fn line(&self, at: u32) -> usize {
        self.text.place(at).line
    }

    /// The item that a value is, or is in; else the first (or last) one in it.
    fn anchor(&self, value: &Hull, first: bool) -> Option<Span> {
        let outer = self.anchors.iter().filter(|a| a.start <= value.start && value.end <= a.end);
        let outer = outer.min_by_key(|a| a.end - a.start);
        let mut inner: Vec<&Anchor> =
            self.anchors.iter().filter(|a| value.start <= a.start && a.end <= value.end).collect();
        inner.sort_by_key(|a| (a.start, std::cmp::Reverse(a.end)));
        outer.or_else(|| if first { inner.first().copied() } else { inner.last().copied() }).map(|a| a.span)
    }
}
