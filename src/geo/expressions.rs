//! Expressions that are tried all at once.

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::{MatchKind, PatternSet};

use super::pattern::{CompileError, build};
use super::table::Enough;

/// Expressions, each with a value, the lowest first.
#[derive(Debug)]
pub(super) struct Expressions {
    regex: Regex,
    values: Box<[u32]>,
    texts: Box<[Box<str>]>,
}

impl Expressions {
    /// Of values and expressions; nothing of none.
    pub(super) fn compile(mut all: Vec<(u32, Box<str>)>) -> Result<Option<Self>, CompileError> {
        if all.is_empty() {
            return Ok(None);
        }
        all.sort_unstable();
        let (values, texts): (Vec<u32>, Vec<Box<str>>) = all.into_iter().unzip();
        let regex = build(&texts, MatchKind::All)?;
        Ok(Some(Self { regex, values: values.into(), texts: texts.into() }))
    }

    /// Offers the values below a bound of expressions that are found in the name.
    pub(super) fn each_below(&self, name: &str, bound: &mut u32, offer: &mut impl FnMut(u32, &mut u32) -> Enough) {
        // Finding nothing, as usual, allocates nothing.
        if self.values.first().is_none_or(|least| least >= bound) || !self.regex.is_match(name) {
            return;
        }
        for value in self.found(name).iter().filter_map(|id| self.values.get(id.as_usize())) {
            if value >= bound || offer(*value, bound) == Enough::Yes {
                return;
            }
        }
    }

    /// An expression with this value that is found in the name.
    pub(super) fn find(&self, name: &str, value: u32) -> Option<&str> {
        let found = self.found(name);
        let mut places = found.iter().map(|id| id.as_usize());
        let place = places.find(|place| self.values.get(*place) == Some(&value))?;
        self.texts.get(place).map(|text| &**text)
    }

    fn found(&self, name: &str) -> PatternSet {
        let mut found = PatternSet::new(self.regex.pattern_len());
        self.regex.which_overlapping_matches(&Input::new(name), &mut found);
        found
    }
}
