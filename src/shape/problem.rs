//! What is wrong with a configuration, and where. Text is made last, by whoever shows it.

use super::node::{Span, Spot};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Read differently than written, without consequence.
    Note,
    /// Loads; may not do what was meant.
    Warning,
    /// Does not load.
    Error,
}

/// What sort of problem; scripts and `--strict` go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The text is not JSON, YAML or TOML.
    Syntax,
    /// A value of the wrong type.
    Type,
    /// A value out of range or not among the known words.
    Value,
    /// A key nobody reads.
    Unknown,
    /// A key that must be there.
    Missing,
    /// A name that nothing has.
    Reference,
    /// Read, but its runtime is not built.
    NotBuilt,
    /// An old spelling, read as what it meant.
    Legacy,
    /// Read, and left out of the run because it is not built.
    Skipped,
    /// Read, and without effect here.
    Ignored,
    /// Parts that do not fit together.
    Conflict,
    /// A file that cannot be read.
    Source,
}

/// One finding, with its place in the user's own text.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What sort it is.
    pub kind: Kind,
    /// The bytes to point at.
    pub span: Option<Span>,
    /// The path as people read it (`outbounds[2].settings`), empty at the root.
    pub path: String,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Problem {
    /// A problem at the place of a draft's item.
    #[must_use]
    pub fn at(spot: &Spot, severity: Severity, kind: Kind, message: impl Into<String>) -> Self {
        Self { severity, kind, span: spot.span(), path: spot.path().to_owned(), message: message.into(), help: None }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The name nearest to a misspelt one, if one is near enough to be meant (edit distance at most a third of its length).
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    let limit = (word.len() / 3).max(1);
    names
        .into_iter()
        .map(|name| (distance(&word, &name.to_lowercase().chars().collect::<Vec<_>>()), name))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_strangers_are_not() {
        assert_eq!(nearest("sniffng", ["settings", "sniffing", "tag"]), Some("sniffing"));
        assert_eq!(nearest("prot", ["port", "tag"]), Some("port"));
        assert_eq!(nearest("remarks", ["port", "tag"]), None);
    }
}
