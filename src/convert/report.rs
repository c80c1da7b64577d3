//! The report of a conversion, for people and for programs.

use std::fmt::Write;

use comfy_table::{Table, presets};
use serde::Serialize;

use super::conversion::{Converted, To};
use super::keys::{self, KeyReport, usual, word};
use crate::frontend::Report;
use crate::shape::Class;

/// How many keys ended in each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them.
    pub keys: usize,
    /// As written.
    pub kept: usize,
    /// Under another name or in another form.
    pub rewritten: usize,
    /// What holds anyway.
    pub default: usize,
    /// With nearly the same meaning.
    pub approximated: usize,
    /// Read, and without a place in the output.
    pub dropped: usize,
    /// Read by nobody.
    pub unknown: usize,
    /// Not readable.
    pub invalid: usize,
}

impl Counts {
    /// Counts keys.
    #[must_use]
    pub fn of(keys: &[KeyReport]) -> Self {
        let mut counts = Self { keys: keys.len(), ..Self::default() };
        for key in keys {
            *match key.class {
                Class::Kept => &mut counts.kept,
                Class::Rewritten => &mut counts.rewritten,
                Class::Default => &mut counts.default,
                Class::Approximated => &mut counts.approximated,
                Class::Dropped => &mut counts.dropped,
                Class::Unknown => &mut counts.unknown,
                Class::Invalid => &mut counts.invalid,
            } += 1;
        }
        counts
    }

    /// The counts with their names, in the order of the classes.
    #[must_use]
    pub fn named(&self) -> [(usize, &'static str); 7] {
        [
            (self.kept, "kept"),
            (self.rewritten, "rewritten"),
            (self.default, "default"),
            (self.approximated, "approximated"),
            (self.dropped, "dropped"),
            (self.unknown, "unknown"),
            (self.invalid, "invalid"),
        ]
    }

    /// `42 keys: 40 kept, 2 dropped`.
    #[must_use]
    pub fn summary(&self) -> String {
        let parts = self.named().into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
        let parts: Vec<String> = parts.collect();
        let keys = if self.keys == 1 { "key" } else { "keys" };
        if parts.is_empty() {
            format!("{} {keys}", self.keys)
        } else {
            format!("{} {keys}: {}", self.keys, parts.join(", "))
        }
    }
}

/// The report for programs.
#[derive(Debug, Serialize)]
pub struct ConvertReport<'c> {
    /// The files that were read, in the order of merging.
    pub files: Vec<&'c str>,
    /// `toml` or `json`.
    pub to: &'static str,
    /// Whether there is an output.
    pub converted: bool,
    /// Why there is none, if our own check refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How many keys ended in each class.
    pub counts: Counts,
    /// Every key.
    pub keys: &'c [KeyReport],
    /// What was found wrong with the input.
    pub findings: Report,
}

impl<'c> ConvertReport<'c> {
    /// Of a conversion.
    #[must_use]
    pub fn of(converted: &'c Converted, to: To) -> Self {
        Self {
            files: converted.sources.files.iter().map(|file| file.text.name.as_str()).collect(),
            to: to.word(),
            converted: converted.text.is_ok(),
            failure: converted.text.as_ref().err().map(ToString::to_string),
            counts: Counts::of(&converted.keys),
            keys: &converted.keys,
            findings: Report::of(&converted.sources, &converted.problems),
        }
    }
}

/// The line that sums a conversion up.
#[must_use]
pub fn summary(converted: &Converted) -> String {
    let names: Vec<&str> = converted.sources.files.iter().map(|file| file.text.name.as_str()).collect();
    format!("{}: {}", names.join(" + "), Counts::of(&converted.keys).summary())
}

/// A line for each key that did not simply come over, most serious last, with its reason.
#[must_use]
pub fn remarkable(converted: &Converted) -> String {
    let mut keys =
        keys::decided(converted.keys.iter().filter(|key| !matches!(key.class, Class::Kept | Class::Default)));
    keys.sort_by_key(|key| key.class);
    let mut out = String::new();
    for key in keys {
        let why = if key.why.is_empty() { usual(key.class) } else { &key.why };
        let (class, path) = (word(key.class), printable(&key.decided));
        let _ = writeln!(out, "  {class} {path} ({}:{}:{}): {why}", key.file, key.line, key.column);
    }
    out
}

/// Every key in a table.
#[must_use]
pub fn table(converted: &Converted) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_header(["place", "key", "class", "why"]);
    for key in &converted.keys {
        let place = format!("{}:{}:{}", key.file, key.line, key.column);
        table.add_row([place, printable(&key.path), word(key.class).to_owned(), key.why.clone()]);
    }
    table.to_string()
}

/// Keys are the user's own text: they must not steer a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
