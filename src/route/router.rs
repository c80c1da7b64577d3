//! All rules, and the decision.

use std::collections::HashSet;

use super::error::{Fault, RuleError};
use super::facts::Facts;
use super::filed::Filed;
use super::index::Index;
use super::rule::{Asked, Test, compile};
use crate::geo::{CompileError, Lists, Names};
use crate::model::routing::{RouteStrategy, When};

/// Compiled rules.
#[derive(Debug, Default)]
pub struct Router {
    pub(super) strategy: RouteStrategy,
    /// Where the tests of each rule end; they begin where those of the rule before end.
    ends: Box<[u32]>,
    /// The tests of all rules, one behind the other.
    tests: Box<[Test]>,
    pub(super) index: Index,
    /// Rules that look at addresses of the target, and how many of their tests come before. Of those with the same tests
    /// before only the first is here, and none behind one that has no tests before.
    asking: Box<[(u32, u32)]>,
}

/// What comes of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// This rule takes the flow, given by its place in the list.
    To(usize),
    /// The name must be resolved first; then ask again with what came of it, be it nothing.
    NeedIps,
    /// No rule takes it.
    Default,
}

impl Router {
    /// Compiles rules in their order.
    ///
    /// # Errors
    /// [`RuleError`] names the first rule that cannot be compiled.
    pub fn compile<'r>(
        strategy: RouteStrategy,
        rules: impl IntoIterator<Item = (&'r str, &'r When)>,
        lists: &Lists,
    ) -> Result<Self, RuleError> {
        let rules: Vec<(&str, &When)> = rules.into_iter().collect();
        let numbered = || (0..).zip(rules.iter().map(|rule| rule.1));
        let index = Index::compile(numbered(), lists).map_err(|(at, error)| blame(at, error, lists, &rules))?;
        let (mut ends, mut tests, mut asking) = (Vec::with_capacity(rules.len()), vec![], vec![]);
        let mut before = HashSet::new();
        let mut always_asks = false;
        for ((name, when), at) in rules.iter().zip(0..) {
            let from = tests.len();
            let what = |what| RuleError { name: (*name).to_owned(), what };
            tests.extend(compile(when, Filed::of(when), lists).map_err(what)?);
            ends.push(number(tests.len()));
            let looks = tests[from..].iter().position(Test::looks_at_addresses);
            if let Some(lead) = looks
                && !always_asks
                && before.insert(before_addresses(when))
            {
                always_asks = lead == 0;
                asking.push((at, number(lead)));
            }
        }
        Ok(Self { strategy, ends: ends.into(), tests: tests.into(), index, asking: asking.into() })
    }

    /// Finds the first rule that takes the flow.
    ///
    /// `IPIfNonMatch` is two calls: the first tries names and addresses as they are, the second all rules once more with
    /// what the name resolved to. Nothing is resolved while no condition is reached that would look at it.
    #[must_use]
    pub fn decide(&self, facts: &Facts<'_>) -> Decision {
        let (name, asks) = (Asked::new(facts.domain()), Asks::new(self.strategy, facts));
        if self.resolves_first(asks) {
            return Decision::NeedIps;
        }
        let until = if asks == Asks::AtOnce { self.asks_at(facts) } else { None };
        let below = until.unwrap_or(u32::MAX);
        match self.index.first_where(facts, &name, below, |rule| self.holds(rule, facts)) {
            Some(rule) => Decision::To(place(rule)),
            None if until.is_some() => Decision::NeedIps,
            None if asks == Asks::AtLast && self.asks_at(facts).is_some() => Decision::NeedIps,
            None => Decision::Default,
        }
    }

    /// Whether nothing is tried before the name is resolved.
    pub(super) fn resolves_first(&self, asks: Asks) -> bool {
        asks == Asks::First && !self.asking.is_empty()
    }

    /// How many rules there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The tests of a rule.
    pub(super) fn tests(&self, rule: usize) -> &[Test] {
        let end = |rule: usize| self.ends.get(rule).map(|end| place(*end));
        let begin = rule.checked_sub(1).map_or(Some(0), end);
        let tests = begin.zip(end(rule)).and_then(|(begin, end)| self.tests.get(begin..end));
        tests.unwrap_or_default()
    }

    /// Whether a rule holds that was found by the condition it is filed by.
    fn holds(&self, rule: u32, facts: &Facts<'_>) -> bool {
        self.tests(place(rule)).iter().all(|test| test.holds(facts))
    }

    /// The first rule that comes so far as to look at addresses.
    fn asks_at(&self, facts: &Facts<'_>) -> Option<u32> {
        let comes =
            |rule: u32, lead: u32| self.tests(place(rule)).iter().take(place(lead)).all(|test| test.holds(facts));
        self.asking.iter().find(|(rule, lead)| comes(*rule, *lead)).map(|(rule, _)| *rule)
    }
}

/// When the name is resolved, if ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Never: nothing more can be learnt, or it is not wanted.
    Never,
    /// Before any rule, if any looks at addresses.
    First,
    /// As soon as a rule looks at addresses.
    AtOnce,
    /// When no rule takes the flow and one has looked at addresses.
    AtLast,
}

impl Asks {
    pub(super) fn new(strategy: RouteStrategy, facts: &Facts<'_>) -> Self {
        match strategy {
            _ if !facts.can_resolve() => Self::Never,
            RouteStrategy::AsIs => Self::Never,
            RouteStrategy::AlwaysIp => Self::First,
            RouteStrategy::IpOnDemand => Self::AtOnce,
            RouteStrategy::IpIfNonMatch => Self::AtLast,
        }
    }
}

/// What a rule asks before it looks at addresses of the target, as a text that only equal ones have.
fn before_addresses(when: &When) -> String {
    // Every field is named, so that a new condition cannot be forgotten here.
    let When {
        domain: _,
        ip: _,
        source: _,
        local: _,
        port,
        source_port,
        local_port,
        vless_route,
        network,
        user,
        inbound,
        protocol,
        attrs,
        process,
        local_os,
        webhook: _,
    } = when;
    let ports = [port, source_port, local_port, vless_route];
    format!("{:?}", (ports, network, user, inbound, protocol, attrs, process, local_os))
}

/// Names the rule whose names do not compile.
fn blame(at: Option<u32>, error: CompileError, lists: &Lists, rules: &[(&str, &When)]) -> RuleError {
    let bad = |when: &When| Names::compile(when.domain.0.iter().map(|rule| (rule, 0)), lists).is_err();
    let found = match at {
        Some(at) => rules.get(place(at)),
        None => rules.iter().find(|rule| bad(rule.1)),
    };
    RuleError { name: found.map_or("", |rule| rule.0).to_owned(), what: Fault::Set(error) }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn place(number: u32) -> usize {
    number as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
