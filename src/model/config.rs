//! The checked whole. Names are places in lists; only [`link`](super::check::link) can make one.

pub use crate::addr::BalancerId;
use std::sync::Arc;

use crate::addr::{Hop, OutboundId, Tag};

use super::balancer::{Strategy, TcpProbe};
use super::dns::Dns;
use super::fake::FakePools;
use super::httplink::LinkedService;
use super::inbound::Inbound;
use super::log::Log;
use super::outbound::Outbound;
use super::policy::Policy;
use super::routing::{RouteStrategy, When};
use super::services::Services;

/// Where a flow is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dest {
    /// To an outbound.
    Outbound(OutboundId),
    /// To a member of a balancer.
    Balancer(BalancerId),
    /// Nowhere: the tag that was named does not exist, and the flow is closed.
    Closed(Tag),
}

/// A configuration that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Logs.
    pub log: Log,
    /// Where flows come in.
    pub inbounds: Vec<Inbound>,
    /// Where flows go out.
    pub outbounds: Vec<Outbound>,
    /// Groups of outbounds.
    pub balancers: Vec<LinkedBalancer>,
    /// When names are resolved for rules.
    pub strategy: RouteStrategy,
    /// Rules in order.
    pub rules: Vec<LinkedRule>,
    /// Where flows go that meet no rule; absent: there is no outbound at all.
    pub default: Option<Dest>,
    /// Name resolution.
    pub dns: Option<Dns>,
    /// Pools of fake addresses.
    pub fake_dns: FakePools,
    /// Times by user level.
    pub policy: Policy,
    /// Everything beside the traffic.
    pub services: Services,
    /// Reverse proxies for HTTP.
    pub http_services: Vec<LinkedService>,
    pub(super) linked: Linked,
}

/// Proof that a config went through `link`: nothing outside `model` can make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Linked(pub(super) ());

/// A balancer whose members are known.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedBalancer {
    /// Its name.
    pub tag: Tag,
    /// Members in order; may be none in a config that came from JSON.
    pub members: Vec<LinkedMember>,
    /// How one is chosen.
    pub strategy: Strategy,
    /// The check that the balancer runs itself.
    pub probe: Option<TcpProbe>,
    /// Who takes the flow when no member can.
    pub fallback: Option<Dest>,
    /// Whether a failed dial is tried again on other members, and real traffic may eject and return members.
    pub guards: bool,
}

/// A member of a balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedMember {
    /// Its tag.
    pub tag: Tag,
    /// Where it leads.
    pub hop: Hop,
}

impl LinkedMember {
    /// Its place among the outbounds, unless it is a balancer.
    #[must_use]
    pub fn outbound(&self) -> Option<OutboundId> {
        match self.hop {
            Hop::Outbound(id) => Some(id),
            Hop::Balancer(_) => None,
        }
    }
}

/// A rule whose destination is known.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedRule {
    /// Its own name, or `rules[n]`.
    pub name: String,
    /// Where matching flows go.
    pub to: Dest,
    /// The conditions.
    pub when: Arc<When>,
}

impl Config {
    /// The outbound at a place.
    #[must_use]
    pub fn outbound(&self, id: OutboundId) -> Option<&Outbound> {
        self.outbounds.get(id.index())
    }

    /// A tag for logs: of an outbound, a balancer, or of what does not exist.
    #[must_use]
    pub fn tag_of(&self, dest: &Dest) -> Tag {
        match dest {
            Dest::Outbound(id) => self.outbounds.get(id.index()).map(|o| o.tag.clone()).unwrap_or_default(),
            Dest::Balancer(id) => self.balancers.get(id.index()).map(|b| b.tag.clone()).unwrap_or_default(),
            Dest::Closed(tag) => tag.clone(),
        }
    }
}
