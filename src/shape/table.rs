//! An opened object while it is read, so that nothing in it goes unnoticed.

use super::field::Field;
use super::node::{Entry, Node, Value};
use super::problem::{Kind, Problem, Severity, nearest};
use super::reader::{Class, Dialect, Reader};

/// The names of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// In our TOML; empty if it has no TOML spelling.
    pub toml: &'static str,
    /// In Xray's JSON, the current name first; empty if it has none.
    pub json: &'static [&'static str],
}

impl Key {
    /// A key of JSON alone.
    #[must_use]
    pub const fn json(names: &'static [&'static str]) -> Self {
        Self { toml: "", json: names }
    }

    /// A key of TOML alone.
    #[must_use]
    pub const fn toml(name: &'static str) -> Self {
        Self { toml: name, json: &[] }
    }

    /// The names in a dialect, the one to write first. Raw identifiers lose their `r#`.
    #[must_use]
    pub fn names(&self, dialect: Dialect) -> Vec<&'static str> {
        match dialect {
            Dialect::Json => self.json.to_vec(),
            Dialect::Toml if self.toml.is_empty() => vec![],
            Dialect::Toml => vec![self.toml.strip_prefix("r#").unwrap_or(self.toml)],
        }
    }
}

/// An object being read. Keys are taken one by one; [`Table::finish`] reports those that nobody took.
pub struct Table<'n> {
    entries: &'n [Entry],
    node: &'n Node,
    used: Vec<bool>,
    told: Vec<bool>,
    known: Vec<&'static str>,
}

impl<'n> Table<'n> {
    /// Opens a node that must be an object; anything else is reported.
    pub fn open(cx: &mut Reader<'_>, node: &'n Node) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => {
                let none = vec![false; entries.len()];
                Some(Self { entries, node, used: none.clone(), told: none, known: vec![] })
            }
            _ if cx.json() => cx.wrong_type(node, "an object"),
            _ => cx.wrong_type(node, "a table"),
        }
    }

    /// The object itself.
    #[must_use]
    pub fn node(&self) -> &'n Node {
        self.node
    }

    /// Takes a key's entry: of several names the first that is there, of repeated keys the last. `null` is absent, and an
    /// empty text gives way to another of the names: clients write it for what they do not use.
    pub fn take(&mut self, cx: &mut Reader<'_>, key: Key) -> Option<&'n Entry> {
        let toml = [key.toml.strip_prefix("r#").unwrap_or(key.toml)];
        let names: &[&'static str] = match cx.dialect {
            Dialect::Json => key.json,
            Dialect::Toml if key.toml.is_empty() => &[],
            Dialect::Toml => &toml,
        };
        for name in names {
            if !self.known.contains(name) {
                self.known.push(name);
            }
        }
        if cx.watched {
            let pattern = cx.pattern();
            cx.asked.extend(names.iter().map(|name| (pattern.clone(), *name)));
        }
        let mut found: Option<&'n Entry> = None;
        for name in names {
            let mut here = None;
            for (n, entry) in self.entries.iter().enumerate() {
                let same = match cx.dialect {
                    Dialect::Json => fold_eq(&entry.key, name),
                    Dialect::Toml => entry.key == *name,
                };
                if same {
                    self.used[n] = true;
                    if !entry.node.is_null() {
                        here = Some(entry);
                    }
                }
            }
            match (found, here) {
                (None, Some(_)) => found = here,
                (Some(first), Some(second)) if first.node.text() == Some("") && !std::ptr::eq(first, second) => {
                    found = here;
                }
                (Some(_), Some(second)) if second.node.text() == Some("") => {}
                (Some(first), Some(second)) if !std::ptr::eq(first, second) => {
                    let why = format!("`{}` is given too and wins", first.key);
                    cx.report(
                        Severity::Warning,
                        Kind::Ignored,
                        second.key_span,
                        format!("`{}` is not used: {why}", second.key),
                    );
                    cx.mark(second.node.span, Class::Dropped, why);
                }
                _ => {}
            }
        }
        found
    }

    /// Reads a key that may be absent.
    pub fn opt<T: Field>(&mut self, cx: &mut Reader<'_>, key: Key) -> Option<T> {
        let entry = self.take(cx, key)?;
        cx.key(&entry.key, |cx| T::read(cx, &entry.node))
    }

    /// Reads a key that must be there; its absence is reported.
    pub fn need<T: Field>(&mut self, cx: &mut Reader<'_>, key: Key) -> Option<T> {
        match self.take(cx, key) {
            Some(entry) => cx.key(&entry.key, |cx| T::read(cx, &entry.node)),
            None => {
                let name = key.names(cx.dialect).first().copied().unwrap_or_default();
                cx.error(self.node, Kind::Missing, format!("missing field `{name}`"));
                None
            }
        }
    }

    /// Takes a key that is known and has no effect here; `why` is told to the user once.
    pub fn ignore(&mut self, cx: &mut Reader<'_>, name: &'static [&'static str], why: &str) {
        if let Some(entry) = self.take(cx, Key::json(name)) {
            cx.key(&entry.key, |cx| {
                cx.report(
                    Severity::Note,
                    Kind::Ignored,
                    entry.key_span,
                    format!("`{}` has no effect: {why}", entry.key),
                );
                cx.mark(entry.node.span, Class::Dropped, why);
            });
        }
    }

    /// The keys nobody has taken yet.
    pub fn rest(&self) -> impl Iterator<Item = &'n Entry> + '_ {
        self.entries.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(entry, _)| entry)
    }

    /// A key's entry as it was written, without taking it.
    #[must_use]
    pub fn peek(&self, dialect: Dialect, key: Key) -> Option<&'n Entry> {
        let names = key.names(dialect);
        let same = |entry: &&Entry| {
            !entry.node.is_null()
                && names
                    .iter()
                    .any(|n| if dialect == Dialect::Json { fold_eq(&entry.key, n) } else { entry.key == **n })
        };
        self.entries.iter().rev().find(same)
    }

    /// Notes that something was already said of a key, so that [`Table::finish`] does not say again that it is unknown.
    pub fn tell(&mut self, name: &str) {
        for (entry, told) in self.entries.iter().zip(&mut self.told) {
            *told |= entry.key.eq_ignore_ascii_case(name);
        }
    }

    /// Whether a key is there and not `null`, without taking it.
    #[must_use]
    pub fn has(&self, dialect: Dialect, key: Key) -> bool {
        self.peek(dialect, key).is_some()
    }

    /// Reports every key that was not taken: a warning in JSON, an error in TOML. `remarks` and keys that begin with
    /// `_` or `$` are notes of people and pass in silence, as do those that are `null`.
    pub fn finish(self, cx: &mut Reader<'_>) {
        let left = self.entries.iter().zip(self.used.iter().zip(&self.told));
        for (entry, told) in left.filter(|(_, (used, _))| !**used).map(|(entry, (_, told))| (entry, *told)) {
            cx.key(&entry.key, |cx| {
                cx.mark(entry.node.span, Class::Unknown, "");
                let quiet = told
                    || entry.key.starts_with(['_', '$'])
                    || entry.key.eq_ignore_ascii_case("remarks")
                    || entry.node.is_null();
                if quiet && cx.json() {
                    return;
                }
                let mut message = format!("unknown field `{}`", entry.key);
                if !cx.json() {
                    message.push_str(&expected(&self.known));
                }
                let severity = if cx.json() { Severity::Warning } else { Severity::Error };
                let problem: &mut Problem = cx.report(severity, Kind::Unknown, entry.key_span, message);
                problem.help =
                    nearest(&entry.key, self.known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
            });
        }
    }
}

/// Serde's list of accepted names.
fn expected(known: &[&str]) -> String {
    match known {
        [] => ", there are no fields".into(),
        [one] => format!(", expected `{one}`"),
        [one, two] => format!(", expected `{one}` or `{two}`"),
        many => format!(", expected one of {}", many.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// Equality of keys as Go's decoder has it: Unicode simple folding, for which lower-casing stands here.
fn fold_eq(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}
