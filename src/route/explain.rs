//! Why a decision is what it is, rule by rule, in words for people.
//!
//! It walks the same steps as [`Router::decide`] and asks the same tests; it only says more, and so allocates.

use std::fmt::Write;
use std::ops::Range;

use super::facts::Facts;
use super::router::{Decision, Gate, Router, Step, place};
use super::rule::{Asked, Test};
use super::words::{self, told};
use crate::geo::{Names, Nets};
use crate::model::routing::RouteStrategy;

/// A decision, and what came of each rule on the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What [`Router::decide`] says of the same facts.
    pub decision: Decision,
    /// The rules that were looked at, in their order.
    pub tried: Vec<Tried>,
}

/// What came of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Its place in the list.
    pub rule: usize,
    /// The conditions that hold, each with what held it, in the order in which they are tried.
    pub held: Vec<String>,
    /// How it ended.
    pub ended: Ended,
}

/// How a rule ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every condition holds: it takes the flow.
    Takes,
    /// The first condition that does not hold, and why.
    Lacks(String),
    /// The next condition looks at addresses, so the name must be resolved first.
    Resolves,
}

/// Rules before the last one that a line of a log tells of.
const TOLD: usize = 4;

impl Explained {
    /// All of it in one line, which is short whatever number of rules there is; `name` gives the name of a rule.
    #[must_use]
    pub fn line<'n>(&self, name: impl Fn(usize) -> &'n str) -> String {
        let mut line = String::new();
        let left_out = self.tried.len().saturating_sub(TOLD + 1);
        if left_out > 0 {
            let _ = write!(line, "{left_out} rules lack something; ");
        }
        for (n, tried) in self.tried.iter().skip(left_out).enumerate() {
            let gap = if n == 0 { "" } else { "; " };
            let _ = write!(line, "{gap}{} {}", name(tried.rule), tried.text());
        }
        let end = match self.decision {
            Decision::To(_) => return line,
            Decision::NeedIps => "the name must be resolved",
            Decision::Default => "no rule takes it",
        };
        let gap = if line.is_empty() { "" } else { "; " };
        line + gap + end
    }
}

impl Tried {
    /// How it ended, and why.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.ended {
            Ended::Takes if self.held.is_empty() => "takes it: it has no condition".into(),
            Ended::Takes => format!("takes it: {}", self.held.join(", ")),
            Ended::Lacks(what) => format!("does not: {what}"),
            Ended::Resolves => "waits: it looks at addresses, and the name is not resolved".into(),
        }
    }
}

impl Router {
    /// Says of every rule that [`Self::decide`] looks at what came of it. The decision is the same.
    #[must_use]
    pub fn explain(&self, facts: &Facts<'_>) -> Explained {
        let mut gate = self.gate(facts);
        let mut tried = vec![];
        if self.strategy == RouteStrategy::AlwaysIp && self.asks_ips && !gate.open {
            return Explained { decision: Decision::NeedIps, tried };
        }
        let name = Asked::new(facts.domain());
        for step in &self.steps {
            match step {
                Step::Names(names, rules) => by_name(names, rules, facts, &name, &mut tried),
                Step::Nets(nets, rules) => by_net(nets, rules, facts, &mut gate, &mut tried),
                Step::Rule { rule, tests } => {
                    let tests = self.tests.get(tests.clone()).unwrap_or_default();
                    tried.push(single(*rule, tests, facts, &name, &mut gate));
                }
            }
            let Some(last) = tried.last() else { continue };
            let decision = match last.ended {
                Ended::Takes => Decision::To(last.rule),
                Ended::Resolves => Decision::NeedIps,
                Ended::Lacks(_) => continue,
            };
            return Explained { decision, tried };
        }
        let again = gate.met && self.strategy == RouteStrategy::IpIfNonMatch;
        Explained { decision: if again { Decision::NeedIps } else { Decision::Default }, tried }
    }
}

/// Neighbours that share one table: those before the one that takes the flow lack the same.
fn by_name(names: &Names, rules: &Range<usize>, facts: &Facts<'_>, name: &Asked<'_>, tried: &mut Vec<Tried>) {
    let hit = name.hashed().and_then(|name| names.first_of(name)).map(place);
    together(rules, hit, tried, || words::domain(names, facts), || words::no_domain(facts));
}

fn by_net(nets: &Nets, rules: &Range<usize>, facts: &Facts<'_>, gate: &mut Gate, tried: &mut Vec<Tried>) {
    if gate.stops() {
        tried.push(Tried { rule: rules.start, held: vec![], ended: Ended::Resolves });
        return;
    }
    let found = facts.ips().iter().filter_map(|ip| nets.find(*ip).map(|value| (value, *ip))).min();
    let around = || found.and_then(|(_, ip)| Some(format!("ip {ip}: {}", nets.around(ip)?))).unwrap_or_default();
    together(rules, found.map(|(value, _)| place(value)), tried, around, || words::no_ip(facts));
}

fn together(
    rules: &Range<usize>,
    hit: Option<usize>,
    tried: &mut Vec<Tried>,
    holds: impl Fn() -> String,
    lacks: impl Fn() -> String,
) {
    let before = rules.start..hit.unwrap_or(rules.end);
    tried.extend(before.map(|rule| Tried { rule, held: vec![], ended: Ended::Lacks(lacks()) }));
    tried.extend(hit.map(|rule| Tried { rule, held: vec![holds()], ended: Ended::Takes }));
}

fn single(rule: usize, tests: &[Test], facts: &Facts<'_>, name: &Asked<'_>, gate: &mut Gate) -> Tried {
    let mut held = vec![];
    for test in tests {
        if matches!(test, Test::Ip(_)) && gate.stops() {
            return Tried { rule, held, ended: Ended::Resolves };
        }
        let holds = test.holds(facts, name);
        let text = told(test, facts, holds);
        if !holds {
            return Tried { rule, held, ended: Ended::Lacks(text) };
        }
        held.push(text);
    }
    Tried { rule, held, ended: Ended::Takes }
}
