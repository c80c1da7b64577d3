//! Which rules are worth trying, found by what a flow is rather than by walking all rules.
//!
//! Every rule is filed by one of its conditions, the one that most flows fail; a flow then meets only the rules whose filed
//! condition it meets, however many there are and in whatever order they stand.

use std::cmp::Ordering;

use crate::addr::Tag;
use crate::geo::{Builder, CompileError, Lists, Names, Nested};
use crate::model::matcher::{IpRules, IpSet};
use crate::model::routing::When;

use super::facts::Facts;
use super::filed::{Filed, few};
use super::rule::Asked;

/// Rules by one condition each.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By the target's name.
    pub(super) names: Names,
    /// By the target's address.
    pub(super) nets: Nested,
    /// By the client's address.
    sources: Nested,
    /// By the inbound.
    inbounds: Exact<Tag>,
    /// By the user.
    users: Exact<Box<str>>,
    /// By the target's port.
    ports: Exact<u16>,
    /// Those that are filed by nothing, in their order.
    rest: Box<[u32]>,
}

impl Index {
    /// Files rules by their places.
    ///
    /// # Errors
    /// The place of a rule whose names do not compile, if it is known, and why.
    pub(super) fn compile<'r>(
        rules: impl Iterator<Item = (u32, &'r When)>,
        lists: &Lists,
    ) -> Result<Self, (Option<u32>, CompileError)> {
        let mut names = Builder::default();
        let (mut nets, mut sources) = (vec![], vec![]);
        let (mut inbounds, mut users, mut ports, mut rest) = (vec![], vec![], vec![], vec![]);
        for (at, when) in rules {
            match Filed::of(when) {
                Filed::Domain => {
                    for rule in &when.domain.0 {
                        names.rule(rule, at, lists).map_err(|error| (Some(at), error))?;
                    }
                }
                Filed::Ip => nets.extend(plain_nets(&when.ip).map(|net| (net, at))),
                Filed::Source => sources.extend(plain_nets(&when.source).map(|net| (net, at))),
                Filed::Inbound => inbounds.extend(when.inbound.iter().map(|tag| (tag.clone(), at))),
                Filed::User => users.extend(when.user.iter().map(|user| (user.as_str().into(), at))),
                Filed::Port => ports.extend(when.port.iter().flat_map(few).map(|port| (port, at))),
                Filed::Nowhere => rest.push(at),
            }
        }
        Ok(Self {
            names: names.finish().map_err(|error| (None, error))?,
            nets: Nested::new(nets),
            sources: Nested::new(sources),
            inbounds: Exact::new(inbounds),
            users: Exact::new(users),
            ports: Exact::new(ports),
            rest: rest.into(),
        })
    }

    /// The first rule before `below` that holds, of all that are worth trying.
    pub(super) fn first_where(
        &self,
        facts: &Facts<'_>,
        name: &Asked<'_>,
        below: u32,
        mut holds: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let mut best = below;
        let mut offer = |rule: u32, best: &mut u32| {
            if rule < *best && holds(rule) {
                *best = rule;
            }
        };
        // What costs least comes first; what it finds spares the rest most of its work.
        for rule in self.rest.iter().take_while(|rule| **rule < below) {
            offer(*rule, &mut best);
            if best < below {
                break;
            }
        }
        self.ports.each(|port| port.cmp(&facts.port), |rule| offer(rule, &mut best));
        self.inbounds.each(|tag| tag.as_str().cmp(facts.inbound), |rule| offer(rule, &mut best));
        if let Some(user) = facts.user {
            self.users.each(|known| (**known).cmp(user), |rule| offer(rule, &mut best));
        }
        if !self.sources.is_empty() {
            self.sources.each(facts.source.ip(), |rule| offer(rule, &mut best));
        }
        if !self.nets.is_empty() {
            facts.ips().iter().for_each(|ip| self.nets.each(*ip, |rule| offer(rule, &mut best)));
        }
        if !self.names.is_empty()
            && let Some(name) = name.hashed()
        {
            best = self.names.first_where(name, best, holds).unwrap_or(best);
        }
        (best < below).then_some(best)
    }

    /// The rules whose filed condition on the target's name or address holds, sorted.
    pub(super) fn met(&self, facts: &Facts<'_>, name: &Asked<'_>) -> Vec<u32> {
        let mut all = vec![];
        facts.ips().iter().for_each(|ip| self.nets.each(*ip, |rule| all.push(rule)));
        if let Some(name) = name.hashed() {
            self.names.each_of(name, |rule| all.push(rule));
        }
        all.sort_unstable();
        all
    }
}

fn plain_nets(rules: &IpRules) -> impl Iterator<Item = ipnet::IpNet> + '_ {
    rules.0.iter().filter_map(|rule| match rule.set {
        IpSet::Net(net) => Some(net),
        IpSet::List(_) => None,
    })
}

/// Rules by keys that are equal or not.
#[derive(Debug)]
struct Exact<K>(Box<[(K, u32)]>);

impl<K> Default for Exact<K> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<K: Ord> Exact<K> {
    fn new(mut all: Vec<(K, u32)>) -> Self {
        all.sort_unstable();
        all.dedup();
        Self(all.into())
    }

    /// Gives the rules of a key, which `ordered` compares with; in their order.
    fn each(&self, ordered: impl Fn(&K) -> Ordering, take: impl FnMut(u32)) {
        let from = self.0.partition_point(|(key, _)| ordered(key) == Ordering::Less);
        let same = self.0[from..].iter().take_while(|(key, _)| ordered(key) == Ordering::Equal);
        same.map(|(_, rule)| *rule).for_each(take);
    }
}
