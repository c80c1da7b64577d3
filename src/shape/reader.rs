//! The state of one reading: dialect, path, findings, and what became of every key.

use super::node::{Node, Span, Spot};
use super::problem::{Kind, Problem, Severity};

/// Whose rules a tree is read by. YAML, and Xray's schema in TOML, are read as [`Dialect::Json`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Xray's: keys match in any letter case, `null` is absent, unknown keys are warnings.
    Json,
    /// Ours: exact keys, unknown keys are errors, serde's words.
    Toml,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seg {
    /// A key, as written.
    Key(String),
    /// A place in a list.
    Index(usize),
}

/// What became of a key on its way into the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// In the draft as written.
    Kept,
    /// In the draft under another name or in another form.
    Rewritten,
    /// Says what is the default anyway.
    Default,
    /// In the draft with nearly the same meaning.
    Approximated,
    /// Read and without a place in the draft; the reason is noted.
    Dropped,
    /// Nobody reads it.
    Unknown,
    /// Could not be read.
    Invalid,
}

/// The class of one key, with its place and, where there is something to say, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The bytes of the value.
    pub span: Span,
    /// The path as people read it.
    pub path: String,
    /// What became of it.
    pub class: Class,
    /// Why, or into what.
    pub why: String,
}

/// Reads one tree. Findings are gathered, never returned early, so that the user sees all of them at once.
pub struct Reader<'e> {
    /// Whose rules apply.
    pub dialect: Dialect,
    /// Everything found so far.
    pub problems: Vec<Problem>,
    /// What became of the keys so far; the last mark of a span counts.
    pub marks: Vec<Mark>,
    /// Places whose text must not be shown.
    pub secrets: Vec<Span>,
    /// Places whose keys are called as those of secrets are, and whose text may be shown.
    pub shown: Vec<Span>,
    /// Every key name asked for, with the path of its table (list places as `[]`); schemas are checked against it.
    /// Kept only by a reader that is [`watched`](Self::watched): in a large file it is far more than the file.
    pub asked: Vec<(String, &'static str)>,
    /// Whether `asked` is kept.
    pub watched: bool,
    env: &'e dyn Fn(&str) -> Option<String>,
    path: Vec<Seg>,
}

impl<'e> Reader<'e> {
    /// A reader of one dialect; `env` answers `env:NAME`.
    #[must_use]
    pub fn new(dialect: Dialect, env: &'e dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            dialect,
            problems: vec![],
            marks: vec![],
            secrets: vec![],
            shown: vec![],
            asked: vec![],
            watched: false,
            env,
            path: vec![],
        }
    }

    /// Whether Xray's rules apply.
    #[must_use]
    pub fn json(&self) -> bool {
        self.dialect == Dialect::Json
    }

    /// Runs `f` one step further down.
    pub fn within<T>(&mut self, seg: Seg, f: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(seg);
        let out = f(self);
        self.path.pop();
        out
    }

    /// Runs `f` at a key.
    pub fn key<T>(&mut self, key: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        self.within(Seg::Key(key.to_owned()), f)
    }

    /// Runs `f` at a key that stands beside the present one.
    pub fn beside<T>(&mut self, key: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        let here = self.path.pop();
        let out = self.key(key, f);
        self.path.extend(here);
        out
    }

    /// Runs `f` for each member of a list, at its place.
    pub fn each<T>(&mut self, items: &[Node], mut f: impl FnMut(&mut Self, &Node) -> T) -> Vec<T> {
        items.iter().enumerate().map(|(n, item)| self.within(Seg::Index(n), |cx| f(cx, item))).collect()
    }

    /// The path as people read it: `outbounds[2].settings`.
    #[must_use]
    pub fn path(&self) -> String {
        let mut text = String::new();
        for seg in &self.path {
            match seg {
                Seg::Key(key) if text.is_empty() => text.push_str(key),
                Seg::Key(key) => {
                    text.push('.');
                    text.push_str(key);
                }
                Seg::Index(n) => text.push_str(&format!("[{n}]")),
            }
        }
        text
    }

    /// Where a node is, for an item of the draft.
    #[must_use]
    pub fn spot(&self, node: &Node) -> Spot {
        Spot::new(node.span, &self.path())
    }

    /// Looks up an environment variable as Xray does: the name as it is, then upper-case with `_` for `.`.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<String> {
        (self.env)(name).or_else(|| (self.env)(&name.trim().to_uppercase().replace('.', "_")))
    }

    /// Reports at a place; the finding is returned so that advice can be put into its `help`.
    pub fn report(&mut self, severity: Severity, kind: Kind, span: Span, message: impl Into<String>) -> &mut Problem {
        if severity == Severity::Error {
            self.mark(span, Class::Invalid, "");
        }
        let problem =
            Problem { severity, kind, span: Some(span), path: self.path(), message: message.into(), help: None };
        self.problems.push(problem);
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// Reports an error at a node.
    pub fn error(&mut self, node: &Node, kind: Kind, message: impl Into<String>) -> &mut Problem {
        self.report(Severity::Error, kind, node.span, message)
    }

    /// Reports a warning at a node.
    pub fn warn(&mut self, node: &Node, kind: Kind, message: impl Into<String>) -> &mut Problem {
        self.report(Severity::Warning, kind, node.span, message)
    }

    /// Reports a wrong type in serde's words and returns nothing, for use as the value of a failed reading.
    pub fn wrong_type<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let message = format!("invalid type: {}, expected {expected}", node.describe(true));
        self.error(node, Kind::Type, message);
        None
    }

    /// Reports a wrong value in serde's words and returns nothing.
    pub fn wrong_value<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let message = format!("invalid value: {}, expected {expected}", node.describe(true));
        self.error(node, Kind::Value, message);
        None
    }

    /// Notes what became of the value at a place.
    pub fn mark(&mut self, span: Span, class: Class, why: impl Into<String>) {
        self.marks.push(Mark { span, path: self.path(), class, why: why.into() });
    }

    /// Whether any finding is an error.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.problems.iter().any(|p| p.severity == Severity::Error)
    }

    /// The path with list places as `[]`; keys of the schema test.
    pub(super) fn pattern(&self) -> String {
        let mut text = String::new();
        for seg in &self.path {
            match seg {
                Seg::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
                Seg::Index(_) => text.push_str("[]"),
            }
        }
        text
    }
}
