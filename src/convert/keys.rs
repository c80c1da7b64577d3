//! What became of every key of the input.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::frontend::{Change, Loaded, Sources};
use crate::shape::{Class, Mark, Node, Span, Value};

/// One key of the input that holds a value, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// Its file.
    pub file: String,
    /// Line of the value, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The path in its own file.
    pub path: String,
    /// What became of it.
    pub class: Class,
    /// Why, or into what; empty where there is nothing to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Whether it is a note of people (`remarks`, `_comment`), which nothing is lost by.
    #[serde(skip)]
    pub quiet: bool,
    /// The path of the key or table that the class was given to: a dropped table is told once.
    #[serde(skip)]
    pub decided: String,
}

impl KeyReport {
    /// Whether the output says less than the input did.
    #[must_use]
    pub fn lost(&self) -> bool {
        !self.quiet && matches!(self.class, Class::Approximated | Class::Dropped | Class::Unknown)
    }
}

/// Classifies the keys of all files. A key is whatever holds a value: text, number, list of those, empty table. Tables are
/// not counted beside what is in them.
#[must_use]
pub fn classify(loaded: &Loaded, changes: &[Change]) -> Vec<KeyReport> {
    let mut marks: HashMap<Span, Mark> = HashMap::new();
    for mark in &loaded.marks {
        marks.insert(mark.span, mark.clone());
    }
    let changes: HashMap<Span, Mark> = changes
        .iter()
        .filter_map(|change| {
            let mark = Mark { span: change.span?, path: String::new(), class: change.class, why: change.why.clone() };
            Some((mark.span, mark))
        })
        .collect();
    let mut walk =
        Walk { sources: &loaded.sources, marks: &marks, changes: &changes, path: String::new(), keys: vec![] };
    for file in &loaded.sources.files {
        if let Some(tree) = file.tree() {
            walk.node(tree, None, false);
        }
    }
    walk.keys
}

/// Whether a value is taken from the environment when the file is read.
fn from_env(node: &Node) -> bool {
    node.text().is_some_and(|text| text.split(',').any(|part| part.trim().starts_with("env:")))
}

/// The paths of items that a class was given to, each once, with one of its keys.
pub fn decided<'k>(keys: impl IntoIterator<Item = &'k KeyReport>) -> Vec<&'k KeyReport> {
    let mut seen = HashSet::new();
    keys.into_iter().filter(|key| seen.insert((&key.file, &key.decided))).collect()
}

/// The word of a class.
#[must_use]
pub fn word(class: Class) -> &'static str {
    match class {
        Class::Kept => "kept",
        Class::Rewritten => "rewritten",
        Class::Default => "default",
        Class::Approximated => "approximated",
        Class::Dropped => "dropped",
        Class::Unknown => "unknown",
        Class::Invalid => "invalid",
    }
}

/// What is said of a class where the reader gave no reason.
#[must_use]
pub fn usual(class: Class) -> &'static str {
    match class {
        Class::Kept => "as written",
        Class::Rewritten => "in another form",
        Class::Default => "what holds anyway",
        Class::Approximated => "nearly the same",
        Class::Dropped => "without effect",
        Class::Unknown => "read by nobody",
        Class::Invalid => "cannot be read",
    }
}

struct Walk<'l> {
    sources: &'l Sources,
    marks: &'l HashMap<Span, Mark>,
    /// What settling changed; said of an item that was read well, so it goes before the marks of its keys.
    changes: &'l HashMap<Span, Mark>,
    path: String,
    keys: Vec<KeyReport>,
}

impl Walk<'_> {
    /// `above` is the mark of the nearest table or list around that has one.
    fn node(&mut self, node: &Node, above: Option<(&Mark, usize)>, quiet: bool) {
        let before = self.path.len();
        let changed = self.changes.get(&node.span);
        if let Some(mark) = changed.filter(|mark| mark.class == Class::Dropped) {
            return self.dropped(node, mark, quiet);
        }
        let own = changed.filter(|_| node.map().is_none()).or_else(|| self.marks.get(&node.span));
        let around = own.map(|mark| (mark, before)).or(above);
        match &node.value {
            Value::Map(entries) if !entries.is_empty() => {
                for entry in entries {
                    if !self.path.is_empty() {
                        self.path.push('.');
                    }
                    self.path.push_str(&entry.key);
                    let note = entry.key.starts_with(['_', '$']) || entry.key.eq_ignore_ascii_case("remarks");
                    match changed {
                        // An item that changed has another name now.
                        Some(mark) if entry.key.eq_ignore_ascii_case("tag") => {
                            self.leaf(&entry.node, Some((mark, self.path.len())), quiet);
                        }
                        _ => self.node(&entry.node, around, quiet || note),
                    }
                    self.path.truncate(before);
                }
            }
            Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Map(_))) => {
                if items.iter().any(|item| !matches!(item.value, Value::Map(_))) {
                    self.leaf(node, around, quiet);
                }
                for (n, item) in items.iter().enumerate().filter(|(_, item)| matches!(item.value, Value::Map(_))) {
                    self.path.push_str(&format!("[{n}]"));
                    self.node(item, around, quiet);
                    self.path.truncate(before);
                }
            }
            _ => self.leaf(node, around, quiet),
        }
    }

    /// An item of which nothing is left, whatever its keys were read as.
    fn dropped(&mut self, node: &Node, mark: &Mark, quiet: bool) {
        let (none, before) = (HashMap::new(), self.path.clone());
        let mut inner = Walk { sources: self.sources, marks: &none, changes: &none, path: before, keys: vec![] };
        inner.node(node, Some((mark, self.path.len())), quiet);
        self.keys.append(&mut inner.keys);
    }

    fn leaf(&mut self, node: &Node, mark: Option<(&Mark, usize)>, quiet: bool) {
        let Some((file, place)) = self.sources.place(node.span) else { return };
        let (class, why, decided) = match mark {
            _ if node.is_null() => {
                (Class::Default, "null is the same as leaving the key out".to_owned(), self.path.len())
            }
            Some((Mark { class: Class::Kept | Class::Default, .. }, _)) | None if from_env(node) => {
                (Class::Approximated, "written is the value that the variable has now".to_owned(), self.path.len())
            }
            Some((mark, decided)) => (mark.class, mark.why.clone(), decided),
            None => (Class::Kept, String::new(), self.path.len()),
        };
        self.keys.push(KeyReport {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            path: self.path.clone(),
            class,
            why,
            quiet,
            decided: self.path[..decided].to_owned(),
        });
    }
}
