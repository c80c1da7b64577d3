//! Keys that are written twice.
//!
//! Go decodes a second object *into* the first, so `"log"` twice merges field by field; scalars and lists are replaced.
//! Doing the same in the tree means that no reader above has to know. Two kinds of object differ: maps, whose keys are
//! compared exactly, and parts that Xray keeps as raw text at first, which are replaced whole.

use std::collections::HashMap;

use super::super::text::Text;
use crate::shape::{Entry, Kind, Node, Problem, Severity, Value};

/// How the keys of an object compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Fields of a struct: in any letter case.
    Folded,
    /// Keys of a map: exactly.
    Exact,
}

/// Parts of Xray's schema that are maps.
const MAPS: &[&str] = &["attrs", "env", "headers", "hosts", "levels", "portmap"];

/// Parts that Xray reads from raw text, where the last one counts.
const REPLACED: &[&str] = &["extra", "fakedns", "header", "settings"];

/// More warnings of one kind than anybody reads.
const MAX_TOLD: usize = 100;

/// Objects up to this size are searched one by one.
const SMALL: usize = 12;

impl Keys {
    /// By the name of the key, quotes included, that holds the object.
    pub(super) fn of(key: &str) -> Self {
        let key = key.trim_matches(['"', '\'']);
        if MAPS.iter().any(|m| m.eq_ignore_ascii_case(key)) { Self::Exact } else { Self::Folded }
    }

    fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            Self::Folded => a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase()),
        }
    }

    fn normal(self, key: &str) -> String {
        if self == Self::Exact { key.to_owned() } else { key.to_lowercase() }
    }
}

/// The members of an object that is being read.
pub(super) struct Members {
    pub(super) entries: Vec<Entry>,
    keys: Keys,
    /// Only for large objects.
    index: Option<HashMap<String, usize>>,
}

impl Members {
    pub(super) fn new(keys: Keys) -> Self {
        Self { entries: vec![], keys, index: None }
    }

    /// Puts an entry behind the others, or into the one that has its key.
    pub(super) fn add(&mut self, text: &Text, entry: Entry, path: &dyn Fn() -> String, problems: &mut Vec<Problem>) {
        let found = self.find(&entry.key);
        let Some(first) = found.and_then(|n| self.entries.get_mut(n)) else {
            if let Some(index) = &mut self.index {
                index.insert(self.keys.normal(&entry.key), self.entries.len());
            }
            self.entries.push(entry);
            return;
        };
        if problems.len() < MAX_TOLD {
            problems.push(told(text, first, &entry, path()));
        }
        let keys = Keys::of(&entry.key);
        merge(first, entry, keys);
    }

    fn find(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() <= SMALL {
            return self.entries.iter().position(|e| self.keys.same(&e.key, key));
        }
        let (keys, entries) = (self.keys, &self.entries);
        let all = || entries.iter().enumerate().map(|(n, e)| (keys.normal(&e.key), n)).collect();
        self.index.get_or_insert_with(all).get(&keys.normal(key)).copied()
    }
}

/// What the user is told of a repeated key.
fn told(text: &Text, first: &Entry, second: &Entry, path: String) -> Problem {
    let (a, b) = (text.place(first.key_span.start).line, text.place(second.key_span.start).line);
    let what = if merges(first, second) { "the two objects are merged" } else { "the last one counts" };
    let message = format!("`{}` is written twice, on line {a} and on line {b}: {what}", second.key);
    Problem { path, ..text.problem(Severity::Warning, Kind::Conflict, second.key_span, message) }
}

fn merges(first: &Entry, second: &Entry) -> bool {
    first.node.map().is_some()
        && second.node.map().is_some()
        && !REPLACED.iter().any(|name| name.eq_ignore_ascii_case(&second.key))
}

/// Puts the second value into the first as Go's decoder does.
fn merge(first: &mut Entry, second: Entry, keys: Keys) {
    if merges(first, &second) {
        if let (Value::Map(into), Value::Map(from)) = (&mut first.node.value, second.node.value) {
            merge_maps(into, from, keys);
        }
    } else if !(second.node.is_null() && scalar(&first.node)) {
        // A later null empties lists and objects and leaves scalars alone.
        *first = second;
    }
}

fn merge_maps(into: &mut Vec<Entry>, from: Vec<Entry>, keys: Keys) {
    let mut places: HashMap<String, usize> = into.iter().enumerate().map(|(n, e)| (keys.normal(&e.key), n)).collect();
    for entry in from {
        let normal = keys.normal(&entry.key);
        match places.get(&normal).and_then(|n| into.get_mut(*n)) {
            Some(first) => {
                let keys = Keys::of(&entry.key);
                merge(first, entry, keys);
            }
            None => {
                places.insert(normal, into.len());
                into.push(entry);
            }
        }
    }
}

fn scalar(node: &Node) -> bool {
    !matches!(node.value, Value::List(_) | Value::Map(_))
}
