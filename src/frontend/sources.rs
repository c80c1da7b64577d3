//! The files of one configuration, for whoever must show a part of them.

use std::sync::OnceLock;

use super::format::Format;
use super::parse::parse;
use super::text::{Comment, Place, Text};
use crate::shape::{Entry, Node, Span, Value};

/// One file that was read.
#[derive(Debug, Clone)]
pub struct File {
    /// Its text.
    pub text: Text,
    /// Its comments.
    pub comments: Vec<Comment>,
    format: Format,
    strict: bool,
    tree: OnceLock<Option<Node>>,
}

impl File {
    /// A text that was read; `strict` if comments were refused.
    #[must_use]
    pub fn new(text: Text, format: Format, strict: bool, comments: Vec<Comment>) -> Self {
        Self { text, comments, format, strict, tree: OnceLock::new() }
    }

    /// Its tree, unless it is broken. Made when somebody asks: whoever reads a large configuration takes the first tree apart,
    /// and most never need another.
    #[must_use]
    pub fn tree(&self) -> Option<&Node> {
        self.tree.get_or_init(|| parse(&self.text, self.format, self.strict).root).as_ref()
    }

    /// Whether its paths are told as JSON pointers (JSON, YAML) or as TOML keys.
    fn has_pointers(&self) -> bool {
        self.format != Format::Toml
    }
}

/// All files, in the order in which they were given, and what must not be shown of them.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The files; a span's `file` is the place in this list.
    pub files: Vec<File>,
    /// Places of secrets, sorted; none overlaps another.
    secrets: Vec<Span>,
    /// Places that bear a secret's name and hold none.
    shown: Vec<Span>,
}

impl Sources {
    /// The file of a span.
    #[must_use]
    pub fn file(&self, span: Span) -> Option<&File> {
        self.files.get(usize::from(span.file))
    }

    /// Name, line and column of a span's first byte.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<(&str, Place)> {
        self.file(span).map(|file| (file.text.name.as_str(), file.text.place(span.start)))
    }

    /// The first text or key within a span (without one: anywhere) that is meant.
    #[must_use]
    pub fn find(&self, within: Option<Span>, means: &dyn Fn(&str) -> bool) -> Option<Span> {
        let files = self.files.iter().filter_map(File::tree);
        let here = |span: Span| {
            within.is_none_or(|all| span.file == all.file && span.start >= all.start && span.end <= all.end)
        };
        files.into_iter().find_map(|tree| find(tree, &here, means))
    }

    /// The path of what stands at a span as a JSON pointer into its own file; none in TOML files and where the file is
    /// broken.
    #[must_use]
    pub fn pointer(&self, span: Span) -> Option<String> {
        let file = self.file(span).filter(|file| file.has_pointers())?;
        let mut out = String::new();
        let mut node = file.tree()?;
        loop {
            match &node.value {
                Value::Map(entries) => {
                    let Some(entry) = entries.iter().find(|e| covers(e, span)) else { return Some(out) };
                    out.push('/');
                    out.push_str(&entry.key.replace('~', "~0").replace('/', "~1"));
                    node = &entry.node;
                }
                Value::List(items) => {
                    let found =
                        items.iter().enumerate().find(|(_, n)| n.span.start <= span.start && span.end <= n.span.end);
                    let Some((n, item)) = found else { return Some(out) };
                    out.push_str(&format!("/{n}"));
                    node = item;
                }
                _ => return Some(out),
            }
        }
    }

    /// Adds places that may be shown although their keys are called as those of secrets are.
    pub fn show(&mut self, spans: impl IntoIterator<Item = Span>) {
        self.shown.extend(spans);
        let shown = std::mem::take(&mut self.shown);
        self.secrets.retain(|span| !within(&shown, *span));
        self.shown = shown;
    }

    /// Adds places that must not be shown.
    pub fn hide(&mut self, spans: impl IntoIterator<Item = Span>) {
        let spans = spans.into_iter().filter(|span| span.end > span.start && !within(&self.shown, *span));
        self.secrets.extend(spans);
        self.secrets.sort_unstable();
        let mut merged: Vec<Span> = Vec::with_capacity(self.secrets.len());
        for span in self.secrets.drain(..) {
            match merged.last_mut() {
                Some(last) if last.file == span.file && span.start < last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        self.secrets = merged;
    }

    /// The hidden places that touch a span, in order.
    #[must_use]
    pub fn hidden(&self, span: Span) -> &[Span] {
        let before = |s: &Span| (s.file, s.end) <= (span.file, span.start);
        let start = self.secrets.partition_point(before);
        let len = self.secrets[start..].iter().take_while(|s| s.file == span.file && s.start < span.end).count();
        &self.secrets[start..start + len]
    }
}

/// Whether a span lies in one of some places.
fn within(places: &[Span], span: Span) -> bool {
    places.iter().any(|place| place.file == span.file && place.start <= span.start && span.end <= place.end)
}

/// Whether a span lies in an entry, key included.
fn covers(entry: &Entry, span: Span) -> bool {
    let key = entry.key_span.start <= span.start && span.end <= entry.key_span.end;
    key || (entry.node.span.start <= span.start && span.end <= entry.node.span.end)
}

fn find(node: &Node, here: &dyn Fn(Span) -> bool, means: &dyn Fn(&str) -> bool) -> Option<Span> {
    match &node.value {
        // Xray takes several texts in one, parted by commas.
        Value::Text(text) if here(node.span) && text.split(',').any(|word| means(word.trim())) => Some(node.span),
        Value::List(items) => items.iter().find_map(|item| find(item, here, means)),
        Value::Map(entries) => entries.iter().find_map(|entry| {
            let key = (here(entry.key_span) && means(&entry.key)).then_some(entry.key_span);
            key.or_else(|| find(&entry.node, here, means))
        }),
        _ => None,
    }
}

#[cfg(test)]
pub(super) fn of_json(name: &str, body: &str) -> Sources {
    let text = Text::new(0, name, body);
    let parsed = super::json::parse(&text, false);
    let mut sources = Sources::default();
    sources.hide(super::secrets::find(&text));
    sources.files.push(File::new(text, Format::Json, false, parsed.comments));
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span { file: 0, start, end }
    }

    #[test]
    fn pointers_lead_through_lists_and_odd_keys() {
        let body = r#"{"a": [{}, {"x/y~": 5}]}"#;
        let sources = of_json("c", body);
        let at = |text: &str| {
            let start = body.find(text).map_or(0, |n| u32::try_from(n).unwrap_or(0));
            span(start, start + u32::try_from(text.len()).unwrap_or(0))
        };
        assert_eq!(sources.pointer(at("5")).as_deref(), Some("/a/1/x~1y~0"));
        assert_eq!(sources.pointer(at("\"x/y~\"")).as_deref(), Some("/a/1/x~1y~0"));
        assert_eq!(sources.pointer(at("{}")).as_deref(), Some("/a/0"));
        assert_eq!(sources.pointer(span(0, 1)).as_deref(), Some(""));
    }

    #[test]
    fn hidden_places_merge_and_are_found() {
        let mut sources = Sources::default();
        sources.hide([span(5, 9), span(1, 3), span(7, 12), span(20, 20)]);
        assert_eq!(sources.hidden(span(0, 30)), [span(1, 3), span(5, 12)]);
        assert_eq!(sources.hidden(span(3, 5)), []);
        assert_eq!(sources.hidden(span(11, 12)), [span(5, 12)]);
    }
}
