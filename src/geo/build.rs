//! Conditions on their way into a set.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::lists::Lists;
use super::names::{Listed, Names, Patterns, Word, Words};
use super::pattern::{CompileError, any_of};
use super::table::{Reach, Table};
use crate::model::matcher::{DomainRule, ListRef};

/// Takes conditions with their values, one after the other.
#[derive(Debug)]
pub struct Builder {
    table: Table,
    words: Vec<Word>,
    patterns: Vec<(u32, Box<str>)>,
    lists: Vec<Listed>,
    least: u32,
}

impl Default for Builder {
    fn default() -> Self {
        Self { table: Table::default(), words: vec![], patterns: vec![], lists: vec![], least: u32::MAX }
    }
}

impl Builder {
    /// The name alone, in lower case.
    pub fn full(&mut self, name: &str, value: u32) {
        self.least = self.least.min(value);
        self.table.put(name, Reach::Full, value);
    }

    /// The name and all below it, in lower case.
    pub fn suffix(&mut self, name: &str, value: u32) {
        self.least = self.least.min(value);
        self.table.put(name, Reach::Suffix, value);
    }

    /// Names that contain a text, in lower case; with `dotless`, only those without a dot.
    pub fn keyword(&mut self, text: &str, dotless: bool, value: u32) {
        self.least = self.least.min(value);
        self.words.push(Word { value, dotless, text: text.into() });
    }

    /// Names in which an expression is found.
    pub fn regex(&mut self, pattern: &str, value: u32) {
        self.least = self.least.min(value);
        self.patterns.push((value, pattern.into()));
    }

    /// Names of a list.
    pub fn list(&mut self, list: ListRef, names: Arc<Names>, value: u32) {
        self.least = self.least.min(value);
        self.lists.push(Listed { value, list, names });
    }

    /// A condition as a config writes it.
    ///
    /// # Errors
    /// [`CompileError::List`] for a geodata list that is not among `lists`.
    pub fn rule(&mut self, rule: &DomainRule, value: u32, lists: &Lists) -> Result<(), CompileError> {
        match rule {
            DomainRule::Full(name) => self.full(name, value),
            DomainRule::Suffix(name) => self.suffix(name, value),
            DomainRule::Keyword(text) => self.keyword(text, false, value),
            DomainRule::Dotless(text) => self.keyword(text, true, value),
            DomainRule::Regex(pattern) => self.regex(pattern, value),
            DomainRule::List(list) => {
                let names = lists.names(list).ok_or_else(|| CompileError::List(rule.to_string()))?;
                self.list(list.clone(), Arc::clone(names), value);
            }
        }
        Ok(())
    }

    /// The set.
    ///
    /// # Errors
    /// [`CompileError::Regex`] for an expression that does not compile.
    pub fn finish(mut self) -> Result<Names, CompileError> {
        let words = if self.words.is_empty() {
            None
        } else {
            let texts = self.words.iter().map(|word| &*word.text);
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(texts)
                .map_err(|error| CompileError::Regex { pattern: "keywords".into(), reason: error.to_string() })?;
            Some(Words { automaton, of: self.words.into() })
        };
        self.patterns.sort_unstable();
        let sets = self.patterns.chunk_by(|a, b| a.0 == b.0).map(|set| {
            let texts: Box<[Box<str>]> = set.iter().map(|pattern| pattern.1.clone()).collect();
            Ok(Patterns { value: set[0].0, regex: any_of(&texts)?, texts })
        });
        let patterns = sets.collect::<Result<_, CompileError>>()?;
        self.lists.sort_by_key(|listed| listed.value);
        self.table.shrink();
        Ok(Names { table: self.table, words, patterns, lists: self.lists.into(), least: self.least })
    }
}

impl Names {
    /// Compiles conditions with their values.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn compile<'r>(
        rules: impl IntoIterator<Item = (&'r DomainRule, u32)>,
        lists: &Lists,
    ) -> Result<Self, CompileError> {
        let mut builder = Builder::default();
        for (rule, value) in rules {
            builder.rule(rule, value, lists)?;
        }
        builder.finish()
    }
}
