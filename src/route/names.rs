//! A set of name conditions, or several of which the first counts.

use aho_corasick::{AhoCorasick, MatchKind};
use regex_automata::meta::Regex;

use super::pattern::{CompileError, any_of};
use super::table::{Enough, Hashed, Reach, Table};
use crate::model::matcher::DomainRule;

/// Name conditions, each with a value. Names are given in lower case.
#[derive(Debug, Default)]
pub struct Names {
    /// `full:` and `domain:`.
    table: Table,
    /// `keyword:` and `dotless:`.
    words: Option<Words>,
    /// `regexp:`, one set a value, lowest value first.
    patterns: Box<[(u32, Regex)]>,
    /// The lowest value of all: nothing better can be found.
    least: u32,
}

#[derive(Debug)]
struct Words {
    automaton: AhoCorasick,
    of: Box<[Word]>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    value: u32,
    dotless: bool,
}

impl Names {
    /// Compiles conditions with their values.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for geodata lists.
    pub fn compile<'r>(rules: impl IntoIterator<Item = (&'r DomainRule, u32)>) -> Result<Self, CompileError> {
        let mut names = Self { least: u32::MAX, ..Self::default() };
        let (mut texts, mut words): (Vec<&str>, Vec<Word>) = (vec![], vec![]);
        let mut patterns: Vec<(u32, &str)> = vec![];
        for (rule, value) in rules {
            names.least = names.least.min(value);
            match rule {
                DomainRule::Full(name) => names.table.put(name, Reach::Full, value),
                DomainRule::Suffix(name) => names.table.put(name, Reach::Suffix, value),
                DomainRule::Keyword(text) | DomainRule::Dotless(text) => {
                    texts.push(text);
                    words.push(Word { value, dotless: matches!(rule, DomainRule::Dotless(_)) });
                }
                DomainRule::Regex(pattern) => patterns.push((value, pattern)),
                DomainRule::List(list) => return Err(CompileError::list(list)),
            }
        }
        if !texts.is_empty() {
            let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts);
            let automaton =
                built.map_err(|error| CompileError::Regex { pattern: "keywords".into(), reason: error.to_string() })?;
            names.words = Some(Words { automaton, of: words.into() });
        }
        patterns.sort_unstable();
        let sets = patterns.chunk_by(|a, b| a.0 == b.0).map(|set| {
            let texts: Vec<&str> = set.iter().map(|pattern| pattern.1).collect();
            Ok((set[0].0, any_of(&texts)?))
        });
        names.patterns = sets.collect::<Result<_, CompileError>>()?;
        Ok(names)
    }

    /// The lowest value among the conditions that the name meets.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<u32> {
        self.first_of(&Hashed::new(name))
    }

    /// The same for a name that is asked about again and again.
    pub(super) fn first_of(&self, name: &Hashed<'_>) -> Option<u32> {
        let mut best = u32::MAX;
        let mut take = |value: u32| {
            best = best.min(value);
            if best == self.least { Enough::Yes } else { Enough::No }
        };
        self.table.walk(name, &mut take);
        let name = name.text();
        if let Some(words) = &self.words
            && best != self.least
        {
            words.walk(name, |value| {
                best = best.min(value);
                if best == self.least { Enough::Yes } else { Enough::No }
            });
        }
        for (value, pattern) in &self.patterns {
            if *value >= best {
                break;
            }
            if pattern.is_match(name) {
                best = *value;
            }
        }
        (best != u32::MAX).then_some(best)
    }

    /// Gives the value of every condition that the name meets, in no order; a value may come more than once.
    pub fn each(&self, name: &str, mut take: impl FnMut(u32)) {
        let mut go_on = |value| {
            take(value);
            Enough::No
        };
        self.table.walk(&Hashed::new(name), &mut go_on);
        if let Some(words) = &self.words {
            words.walk(name, &mut go_on);
        }
        for (value, pattern) in &self.patterns {
            if pattern.is_match(name) {
                go_on(*value);
            }
        }
    }
}

impl Words {
    fn walk(&self, name: &str, mut take: impl FnMut(u32) -> Enough) {
        let dotted = name.contains('.');
        for found in self.automaton.find_overlapping_iter(name) {
            let word = self.of[found.pattern().as_usize()];
            if !(word.dotless && dotted) && take(word.value) == Enough::Yes {
                return;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::matcher::Bare;

    fn names(rules: &[&str]) -> Names {
        let rules: Vec<_> = rules.iter().map(|text| DomainRule::parse(text, Bare::Keyword).unwrap()).collect();
        Names::compile(rules.iter().zip(0..)).unwrap()
    }

    #[test]
    fn each_form_means_what_xray_says() {
        let set = names(&[
            "full:Shop.Example.com",
            "domain:example.NET",
            "keyword:Invoice",
            "plain",
            "dotless:",
            "regexp:^r\\d+\\.x$",
        ]);
        for (name, want) in [
            ("shop.example.com", Some(0)),
            ("www.shop.example.com", None),
            ("example.net", Some(1)),
            ("a.b.example.net", Some(1)),
            ("notexample.net", None),
            ("myinvoice.example.org", Some(2)),
            ("complaint.plain.org", Some(3)),
            ("router", Some(4)),
            ("r12.x", Some(5)),
            ("r12.xy", None),
        ] {
            assert_eq!(set.first(name), want, "{name}");
        }
    }

    #[test]
    fn the_lowest_value_counts_in_whatever_form_it_is() {
        let set = names(&["regexp:^www", "shop", "domain:example.com", "full:www.shop.example.com"]);
        assert_eq!(set.first("www.shop.example.com"), Some(0));
        assert_eq!(set.first("shop.example.com"), Some(1));
        assert_eq!(set.first("x.example.com"), Some(2));
        let mut all = vec![];
        set.each("www.shop.example.com", |value| all.push(value));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    }

    #[test]
    fn lists_are_refused_by_name() {
        let rule = DomainRule::parse("geosite:cn", Bare::Keyword).unwrap();
        let error = Names::compile([(&rule, 0)]).unwrap_err();
        assert_eq!(error.to_string(), "`geosite.dat:cn`: lists of geodata files are not built yet");
    }

    fn meets(rule: &DomainRule, name: &str) -> bool {
        match rule {
            DomainRule::Full(full) => name == full,
            DomainRule::Suffix(tail) => {
                name == tail || name.strip_suffix(tail.as_str()).is_some_and(|head| head.ends_with('.'))
            }
            DomainRule::Keyword(part) => name.contains(part.as_str()),
            DomainRule::Dotless(part) => !name.contains('.') && name.contains(part.as_str()),
            DomainRule::Regex(_) | DomainRule::List(_) => unreachable!(),
        }
    }

    proptest! {
        #[test]
        fn tables_agree_with_trying_one_by_one(
            rules in proptest::collection::vec((0..4, "[ab](\\.?[ab]){0,3}"), 1..12),
            name in "[ab](\\.?[ab]){0,5}",
        ) {
            let rules: Vec<_> = rules.into_iter().map(|(kind, text)| match kind {
                0 => DomainRule::Full(text),
                1 => DomainRule::Suffix(text),
                2 => DomainRule::Keyword(text),
                _ => DomainRule::Dotless(text.replace('.', "")),
            }).collect();
            let want = rules.iter().position(|rule| meets(rule, &name));
            let set = Names::compile(rules.iter().zip(0..)).unwrap();
            prop_assert_eq!(set.first(&name), want.map(|at| u32::try_from(at).unwrap()));
        }
    }
}
