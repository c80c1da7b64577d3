//! Conditions on their way into a set.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use super::expressions::Expressions;
use super::lists::Lists;
use super::names::{Listed, Names, Word, WordKind, Words};
use super::needle::needles;
use super::pattern::CompileError;
use super::table::{Keys, Reach};
use crate::model::matcher::{DomainRule, ListRef};

/// Takes conditions with their values, one after the other.
#[derive(Debug)]
pub struct Builder {
    keys: Keys,
    words: Vec<Word>,
    /// Expressions of which a needle is among the words.
    hidden: Vec<(u32, Box<str>)>,
    expressions: Vec<(u32, Box<str>)>,
    lists: Vec<Listed>,
    least: u32,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            words: vec![],
            hidden: vec![],
            expressions: vec![],
            lists: vec![],
            least: u32::MAX,
        }
    }
}

impl Builder {
    /// The name alone, in lower case.
    pub fn full(&mut self, name: &str, value: u32) {
        self.least = self.least.min(value);
        self.keys.put(name, Reach::Full, value);
    }

    /// The name and all below it, in lower case.
    pub fn suffix(&mut self, name: &str, value: u32) {
        self.least = self.least.min(value);
        self.keys.put(name, Reach::Suffix, value);
    }

    /// Names that contain a text, in lower case; with `dotless`, only those without a dot.
    pub fn keyword(&mut self, text: &str, dotless: bool, value: u32) {
        self.least = self.least.min(value);
        let kind = if dotless { WordKind::Dotless } else { WordKind::Keyword };
        self.words.push(Word { value, kind, text: text.into() });
    }

    /// Names in which an expression is found.
    pub fn regex(&mut self, pattern: &str, value: u32) {
        self.least = self.least.min(value);
        let Some(texts) = needles(pattern) else {
            self.expressions.push((value, pattern.into()));
            return;
        };
        self.words.extend(texts.into_iter().map(|text| Word { value, kind: WordKind::Needle, text: text.into() }));
        self.hidden.push((value, pattern.into()));
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
                self.list(ListRef::clone(list), Arc::clone(names), value);
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
        self.lists.sort_by_key(|listed| listed.value);
        Ok(Names {
            table: self.keys.finish(),
            words,
            hidden: Expressions::compile(self.hidden)?,
            expressions: Expressions::compile(self.expressions)?,
            lists: self.lists.into(),
            least: self.least,
        })
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
