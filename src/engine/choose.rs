//! From a flow to the outbound it leaves by: rules, then balancers.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::addr::{DomainName, Hop, OutboundId, Tag};
use crate::balance::{Ask, Pick};
use crate::flow::Flow;
use crate::model::config::{BalancerId, Dest};
use crate::route::{Decision, Facts};

/// Where a flow is sent, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) to: Dest,
    pub(super) because: Because,
}

/// Who sent it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// The rule at this place.
    Rule(usize),
    /// No rule.
    Default,
    /// The flow itself names its outbound.
    Pinned,
}

/// The outbound that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) exit: OutboundId,
    /// The balancer that chose it, if one did.
    pub(super) group: Option<BalancerId>,
}

/// Why a flow leaves by no outbound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Nowhere {
    #[error("there is no outbound: flows are closed")]
    NoOutbound,
    #[error("non existing outTag: {0}: its flows are closed")]
    Missing(Tag),
    #[error("balancer {0} has no member and no fallback: its flows are closed")]
    Empty(Tag),
    #[error("no member of balancer {0} carries datagrams: they are dropped")]
    NoDatagrams(Tag),
    #[error("no member of balancer {0} is left: each is fenced or was tried for the flow, which is closed")]
    Spent(Tag),
}

/// Fallbacks in a row; links between balancers are checked when a config is made, this bounds what remains.
const FALLBACKS: usize = 8;

/// Where the rules send a flow.
pub(super) async fn head(snapshot: &Snapshot, flow: &Flow) -> Result<Heading, Nowhere> {
    if let Some(tag) = &flow.pin {
        let id = snapshot.tagged(tag).ok_or_else(|| Nowhere::Missing(tag.clone()))?;
        return Ok(Heading { to: Dest::Outbound(id), because: Because::Pinned });
    }
    let because = match decide(snapshot, flow, None) {
        Decision::NeedIps => Box::pin(resolved(snapshot, flow)).await,
        other => other,
    };
    match because {
        Decision::To(at) => {
            let rule = snapshot.rules.get(at).ok_or(Nowhere::NoOutbound)?;
            Ok(Heading { to: rule.to.clone(), because: Because::Rule(at) })
        }
        Decision::Default | Decision::NeedIps => {
            let to = snapshot.default.clone().ok_or(Nowhere::NoOutbound)?;
            Ok(Heading { to, because: Because::Default })
        }
    }
}

/// The decision once the name is resolved, or could not be.
async fn resolved(snapshot: &Snapshot, flow: &Flow) -> Decision {
    let found = match name_of(flow) {
        // A flow that came back through a loopback was resolved for on its first way, if the rules wanted that.
        Some(name) if flow.hops == 0 => snapshot.resolver.resolve(name).await.ok(),
        _ => None,
    };
    decide(snapshot, flow, Some(found.as_deref().unwrap_or_default()))
}

fn decide(snapshot: &Snapshot, flow: &Flow, resolved: Option<&[IpAddr]>) -> Decision {
    let lookup = |name: &str| flow.attributes.as_ref().and_then(|attributes| attributes.get(name));
    let destination = flow.destination();
    snapshot.router.decide(&Facts {
        inbound: flow.inbound.as_str(),
        network: flow.network,
        protocol: flow.sniffed.as_ref().map(|sniffed| sniffed.protocol).or(flow.protocol),
        name: name_of(flow),
        address: destination.host.ip(),
        port: destination.port,
        resolved,
        source: flow.source,
        local: flow.local,
        user: flow.user.as_deref(),
        attribute: flow.attributes.as_ref().map(|_| &lookup as _),
        vless_route: 0,
    })
}

/// The name that rules see: one that was found in the payload, or else that of the destination.
fn name_of(flow: &Flow) -> Option<&DomainName> {
    let sniffed = flow.sniffed.as_ref().and_then(|sniffed| sniffed.domain.as_ref());
    sniffed.or_else(|| flow.destination().host.domain())
}

/// The outbound that a destination stands for right now.
pub(super) async fn choose(shared: &Shared, snapshot: &Snapshot, to: &Dest, flow: &Flow) -> Result<Choice, Nowhere> {
    let (mut to, mut group) = (Cow::Borrowed(to), None);
    for _ in 0..FALLBACKS {
        match &*to {
            Dest::Closed(tag) => return Err(Nowhere::Missing(tag.clone())),
            Dest::Outbound(exit) => return Ok(Choice { exit: *exit, group }),
            Dest::Balancer(id) => {
                let balancer = snapshot.group(*id).ok_or(Nowhere::NoOutbound)?;
                let tag = || balancer.balancer.tag().clone();
                group = Some(*id);
                match pick(shared, &balancer.balancer, flow).await {
                    Pick::Member(_, Hop::Outbound(exit)) => return Ok(Choice { exit, group }),
                    Pick::Member(_, Hop::Balancer(inner)) => to = Cow::Owned(Dest::Balancer(inner)),
                    Pick::Fallback => {
                        to = Cow::Borrowed(balancer.fallback.as_ref().ok_or_else(|| Nowhere::Empty(tag()))?);
                    }
                    Pick::NoDatagrams => return Err(Nowhere::NoDatagrams(tag())),
                    Pick::Spent => return Err(Nowhere::Spent(tag())),
                    Pick::Empty | Pick::Wait => return Err(Nowhere::Empty(tag())),
                }
            }
        }
    }
    Err(Nowhere::NoOutbound)
}

/// A member, when the balancer is ready to name one.
async fn pick(shared: &Shared, balancer: &Arc<crate::balance::Balancer>, flow: &Flow) -> Pick {
    let ask = Ask { network: flow.network, ..Ask::TCP };
    let picked = balancer.pick(ask, &mut rand::rng());
    if picked != Pick::Wait {
        return picked;
    }
    if let Some(prober) = shared.prober.load_full() {
        Box::pin(prober.released(balancer.tag())).await;
    }
    // Nobody is left to release it if there is no prober: it must not hold flows for ever.
    balancer.release();
    balancer.pick(ask, &mut rand::rng())
}

/// The words of a flow's debug line: which rule, and who chose among the members.
pub(super) struct Why<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) because: Because,
    pub(super) group: Option<BalancerId>,
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.because {
            Because::Rule(at) => write!(f, "rule {}", self.snapshot.rules.get(at).map_or("?", |rule| &*rule.name))?,
            Because::Default => f.write_str("no rule")?,
            Because::Pinned => f.write_str("forced")?,
        }
        match self.group.and_then(|id| self.snapshot.group(id)) {
            Some(group) => write!(f, ", balancer {} ({})", group.balancer.tag(), group.balancer.strategy().as_str()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::addr::Network;
    use crate::flow::Sniffed;

    /// With `routeOnly` the target stays, and rules see the name that was found (Xray's `RouteTarget`).
    #[test]
    fn rules_see_the_name_that_was_found() {
        let nowhere = ([0; 4], 0).into();
        let mut flow = Flow::new("in".into(), Network::Tcp, nowhere, nowhere, "front.example:443".parse().unwrap());
        assert_eq!(name_of(&flow).unwrap().as_str(), "front.example");
        flow.sniffed = Some(Sniffed { protocol: "tls", domain: DomainName::new("inner.example").ok() });
        assert_eq!(name_of(&flow).unwrap().as_str(), "inner.example");
    }
}
