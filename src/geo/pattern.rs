//! Regular expressions, and what can be wrong with a set.

use regex_automata::MatchKind;
use regex_automata::meta::Regex;

use crate::model::goregex::translate;

/// Why a set cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A list of a geodata file that nobody loaded.
    #[error("{0}: the list was not loaded")]
    List(String),
    /// An expression that does not compile, or is too large.
    #[error("`{pattern}`: {reason}")]
    Regex {
        /// As written.
        pattern: String,
        /// What the engine says.
        reason: String,
    },
}

/// Compiles Go's expressions into one that matches where any of them does.
///
/// # Errors
/// [`CompileError::Regex`] names the first that does not compile.
pub fn any_of<P: AsRef<str>>(patterns: &[P]) -> Result<Regex, CompileError> {
    build(patterns, MatchKind::LeftmostFirst)
}

/// The same, for searches that want to know which ones matched.
pub(super) fn build<P: AsRef<str>>(patterns: &[P], kind: MatchKind) -> Result<Regex, CompileError> {
    let here = |pattern: &P| {
        let pattern = pattern.as_ref();
        translate(pattern).map_err(|reason| CompileError::Regex { pattern: pattern.to_owned(), reason })
    };
    let here: Vec<String> = patterns.iter().map(here).collect::<Result<_, _>>()?;
    let config = Regex::config().match_kind(kind).nfa_size_limit(Some(SIZE_LIMIT)).hybrid_cache_capacity(CACHE);
    Regex::builder().configure(config).build_many(&here).map_err(|error| {
        let at = error.pattern().map_or(0, |id| id.as_usize());
        let pattern = patterns.get(at).map_or("", |pattern| pattern.as_ref()).to_owned();
        let reason = error.syntax_error().map_or_else(|| error.to_string(), last_line);
        CompileError::Regex { pattern, reason }
    })
}

/// The parser's last line is the one that says what is wrong; those before it draw the pattern.
fn last_line(error: &impl ToString) -> String {
    let text = error.to_string();
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Bound of one compiled set. Thousands of ordinary expressions fit; a pathological one does not.
const SIZE_LIMIT: usize = 64 << 20;

/// Working memory of one search; more only helps on long texts, and names are short.
const CACHE: usize = 256 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_bad_one_of_several_is_named() {
        let error = any_of(&["a+", "b(2", "c"]).unwrap_err();
        assert!(error.to_string().starts_with("`b(2`: "), "{error}");
        assert!(any_of(&[r"(?i)shop", r"^x\d+$"]).unwrap().is_match("SHOP"));
    }
}
