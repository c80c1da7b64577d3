//! What would become of a flow: the rules and balancers are asked as for a real one, and nothing is opened.

use std::net::IpAddr;
use std::sync::Arc;

use super::choose::{Because, Heading, Nowhere, explain, heading, name_of};
use super::engine::Ready;
use super::facts::key;
use super::house::House;
use super::life::Lease;
use super::snapshot::{Group, Snapshot};
use crate::addr::{Hop, OutboundId, Tag};
use crate::balance::{Ask, Pick, Tried};
use crate::flow::Flow;
use crate::model::config::Dest;
use crate::route::{Decision, Explained};

/// What would become of a flow.
#[derive(Debug)]
pub struct Outlook {
    /// The name that rules see, if there is one.
    pub name: Option<String>,
    /// Whether the target is of a pool of fake addresses. Only the engine that gave it knows which name it means.
    pub fake: bool,
    /// Each look at the rules; the second, if there is one, knows what the name resolved to. None if no rule is asked.
    pub looks: Vec<Explained>,
    /// What the name resolved to, if the rules wanted to know; or why there is nothing.
    pub resolved: Option<Result<Arc<[IpAddr]>, String>>,
    /// The rule that takes it; absent: none does.
    pub rule: Option<usize>,
    /// The balancers on the way, the outermost first.
    pub levels: Vec<Chosen>,
    /// The outbound that it leaves by, which may have no tag; or why it leaves by none.
    pub exit: Result<Tag, String>,
}

/// A balancer on the way, and what it chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its tag.
    pub balancer: Tag,
    /// Its strategy, as TOML spells it.
    pub strategy: &'static str,
    /// The member; absent: flows leave by the fallback.
    pub member: Option<Tag>,
    /// Whether a running engine said so; otherwise it is the strategy's choice where nothing is measured.
    pub known: bool,
}

/// What a running engine says of a balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serving {
    /// Members that take new flows.
    pub members: Vec<String>,
    /// Flows leave by the fallback.
    pub leaves: bool,
}

/// Balancers and fallbacks in a row, as for a real flow.
const STEPS: usize = 16;

impl Ready {
    /// The name of a rule by its place.
    #[must_use]
    pub fn rule_name(&self, at: usize) -> String {
        self.shared.snapshot().rules.get(at).map_or_else(|| "?".into(), |rule| rule.name.to_string())
    }

    /// Finds out what would become of a flow. `serving` tells what a running engine says of a balancer, if there is one.
    /// Names are resolved as for a real flow, so servers may be asked; nothing else
    /// leaves this machine.
    pub async fn outlook(&self, flow: &Flow, serving: &(dyn Fn(&str) -> Option<Serving> + Sync)) -> Outlook {
        let house = House::now(&self.shared, &Lease::under(&self.shared.end));
        let snapshot = &*house.snapshot;
        let mut outlook = Outlook {
            name: name_of(flow).map(|name| name.as_str().to_owned()),
            fake: flow.destination().host.ip().is_some_and(|ip| snapshot.fakes.holds(ip)),
            looks: vec![],
            resolved: None,
            rule: None,
            levels: vec![],
            exit: Err(String::new()),
        };
        let heading = match snapshot.responder(flow) {
            Some(id) => Ok(Heading { to: Dest::Outbound(id), because: Because::Pinned }),
            None => heading(snapshot, outlook.look(&house, flow).await),
        };
        let exit = heading.and_then(|Heading { to, because }| {
            outlook.rule = if let Because::Rule(at) = because { Some(at) } else { None };
            outlook.walk(snapshot, flow, to, serving)
        });
        let tag = |id: OutboundId| snapshot.exit(id).map(|exit| exit.tag.clone()).unwrap_or_default();
        outlook.exit = exit.map(tag).map_err(|nowhere| nowhere.to_string());
        outlook
    }
}

impl Outlook {
    async fn look(&mut self, house: &House, flow: &Flow) -> Decision {
        let snapshot = &*house.snapshot;
        let first = explain(snapshot, flow, None);
        let decision = first.decision;
        self.looks.push(first);
        if decision != Decision::NeedIps {
            return decision;
        }
        let found = match name_of(flow) {
            Some(name) => house.addresses(name).await.map_err(|error| error.to_string()),
            None => Err("there is no name".into()),
        };
        let second = explain(snapshot, flow, Some(found.as_deref().unwrap_or_default()));
        let decision = second.decision;
        self.looks.push(second);
        self.resolved = Some(found);
        decision
    }

    fn walk(
        &mut self,
        snapshot: &Snapshot,
        flow: &Flow,
        mut to: Dest,
        serving: &(dyn Fn(&str) -> Option<Serving> + Sync),
    ) -> Result<OutboundId, Nowhere> {
        for _ in 0..STEPS {
            let id = match to {
                Dest::Closed(tag) => return Err(Nowhere::Missing(tag)),
                Dest::Outbound(exit) => return Ok(exit),
                Dest::Balancer(id) => id,
            };
            let group = snapshot.group(id).ok_or(Nowhere::NoOutbound)?;
            let tag = group.balancer.tag().clone();
            let told = serving(tag.as_str());
            let pick = pick(group, flow, told.as_ref());
            let level = |member| Chosen {
                balancer: tag.clone(),
                strategy: group.balancer.strategy().as_str(),
                member,
                known: told.is_some(),
            };
            match pick {
                Pick::Member(at, hop) => {
                    let member = group.balancer.members().get(at).map(|member| member.tag.clone());
                    self.levels.push(level(member));
                    to = match hop {
                        Hop::Outbound(id) => Dest::Outbound(id),
                        Hop::Balancer(id) => Dest::Balancer(id),
                    };
                }
                Pick::Fallback => {
                    self.levels.push(level(None));
                    to = group.fallback.clone().ok_or(Nowhere::Empty(tag))?;
                }
                Pick::NoDatagrams => return Err(Nowhere::NoDatagrams(tag)),
                Pick::Spent => return Err(Nowhere::Spent(tag)),
                Pick::Empty | Pick::Wait => return Err(Nowhere::Empty(tag)),
            }
        }
        Err(Nowhere::NoOutbound)
    }
}

/// Who takes the flow: whom a running engine names, or else the strategy's choice. Where several share, the strategy chooses,
/// and its choice counts if it is one of them.
fn pick(group: &Group, flow: &Flow, told: Option<&Serving>) -> Pick {
    let balancer = &group.balancer;
    let ask = Ask { network: flow.network, key: key(balancer, flow), tried: Tried::NONE };
    let own = balancer.pick(ask, &mut rand::rng());
    let Some(told) = told else { return own };
    if told.leaves && group.fallback.is_some() {
        return Pick::Fallback;
    }
    let serves = |at: usize| {
        balancer.members().get(at).is_some_and(|one| told.members.iter().any(|tag| *tag == *one.tag.as_str()))
    };
    if matches!(own, Pick::Member(at, _) if serves(at)) {
        return own;
    }
    let open = |at: &usize| serves(*at) && ask.open(balancer.members(), *at);
    let named =
        (0..balancer.members().len()).find(open).and_then(|at| Some(Pick::Member(at, balancer.members().get(at)?.hop)));
    named.unwrap_or(own)
}
