//! Plain values to TOML text: stable order, comments above the item they were written for.
//!
//! The text is laid out by hand and only keys and leaves are spelt by `toml_edit`, because where a table stands in its own
//! section and where it stands in one line is a choice about readers, not about TOML.

use crate::shape::{Plain, PlainMap, Span};

/// A comment on its way out, and the item it goes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The item, by the place it was read from; absent: the file itself.
    pub item: Option<Span>,
    /// Whether it stands above the item, or behind it.
    pub above: bool,
    /// What it says; may have several lines.
    pub text: String,
}

/// The longest line that a list or small table may fill before it is broken up.
const WIDTH: usize = 100;

/// Writes a document.
#[must_use]
pub fn emit(root: &PlainMap, notes: &[Note]) -> String {
    let mut out = Emitter { text: String::new(), notes };
    out.write_notes(|n| n.item.is_none() && n.above, "");
    if !out.text.is_empty() {
        out.text.push('\n');
    }
    out.body(root, &mut vec![]);
    // Comments behind the last item and those of the end are one block, as they are when this text is read again.
    if !out.text.lines().next_back().is_some_and(|line| line.starts_with('#')) {
        out.gap();
    }
    out.write_notes(|n| n.item.is_none() && !n.above, "");
    let mut text = out.text.trim_end().to_owned();
    text.push('\n');
    text
}

/// One value in one line, as it stands behind `=`.
#[must_use]
pub fn inline(value: &Plain) -> String {
    match value {
        Plain::Bool(b) => b.to_string(),
        Plain::Int(n) => n.to_string(),
        Plain::Float(x) => toml_edit::Value::from(*x).to_string(),
        Plain::Text(text) => string(text),
        Plain::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Plain::Map(map) if map.is_empty() => "{}".into(),
        Plain::Map(map) => {
            let pairs = map.entries.iter().map(|(k, v)| format!("{} = {}", key(k), inline(v)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

struct Emitter<'n> {
    text: String,
    notes: &'n [Note],
}

impl Emitter<'_> {
    /// The keys of one table: first what stands in lines of its own, then what opens sections.
    fn body(&mut self, map: &PlainMap, path: &mut Vec<String>) {
        let (sections, lines): (Vec<_>, Vec<_>) = map.entries.iter().partition(|(k, v)| is_section(path, k, v));
        for (name, value) in lines {
            self.line(name, value);
        }
        for (name, value) in sections {
            path.push(key(name));
            match value {
                Plain::Map(table) => self.section(table, path),
                Plain::List(items) => self.sections(items, path),
                _ => {}
            }
            path.pop();
        }
    }

    fn section(&mut self, table: &PlainMap, path: &mut Vec<String>) {
        // A table that holds nothing but tables needs no header of its own.
        let bare = !table.is_empty() && table.entries.iter().all(|(k, v)| is_section(path, k, v));
        if !bare || self.noted(table.from) {
            self.gap();
            self.notes_of(table.from, true);
            self.text.push_str(&format!("[{}]\n", path.join(".")));
        }
        self.body(table, path);
        self.after(table.from);
    }

    fn sections(&mut self, items: &[Plain], path: &mut Vec<String>) {
        for item in items {
            let Plain::Map(table) = item else { continue };
            self.gap();
            self.notes_of(table.from, true);
            self.text.push_str(&format!("[[{}]]\n", path.join(".")));
            self.body(table, path);
            self.after(table.from);
        }
    }

    fn line(&mut self, name: &str, value: &Plain) {
        let (name, flat) = (key(name), inline(value));
        let long = name.len() + flat.chars().count() + 3 > WIDTH || flat.contains('\n');
        match value {
            // Small tables in a list are a table to the eye, too: one a line.
            Plain::List(items) if !items.is_empty() && (long || items.iter().any(|i| matches!(i, Plain::Map(_)))) => {
                self.text.push_str(&format!("{name} = [\n"));
                for item in items {
                    let from = if let Plain::Map(map) = item { map.from } else { None };
                    self.notes_in(from, true, "  ");
                    self.text.push_str(&format!("  {},\n", inline(item)));
                    self.notes_in(from, false, "  ");
                }
                self.text.push_str("]\n");
            }
            _ => self.text.push_str(&format!("{name} = {flat}\n")),
        }
    }

    /// An empty line, unless this is the beginning or there is one.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn after(&mut self, item: Option<Span>) {
        if item.is_some() && self.notes.iter().any(|n| n.item == item && !n.above) {
            self.gap();
            self.notes_of(item, false);
        }
    }

    fn noted(&self, item: Option<Span>) -> bool {
        item.is_some() && self.notes.iter().any(|n| n.item == item && n.above)
    }

    fn notes_of(&mut self, item: Option<Span>, above: bool) {
        self.notes_in(item, above, "");
    }

    fn notes_in(&mut self, item: Option<Span>, above: bool, indent: &str) {
        if item.is_some() {
            self.write_notes(|n| n.item == item && n.above == above, indent);
        }
    }

    fn write_notes(&mut self, which: impl Fn(&Note) -> bool, indent: &str) {
        for note in self.notes.iter().filter(|n| which(n)) {
            for line in note.text.lines() {
                // TOML forbids control characters even in comments.
                let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                self.text.push_str(format!("{indent}# {}", line.trim()).trim_end());
                self.text.push('\n');
            }
        }
    }
}

/// Whether a value opens sections of its own. Tables do; so do lists of tables, unless each is small enough to be read in
/// one line.
fn is_section(path: &[String], name: &str, value: &Plain) -> bool {
    match value {
        Plain::Map(_) => true,
        Plain::List(items) => {
            let tables = !items.is_empty() && items.iter().all(|item| matches!(item, Plain::Map(_)));
            let small = items.iter().all(|item| is_small(item) && inline(item).chars().count() + 3 <= WIDTH);
            tables && (path.is_empty() || (path == ["route"] && name == "rule") || !small)
        }
        _ => false,
    }
}

fn is_small(item: &Plain) -> bool {
    match item {
        Plain::Map(map) => map.entries.iter().all(|(_, v)| match v {
            Plain::Map(_) => false,
            Plain::List(items) => items.iter().all(|i| !matches!(i, Plain::Map(_) | Plain::List(_))),
            _ => true,
        }),
        _ => true,
    }
}

fn key(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}

fn string(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontend::text::Text;
    use crate::frontend::tomltree;
    use crate::shape::{Node, Value};

    fn map(entries: Vec<(&str, Plain)>) -> PlainMap {
        PlainMap { entries: entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(), from: None }
    }

    fn plain_of(node: &Node) -> Plain {
        match &node.value {
            Value::Null => unreachable!("TOML has none"),
            Value::Bool(b) => Plain::Bool(*b),
            Value::Int(n) => Plain::Int(*n),
            Value::Float(x) => Plain::Float(*x),
            Value::Text(t) => Plain::Text(t.clone()),
            Value::List(items) => Plain::List(items.iter().map(plain_of).collect()),
            Value::Map(entries) => map(entries.iter().map(|e| (e.key.as_str(), plain_of(&e.node))).collect()).into(),
        }
    }

    /// Order within tables is the emitter's, so it does not count here.
    fn sorted(plain: Plain) -> Plain {
        match plain {
            Plain::Map(mut map) => {
                map.from = None;
                map.entries.sort_by(|a, b| a.0.cmp(&b.0));
                map.entries = map.entries.into_iter().map(|(k, v)| (k, sorted(v))).collect();
                Plain::Map(map)
            }
            Plain::List(items) => Plain::List(items.into_iter().map(sorted).collect()),
            other => other,
        }
    }

    fn read(text: &str) -> Plain {
        let parsed = tomltree::parse(&Text::new(0, "c.toml", text));
        assert!(parsed.problems.is_empty(), "{:?}\n{text}", parsed.problems);
        plain_of(&parsed.root.unwrap())
    }

    #[test]
    fn a_document_looks_as_people_write_it() {
        let item = Span { file: 0, start: 10, end: 20 };
        let mut outbound = map(vec![
            ("tag", "a".into()),
            ("stream", map(vec![("ws", map(vec![("path", "/x".into())]).into()), ("network", "ws".into())]).into()),
            ("settings", map(vec![("users", vec![map(vec![("id", "x".into())]).into()].into())]).into()),
        ]);
        outbound.from = Some(item);
        let rule = map(vec![("outbound", "a".into()), ("cidr", vec!["10.0.0.0/8".into()].into())]);
        let root = map(vec![
            ("log", map(vec![("level", "info".into())]).into()),
            ("outbound", vec![outbound.into()].into()),
            ("route", map(vec![("rule", vec![rule.into()].into())]).into()),
        ]);
        let note = |item, above, text: &str| Note { item, above, text: text.into() };
        let notes =
            [note(None, true, "top"), note(Some(item), true, "two\nlines\u{1}"), note(Some(item), false, "behind")];
        let want = r#"# top

[log]
level = "info"

# two
# lines
[[outbound]]
tag = "a"

[outbound.stream]
network = "ws"

[outbound.stream.ws]
path = "/x"

[outbound.settings]
users = [
  { id = "x" },
]

# behind

[[route.rule]]
outbound = "a"
cidr = ["10.0.0.0/8"]
"#;
        let text = emit(&root, &notes);
        assert_eq!(text, want);
        assert_eq!(sorted(read(&text)), sorted(root.into()));
    }

    fn plain() -> impl Strategy<Value = Plain> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Plain::Bool),
            any::<i64>().prop_map(|n| Plain::Int(n.into())),
            any::<f64>().prop_filter("JSON has no others", |x| x.is_finite()).prop_map(Plain::Float),
            ".{0,12}|[\\x00-\\x20'\"\\\\]{0,8}".prop_map(Plain::Text),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Plain::List),
                prop::collection::btree_map("[a-c é.\"]{0,3}", inner, 0..4)
                    .prop_map(|m| Plain::Map(PlainMap { entries: m.into_iter().collect(), from: None })),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_reads_back(entries in prop::collection::btree_map("[a-c é.\"\\n]{0,3}", plain(), 0..5)) {
            let root = PlainMap { entries: entries.into_iter().collect(), from: None };
            let text = emit(&root, &[]);
            prop_assert_eq!(sorted(read(&text)), sorted(root.into()));
        }
    }
}
