//! Conditions on texts that only some flows carry: users, and attributes of HTTP requests.

use std::collections::BTreeMap;

use regex_automata::meta::Regex;

use super::facts::Facts;
use crate::geo::{CompileError, any_of};

/// Users, by email or by expression.
#[derive(Debug)]
pub(super) struct Users {
    /// Sorted.
    exact: Box<[Box<str>]>,
    patterns: Option<Regex>,
}

impl Users {
    pub(super) fn compile(users: &[String]) -> Result<Self, CompileError> {
        let (patterns, exact): (Vec<&String>, Vec<&String>) = users.iter().partition(|user| user.starts_with(REGEXP));
        let patterns = patterns.iter().filter_map(|user| user.strip_prefix(REGEXP));
        // Xray passes over an expression that is none; who checks the config warns of it.
        let patterns: Vec<&str> = patterns.filter(|pattern| any_of(&[pattern]).is_ok()).collect();
        let mut exact: Vec<Box<str>> = exact.iter().map(|user| user.as_str().into()).collect();
        exact.sort_unstable();
        let patterns = if patterns.is_empty() { None } else { Some(any_of(&patterns)?) };
        Ok(Self { exact: exact.into(), patterns })
    }

    /// Whether the user is among them; nobody and the empty name never are.
    pub(super) fn contain(&self, user: Option<&str>) -> bool {
        user.is_some_and(|user| {
            !user.is_empty()
                && (self.exact.binary_search_by(|known| (**known).cmp(user)).is_ok()
                    || self.patterns.as_ref().is_some_and(|patterns| patterns.is_match(user)))
        })
    }
}

const REGEXP: &str = "regexp:";

/// Attributes that must all be there, each with something in it that its expression finds.
#[derive(Debug)]
pub(super) struct Attrs(Box<[(Box<str>, Regex)]>);

impl Attrs {
    pub(super) fn compile(attrs: &BTreeMap<String, String>) -> Result<Self, CompileError> {
        let one = |(name, pattern): (&String, &String)| Ok((name.to_lowercase().into(), any_of(&[pattern])?));
        attrs.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn hold(&self, facts: &Facts<'_>) -> bool {
        // A flow without attributes meets no condition on them, not even an empty one.
        facts.attribute.is_some() && self.lacking(facts).is_none()
    }

    /// The first attribute that is missing, or in which its expression finds nothing.
    pub(super) fn lacking(&self, facts: &Facts<'_>) -> Option<&str> {
        let lacking = |(name, pattern): &&(Box<str>, Regex)| {
            !facts.attribute.and_then(|attribute| attribute(name)).is_some_and(|value| pattern.is_match(value))
        };
        self.0.iter().find(lacking).map(|(name, _)| &**name)
    }

    /// The attributes that are asked for.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn users_are_exact_or_found() {
        let users = Users::compile(&["love@x".into(), "regexp:^test\\d".into(), "a".into()]).unwrap();
        assert!(users.contain(Some("love@x")) && users.contain(Some("a")) && users.contain(Some("test7@y")));
        assert!(!users.contain(Some("Love@x")) && !users.contain(Some("atest7")) && !users.contain(None));
        let bad = Users::compile(&["regexp:(".into(), "regexp:b".into()]).unwrap();
        assert!(bad.contain(Some("b")) && !bad.contain(Some("(")));
        assert!(!Users::compile(&["regexp:".into()]).unwrap().contain(Some("")), "the empty email is nobody");
    }
}
