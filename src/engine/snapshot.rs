//! All that a flow needs, made at once from one config and never changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::life::Life;
use crate::addr::{OutboundId, Tag};
use crate::balance::Balancer;
use crate::dns::{Dns, Fakes};
use crate::flow::Flow;
use crate::model::config::{BalancerId, Dest};
use crate::model::fields::DomainStrategy;
use crate::model::policy::{LevelPolicy, Policy};
use crate::net::Limits;
use crate::outbound::Outbound;
use crate::route::Router;
use crate::tls::Crypto;

/// One moment of the house.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Counts the snapshots of an engine; places in their lists mean the same only within one.
    pub(super) generation: u64,
    /// The compiled rules.
    pub(super) router: Router,
    /// Where each rule leads, in the router's order.
    pub(super) rules: Box<[Rule]>,
    /// Where flows go that meet no rule; absent: there is no outbound.
    pub(super) default: Option<Dest>,
    /// The outbounds in their order.
    pub(super) exits: Box<[Exit]>,
    /// Those of them that answer tests themselves.
    pub(super) responders: Box<[OutboundId]>,
    /// The balancers in their order.
    pub(super) groups: Box<[Group]>,
    /// Names to addresses.
    pub(super) dns: Dns,
    /// Fake addresses to names.
    pub(super) fakes: Fakes,
    /// Idle limits by user level.
    pub(super) levels: Levels,
    /// What its TLS parts share.
    pub(super) crypto: Crypto,
}

/// What the engine knows of a rule beside its conditions.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its name, or its place.
    pub(super) name: Box<str>,
    /// Where it leads.
    pub(super) to: Dest,
}

/// An outbound.
#[derive(Debug)]
pub(super) struct Exit {
    pub(super) tag: Tag,
    /// What runs; a later snapshot has the same if nothing of it changed.
    pub(super) outbound: Arc<Outbound>,
    /// How names become addresses before the outbound sees them.
    pub(super) strategy: DomainStrategy,
    /// How long its flows may go on.
    pub(super) life: Arc<Life>,
}

/// A balancer with the way out of it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) balancer: Arc<Balancer>,
    pub(super) fallback: Option<Dest>,
    /// Whether flows that fail are tried again on another member.
    pub(super) guards: bool,
}

impl Snapshot {
    pub(super) fn exit(&self, id: OutboundId) -> Option<&Exit> {
        self.exits.get(id.index())
    }

    pub(super) fn group(&self, id: BalancerId) -> Option<&Group> {
        self.groups.get(id.index())
    }

    /// What a destination of an earlier snapshot is in this one, if it goes on.
    pub(super) fn goes_on(&self, earlier: &Self, to: &Dest) -> Option<Dest> {
        match to {
            Dest::Outbound(id) => {
                let life = &earlier.exit(*id)?.life;
                let at = self.exits.iter().position(|exit| Arc::ptr_eq(&exit.life, life))?;
                u32::try_from(at).ok().map(|at| Dest::Outbound(OutboundId(at)))
            }
            Dest::Balancer(id) => {
                let tag = earlier.group(*id)?.balancer.tag();
                self.group_tagged(tag).map(Dest::Balancer)
            }
            Dest::Closed(tag) => Some(Dest::Closed(tag.clone())),
        }
    }

    /// The outbound that answers this flow itself, whatever the rules say.
    pub(super) fn responder(&self, flow: &Flow) -> Option<OutboundId> {
        let answers = |id: &OutboundId| {
            self.exit(*id).is_some_and(|exit| matches!(&*exit.outbound, Outbound::Responder(one) if one.answers(flow)))
        };
        self.responders.iter().copied().find(answers)
    }

    /// The outbound with a tag.
    pub(super) fn tagged(&self, tag: &Tag) -> Option<OutboundId> {
        let at = self.exits.iter().position(|exit| exit.tag == *tag)?;
        u32::try_from(at).ok().map(OutboundId)
    }

    /// The balancer with a tag.
    pub(super) fn group_tagged(&self, tag: &Tag) -> Option<BalancerId> {
        let at = self.groups.iter().position(|group| group.balancer.tag() == tag)?;
        u32::try_from(at).ok().map(BalancerId)
    }
}

/// Idle limits by user level.
#[derive(Debug)]
pub(super) struct Levels {
    usual: Limits,
    written: HashMap<u32, Limits>,
}

impl Levels {
    pub(super) fn new(policy: &Policy) -> Self {
        let levels = policy.levels.iter().filter_map(|(level, set)| Some((level.trim().parse().ok()?, limits(set))));
        Self { usual: limits(&LevelPolicy::default()), written: levels.collect() }
    }

    pub(super) fn of(&self, level: u32) -> Limits {
        self.written.get(&level).copied().unwrap_or(self.usual)
    }
}

fn limits(level: &LevelPolicy) -> Limits {
    Limits {
        // Xray would end every flow at once; whoever writes 0 means that flows may be quiet.
        idle: Some(level.conn_idle.0).filter(|idle| *idle > Duration::ZERO),
        uplink_only: level.uplink_only.0,
        downlink_only: level.downlink_only.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Seconds;

    #[test]
    fn levels_that_are_not_written_have_the_defaults() {
        let set = LevelPolicy { conn_idle: Seconds(Duration::ZERO), ..LevelPolicy::default() };
        let policy = Policy { levels: [("7".to_owned(), set)].into(), ..Policy::default() };
        let levels = Levels::new(&policy);
        assert_eq!(levels.of(0).idle, Some(Duration::from_secs(300)));
        assert_eq!(levels.of(7).idle, None);
        assert_eq!(levels.of(7).uplink_only, Duration::from_secs(1));
    }
}
