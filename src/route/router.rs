//! All rules, and the decision.

use std::ops::Range;

use super::error::{Fault, RuleError};
use super::facts::Facts;
use super::rule::{Asked, Test, compile};
use crate::geo::{CompileError, Lists, Names, Nets};
use crate::model::matcher::{DomainRules, IpRules, IpSet};
use crate::model::routing::{RouteStrategy, When};

/// Compiled rules.
#[derive(Debug, Default)]
pub struct Router {
    pub(super) strategy: RouteStrategy,
    pub(super) steps: Box<[Step]>,
    /// The tests of all single rules, one behind the other.
    pub(super) tests: Box<[Test]>,
    /// Whether any rule looks at addresses of the target.
    pub(super) asks_ips: bool,
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

/// Rules that are tried together.
#[derive(Debug)]
pub(super) enum Step {
    /// Neighbours that ask for the target's name alone, and their places.
    Names(Box<Names>, Range<usize>),
    /// Neighbours that ask for the target's address alone, and their places.
    Nets(Box<Nets>, Range<usize>),
    /// Any other rule: its place and where its tests are.
    Rule { rule: usize, tests: Range<usize> },
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
        let named = |at: usize| {
            let name = rules.get(at).map_or("", |rule| rule.0).to_owned();
            move |what| RuleError { name, what }
        };
        let (mut steps, mut tests) = (vec![], vec![]);
        let mut at = 0;
        while let Some((_, when)) = rules.get(at) {
            let shape = Shape::of(when);
            let run = || rules[at..].iter().take_while(|rule| Shape::of(rule.1) == shape).count();
            match shape {
                Shape::Names => {
                    let run = run();
                    let all = rules[at..at + run].iter().zip(at..);
                    let pairs = all.flat_map(|((_, when), n)| when.domain.0.iter().map(move |rule| (rule, value(n))));
                    let names =
                        Names::compile(pairs, lists).map_err(|error| blame(error, lists, &rules, at..at + run))?;
                    steps.push(Step::Names(Box::new(names), at..at + run));
                    at += run;
                }
                Shape::Nets => {
                    let run = run();
                    let all = rules[at..at + run].iter().zip(at..);
                    let pairs = all.flat_map(|((_, when), n)| plain_nets(&when.ip).map(move |net| (net, value(n))));
                    steps.push(Step::Nets(Box::new(Nets::new(pairs)), at..at + run));
                    at += run;
                }
                Shape::Other => {
                    let from = tests.len();
                    tests.extend(compile(when, lists).map_err(named(at))?);
                    steps.push(Step::Rule { rule: at, tests: from..tests.len() });
                    at += 1;
                }
            }
        }
        let asks_ips = rules.iter().any(|rule| !rule.1.ip.0.is_empty());
        Ok(Self { strategy, steps: steps.into(), tests: tests.into(), asks_ips })
    }

    /// Finds the first rule that takes the flow.
    ///
    /// `IPIfNonMatch` is two calls: the first tries names and addresses as they are, the second all rules once more with
    /// what the name resolved to. Nothing is resolved while no condition is reached that would look at it.
    #[must_use]
    pub fn decide(&self, facts: &Facts<'_>) -> Decision {
        let mut gate = self.gate(facts);
        if self.strategy == RouteStrategy::AlwaysIp && self.asks_ips && !gate.open {
            return Decision::NeedIps;
        }
        let name = Asked::new(facts.domain());
        for step in &self.steps {
            let hit = match step {
                Step::Names(names, _) => name.hashed().and_then(|name| names.first_of(name)).map(place),
                Step::Nets(..) if gate.stops() => return Decision::NeedIps,
                Step::Nets(nets, _) => facts.ips().iter().filter_map(|ip| nets.find(*ip)).min().map(place),
                Step::Rule { rule, tests } => match self.tries(tests.clone(), facts, &name, &mut gate) {
                    Outcome::Holds => Some(*rule),
                    Outcome::Fails => None,
                    Outcome::Asks => return Decision::NeedIps,
                },
            };
            if let Some(rule) = hit {
                return Decision::To(rule);
            }
        }
        if gate.met && self.strategy == RouteStrategy::IpIfNonMatch { Decision::NeedIps } else { Decision::Default }
    }

    pub(super) fn gate(&self, facts: &Facts<'_>) -> Gate {
        Gate { open: !facts.can_resolve(), on_demand: self.strategy == RouteStrategy::IpOnDemand, met: false }
    }

    fn tries(&self, tests: Range<usize>, facts: &Facts<'_>, name: &Asked<'_>, gate: &mut Gate) -> Outcome {
        for test in self.tests.get(tests).unwrap_or_default() {
            if matches!(test, Test::Ip(_)) && gate.stops() {
                return Outcome::Asks;
            }
            if !test.holds(facts, name) {
                return Outcome::Fails;
            }
        }
        Outcome::Holds
    }
}

/// Stands before conditions on the target's address.
pub(super) struct Gate {
    /// Nothing more can be learnt by resolving.
    pub(super) open: bool,
    on_demand: bool,
    /// Somebody came by while more could be learnt.
    pub(super) met: bool,
}

impl Gate {
    /// Whether the name must be resolved before going on.
    pub(super) fn stops(&mut self) -> bool {
        self.met |= !self.open;
        !self.open && self.on_demand
    }
}

enum Outcome {
    Holds,
    Fails,
    Asks,
}

/// What a rule asks, as far as it decides with whom it can be tried together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Names,
    Nets,
    Other,
}

impl Shape {
    fn of(when: &When) -> Self {
        let (names, ips) = (!when.domain.0.is_empty(), !when.ip.0.is_empty());
        let plain = || when.ip.0.iter().all(|rule| !rule.negated && matches!(rule.set, IpSet::Net(_)));
        match (names, ips) {
            (true, false) if nothing_else(when) => Self::Names,
            (false, true) if plain() && nothing_else(when) => Self::Nets,
            _ => Self::Other,
        }
    }
}

/// Whether nothing is asked but the target's name and address.
fn nothing_else(when: &When) -> bool {
    let When {
        domain: _,
        ip: _,
        source,
        local,
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
    ports.iter().all(|set| set.is_none())
        && network.is_none()
        && [source, local].iter().all(|list| list.0.is_empty())
        && [user, protocol, process, local_os].iter().all(|list| list.is_empty())
        && inbound.is_empty()
        && attrs.is_empty()
}

fn plain_nets(rules: &IpRules) -> impl Iterator<Item = ipnet::IpNet> + '_ {
    rules.0.iter().filter_map(|rule| match rule.set {
        IpSet::Net(net) => Some(net),
        IpSet::List(_) => None,
    })
}

/// Finds out which of several rules is the bad one, to name it.
fn blame(error: CompileError, lists: &Lists, rules: &[(&str, &When)], among: Range<usize>) -> RuleError {
    let bad = |domain: &DomainRules| Names::compile(domain.0.iter().map(|rule| (rule, 0)), lists).is_err();
    let found = rules.get(among).unwrap_or_default().iter().find(|rule| bad(&rule.1.domain));
    RuleError { name: found.map_or("", |rule| rule.0).to_owned(), what: Fault::Set(error) }
}

fn value(rule: usize) -> u32 {
    u32::try_from(rule).unwrap_or(u32::MAX - 1)
}

pub(super) fn place(value: u32) -> usize {
    value as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
