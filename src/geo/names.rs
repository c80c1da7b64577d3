//! A set of name conditions, or several of which the first counts.

use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::expressions::Expressions;
use super::hashed::Hashed;
use super::table::{Enough, Reach, Table};
use crate::model::matcher::{DomainRule, ListRef};

/// Name conditions, each with a value. Names are given in lower case.
#[derive(Debug, Default)]
pub struct Names {
    /// `full:` and `domain:`.
    pub(super) table: Table,
    /// `keyword:` and `dotless:`.
    pub(super) words: Option<Words>,
    /// `regexp:` of which a needle is among the words.
    pub(super) hidden: Option<Expressions>,
    /// Any other `regexp:`.
    pub(super) expressions: Option<Expressions>,
    /// Lists of geodata files, lowest value first.
    pub(super) lists: Box<[Listed]>,
    /// The lowest value of all: nothing better can be found.
    pub(super) least: u32,
}

#[derive(Debug)]
pub(super) struct Words {
    pub(super) automaton: AhoCorasick,
    pub(super) of: Box<[Word]>,
}

#[derive(Debug)]
pub(super) struct Word {
    pub(super) value: u32,
    pub(super) kind: WordKind,
    pub(super) text: Box<str>,
}

/// What it means that a word occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// The name meets the condition.
    Keyword,
    /// It does, if it has no dot.
    Dotless,
    /// It may meet an expression.
    Needle,
}

/// A list that others may name as well.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) value: u32,
    pub(super) list: ListRef,
    pub(super) names: Arc<Names>,
}

/// What a name met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The value of the condition.
    pub value: u32,
    /// The condition, or the entry of the list.
    pub rule: DomainRule,
    /// The list that holds it, if it is from one.
    pub list: Option<ListRef>,
}

impl Names {
    /// Whether it holds no condition at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let none = self.hidden.is_none() && self.expressions.is_none() && self.lists.is_empty();
        none && self.table.is_empty() && self.words.is_none()
    }

    /// The lowest value among the conditions that the name meets.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<u32> {
        self.first_of(&Hashed::new(name))
    }

    /// The same for a name that is asked about again and again.
    #[must_use]
    pub fn first_of(&self, name: &Hashed<'_>) -> Option<u32> {
        self.first_where(name, u32::MAX, |_| true)
    }

    /// Gives the value of every condition that the name meets, in no order; a value may come more than once.
    pub fn each(&self, name: &str, take: impl FnMut(u32)) {
        self.each_of(&Hashed::new(name), take);
    }

    /// The same for a name that is asked about again and again.
    pub fn each_of(&self, name: &Hashed<'_>, mut take: impl FnMut(u32)) {
        self.first_where(name, u32::MAX, |value| {
            take(value);
            false
        });
    }

    /// The lowest value below `below` that also meets what else is asked, among the conditions that the name meets.
    pub fn first_where(&self, name: &Hashed<'_>, below: u32, mut also: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut best = below;
        let mut offer = |value: u32, best: &mut u32| {
            if value < *best && also(value) {
                *best = value;
            }
            if *best <= self.least { Enough::Yes } else { Enough::No }
        };
        self.table.walk(name, |value| offer(value, &mut best));
        let mut needle = false;
        if let Some(words) = &self.words
            && best > self.least
        {
            words.walk(name.text(), |word| match word.kind {
                WordKind::Keyword | WordKind::Dotless => offer(word.value, &mut best),
                WordKind::Needle => {
                    needle = true;
                    Enough::No
                }
            });
        }
        for set in &self.lists {
            if set.value >= best {
                break;
            }
            if set.names.first_of(name).is_some() {
                offer(set.value, &mut best);
            }
        }
        let hidden = self.hidden.as_ref().filter(|_| needle);
        for set in hidden.into_iter().chain(&self.expressions) {
            set.each_below(name.text(), &mut best, &mut offer);
        }
        (best < below).then_some(best)
    }

    /// Which condition the name meets, of those with the lowest value. For people: it is slower than [`Self::first`].
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Match> {
        self.find_of(name, self.first(name)?)
    }

    /// Which condition with this value the name meets. For people as well.
    #[must_use]
    pub fn find_of(&self, name: &str, value: u32) -> Option<Match> {
        let hashed = Hashed::new(name);
        let met = |rule| Match { value, rule, list: None };
        let mut found = None;
        self.table.each(&hashed, |key, reach, of| {
            if of == value {
                found = Some(met(match reach {
                    Reach::Full => DomainRule::Full(key.to_owned()),
                    Reach::Suffix => DomainRule::Suffix(key.to_owned()),
                }));
            }
            Enough::No
        });
        if let Some(words) = &self.words
            && found.is_none()
        {
            words.walk(name, |word| {
                let text = || word.text.to_string();
                found = match word.kind {
                    WordKind::Keyword if word.value == value => Some(met(DomainRule::Keyword(text()))),
                    WordKind::Dotless if word.value == value => Some(met(DomainRule::Dotless(text()))),
                    _ => return Enough::No,
                };
                Enough::Yes
            });
        }
        let in_lists = || {
            let mut sets = self.lists.iter().filter(|set| set.value == value);
            sets.find_map(|set| {
                let Match { rule, .. } = set.names.find(name)?;
                Some(Match { value, rule, list: Some(set.list.clone()) })
            })
        };
        let in_expressions = || {
            let mut sets = self.hidden.iter().chain(&self.expressions);
            sets.find_map(|set| Some(met(DomainRule::Regex(set.find(name, value)?.to_owned()))))
        };
        found.or_else(in_lists).or_else(in_expressions)
    }
}

impl Words {
    fn walk(&self, name: &str, mut take: impl FnMut(&Word) -> Enough) {
        let dotted = name.contains('.');
        for found in self.automaton.find_overlapping_iter(name) {
            let word = &self.of[found.pattern().as_usize()];
            if !(word.kind == WordKind::Dotless && dotted) && take(word) == Enough::Yes {
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
    use crate::geo::lists::Lists;
    use crate::model::matcher::Bare;

    fn names(rules: &[&str]) -> Names {
        let rules: Vec<_> = rules.iter().map(|text| DomainRule::parse(text, Bare::Keyword).unwrap()).collect();
        Names::compile(rules.iter().zip(0..), &Lists::default()).unwrap()
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
            assert_eq!(set.find(name).map(|met| met.value), want, "{name}");
        }
        let met = |name: &str| set.find(name).unwrap().rule.to_string();
        assert_eq!(met("a.b.example.net"), "domain:example.net");
        assert_eq!(met("myinvoice.example.org"), "keyword:invoice");
        assert_eq!((met("router"), met("r12.x")), ("dotless:".into(), "regexp:^r\\d+\\.x$".into()));
    }

    #[test]
    fn a_list_is_shared_and_its_entry_is_named() {
        let list = ListRef { file: "geosite.dat".into(), code: "SHOPS".into(), attrs: vec![] };
        let rules = [DomainRule::List(Box::new(list.clone())), DomainRule::Suffix("example.com".into())];
        let mut lists = Lists::default();
        lists.put_names(list.clone(), Arc::new(names(&["domain:nowhere.example", "full:shop.example.com"])));
        let set = Names::compile(rules.iter().zip(0..), &lists).unwrap();
        assert_eq!((set.first("shop.example.com"), set.first("www.example.com")), (Some(0), Some(1)));
        let met = set.find("shop.example.com").unwrap();
        assert_eq!((met.value, met.rule.to_string(), met.list), (0, "full:shop.example.com".into(), Some(list)));
        let mut all = vec![];
        set.each("shop.example.com", |value| all.push(value));
        assert_eq!(all, [1, 0]);
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
    fn a_list_that_was_not_loaded_is_named() {
        let rule = DomainRule::parse("geosite:cn", Bare::Keyword).unwrap();
        let error = Names::compile([(&rule, 0)], &Lists::default()).unwrap_err();
        assert_eq!(error.to_string(), "geosite:cn: the list was not loaded");
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
            let set = Names::compile(rules.iter().zip(0..), &Lists::default()).unwrap();
            prop_assert_eq!(set.first(&name), want.map(|at| u32::try_from(at).unwrap()));
        }
    }
}
