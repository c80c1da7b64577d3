//! From a flow to its destination: what the rules say of it.

use std::fmt;
use std::net::IpAddr;

use super::house::House;
use super::level::Level;
use super::snapshot::{Group, Snapshot};
use crate::addr::{DomainName, Tag};
use crate::flow::Flow;
use crate::model::config::Dest;
use crate::route::{Decision, Explained, Facts};

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

/// Where the rules send a flow.
pub(super) async fn head(house: &House, flow: &Flow) -> Result<Heading, Nowhere> {
    let snapshot = &*house.snapshot;
    if let Some(tag) = &flow.pin {
        let id = snapshot.tagged(tag).ok_or_else(|| Nowhere::Missing(tag.clone()))?;
        return Ok(Heading { to: Dest::Outbound(id), because: Because::Pinned });
    }
    // Tests of our own clients are answered before any rule, where a responder is configured.
    if let Some(id) = snapshot.responder(flow) {
        return Ok(Heading { to: Dest::Outbound(id), because: Because::Pinned });
    }
    if tracing::enabled!(tracing::Level::DEBUG)
        && let Some(ip) = flow.destination().host.ip().filter(|ip| snapshot.fakes.holds(*ip))
    {
        let why = "the sniffing of its inbound put no name in its place (is `fakedns` listed?)";
        tracing::debug!(flow = flow.id, "{ip} is a fake address, and {why}: nobody will answer there");
    }
    let because = match decide(snapshot, flow, None) {
        Decision::NeedIps => Box::pin(resolved(house, flow)).await,
        other => other,
    };
    heading(snapshot, because)
}

/// Where a decision leads.
pub(super) fn heading(snapshot: &Snapshot, decision: Decision) -> Result<Heading, Nowhere> {
    match decision {
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
async fn resolved(house: &House, flow: &Flow) -> Decision {
    let found = match name_of(flow) {
        // A flow that came back through a loopback was resolved for on its first way, if the rules wanted that.
        Some(name) if flow.hops == 0 && !house.asks => house.addresses(name).await.ok(),
        _ => None,
    };
    decide(&house.snapshot, flow, Some(found.as_deref().unwrap_or_default()))
}

fn decide(snapshot: &Snapshot, flow: &Flow, resolved: Option<&[IpAddr]>) -> Decision {
    let decision = asked(flow, resolved, |facts| snapshot.router.decide(facts));
    if tracing::enabled!(tracing::Level::DEBUG) && !flow.probe {
        let why = explain(snapshot, flow, resolved);
        tracing::debug!(
            flow = flow.id,
            "rules: {}",
            why.line(|at| snapshot.rules.get(at).map_or("?", |rule| &*rule.name))
        );
    }
    decision
}

/// Why the rules decide about a flow as they do.
pub(super) fn explain(snapshot: &Snapshot, flow: &Flow, resolved: Option<&[IpAddr]>) -> Explained {
    asked(flow, resolved, |facts| snapshot.router.explain(facts))
}

/// Asks with all that rules may know of a flow.
fn asked<T>(flow: &Flow, resolved: Option<&[IpAddr]>, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
    let lookup = |name: &str| flow.attributes.as_ref().and_then(|attributes| attributes.get(name));
    let destination = flow.destination();
    ask(&Facts {
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
        vless_route: flow.vless_route,
    })
}

/// The name that rules see: one that was found in the payload, or else that of the destination.
pub(super) fn name_of(flow: &Flow) -> Option<&DomainName> {
    let sniffed = flow.sniffed.as_ref().and_then(|sniffed| sniffed.domain.as_ref());
    sniffed.or_else(|| flow.destination().host.domain())
}

/// The words of a flow's debug line: which rule, and who chose among which members for what reason.
pub(super) struct Why<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) because: Because,
    pub(super) levels: &'a [Level],
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.because {
            Because::Rule(at) => write!(f, "rule {}", self.snapshot.rules.get(at).map_or("?", |rule| &*rule.name))?,
            Because::Default => f.write_str("no rule")?,
            Because::Pinned => f.write_str("forced")?,
        }
        for level in self.levels {
            let Some(Group { balancer, .. }) = self.snapshot.group(level.id) else { continue };
            write!(f, ", balancer {} ({})", balancer.tag(), balancer.strategy().as_str())?;
            let (board, member) = (balancer.board(), balancer.members().get(level.member));
            match &board.why {
                // The line of the decision names balancer and round too; what follows is news.
                Some(why) if board.serving() == Some(level.member) => {
                    write!(f, ": {}", why.find("serving ").map_or(&**why, |at| &why[at..]))?;
                }
                _ => write!(f, ": member {}", member.map_or("?", |member| member.tag.as_str()))?,
            }
        }
        Ok(())
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
