//! Why a decision is what it is, rule by rule, in words for people.
//!
//! It walks the same steps as [`Router::decide`] and asks the same tests; it only says more, and so allocates.

use std::fmt::Write;
use std::net::IpAddr;

use super::facts::Facts;
use super::index::Index;
use super::router::{Asks, Decision, Router};
use super::rule::{Asked, Test};
use super::words;

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
        let (name, asks) = (Asked::new(facts.domain()), Asks::new(self.strategy, facts));
        let mut tried = vec![];
        if self.resolves_first(asks) {
            return Explained { decision: Decision::NeedIps, tried };
        }
        let seen = Seen { index: &self.index, met: self.index.met(facts, &name), facts };
        let mut looked = false;
        for rule in 0..self.len() {
            let (held, ended) = self.single(rule, &seen, asks, &mut looked);
            let decision = match ended {
                Ended::Takes => Some(Decision::To(rule)),
                Ended::Resolves => Some(Decision::NeedIps),
                Ended::Lacks(_) => None,
            };
            tried.push(Tried { rule, held, ended });
            if let Some(decision) = decision {
                return Explained { decision, tried };
            }
        }
        let again = looked && asks == Asks::AtLast;
        Explained { decision: if again { Decision::NeedIps } else { Decision::Default }, tried }
    }

    /// What holds of a rule, and how it ends; `looked` becomes true when it looks at addresses.
    fn single(&self, rule: usize, seen: &Seen<'_, '_>, asks: Asks, looked: &mut bool) -> (Vec<String>, Ended) {
        let mut held = vec![];
        for test in self.tests(rule) {
            if test.looks_at_addresses() {
                *looked = true;
                if asks == Asks::AtOnce {
                    return (held, Ended::Resolves);
                }
            }
            match seen.told(rule, test) {
                Ok(text) => held.push(text),
                Err(text) => return (held, Ended::Lacks(text)),
            }
        }
        (held, Ended::Takes)
    }
}

/// A flow as the rules see it.
struct Seen<'s, 'f> {
    index: &'s Index,
    /// Rules whose condition on the target's name or address holds, where they are filed by it.
    met: Vec<u32>,
    facts: &'s Facts<'f>,
}

impl Seen<'_, '_> {
    /// The words of a condition, and whether it holds.
    fn told(&self, rule: usize, test: &Test) -> Result<String, String> {
        let filed = u32::try_from(rule).ok().filter(|rule| self.met.binary_search(rule).is_ok());
        match (test, filed) {
            (Test::DomainFiled, Some(rule)) => Ok(words::domain(&self.index.names, self.facts, rule)),
            (Test::DomainFiled, None) => Err(words::no_domain(self.facts)),
            (Test::IpFiled, Some(rule)) => {
                let found = |ip: &IpAddr| Some(format!("ip {ip}: {}", self.index.nets.find(*ip, rule)?));
                Ok(self.facts.ips().iter().find_map(found).unwrap_or_default())
            }
            (Test::IpFiled, None) => Err(words::no_ip(self.facts)),
            _ => {
                let holds = test.holds(self.facts);
                let text = words::told(test, self.facts, holds);
                if holds { Ok(text) } else { Err(text) }
            }
        }
    }
}
