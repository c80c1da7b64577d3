//! The direct way, where another outbound does the dialing.

use std::sync::Arc;

use bytes::BytesMut;

use super::Freedom;
use crate::addr::{Network, OutboundId, Target};
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Packets, Services, Via};
use crate::outbound::fragmented::Fragmented;
use crate::outbound::lookup::{Lookup, Source};
use crate::outbound::names::Named;
use crate::outbound::noisy::Noisy;
use crate::outbound::ruled::{Held, Ruled};
use crate::outbound::way::{begun, hop};
use crate::proto::haproxy;

impl Freedom {
    pub(super) async fn connect_behind(
        &self,
        cx: &dyn Services,
        outbound: OutboundId,
        flow: &Flow,
        first: &[u8],
    ) -> Result<BoxStream, DialError> {
        let target = match self.told(cx, flow, self.redirect.apply(flow.destination())).await? {
            Ok(target) => target,
            Err(held) => return begun(Box::new(held), BytesMut::new(), flow, first).await,
        };
        let (via, hop) = (Via::Outbound(outbound), self.hop(flow, Network::Tcp, &target)?);
        let server = target.socket().unwrap_or(flow.local);
        let header = self.header.map_or_else(Vec::new, |form| haproxy::header(form, flow.source, server));
        if let Some(fragment) = &self.fragment {
            // The header stays whole, and is none of the writes that are counted.
            let stream = Fragmented::new(cx.dial(via, &hop, &header).await?, fragment.clone());
            return begun(Box::new(stream), BytesMut::new(), flow, first).await;
        }
        if header.is_empty() {
            return cx.dial(via, &hop, first).await;
        }
        cx.dial(via, &hop, &[&header, first].concat()).await
    }

    pub(super) async fn associate_behind(
        &self,
        cx: &Arc<dyn Services>,
        outbound: OutboundId,
        flow: &Flow,
    ) -> Result<BoxPackets, DialError> {
        let target = self.redirect.apply(flow.destination());
        let inner = cx.associate(Via::Outbound(outbound), &self.hop(flow, Network::Udp, &target)?).await?;
        let noisy = Noisy::new(inner, Arc::clone(&self.noises));
        if self.rules.let_all(flow) {
            return Ok(self.named_behind(cx, noisy));
        }
        Ok(self.named_behind(cx, Ruled::new(noisy, self.rules.clone(), flow)))
    }

    /// The flow as the other outbound sees it. Its target is still the client's choice, unless it was replaced.
    fn hop(&self, flow: &Flow, network: Network, target: &Target) -> Result<Flow, DialError> {
        let mut hop = hop(flow, network, target)?;
        hop.remote = flow.remote && self.redirect.host.is_none();
        Ok(hop)
    }

    fn named_behind(&self, cx: &Arc<dyn Services>, inner: impl Packets + 'static) -> BoxPackets {
        match self.lookup_behind() {
            None => self.redirected(inner),
            Some((lookup, NoAddress::Fails)) => self.redirected(Named::new(inner, Arc::clone(cx), lookup)),
            Some((lookup, NoAddress::Keeps)) => self.redirected(Named::keeping(inner, Arc::clone(cx), lookup)),
        }
    }

    /// What the other outbound is told of a target, or what is given in place of a connection if a rule blocks it.
    async fn told(&self, cx: &dyn Services, flow: &Flow, target: Target) -> Result<Result<Target, Held>, DialError> {
        let addresses = match self.lookup_behind() {
            Some((lookup, without)) => match (lookup.addresses(cx, &target).await, without) {
                (Ok(addresses), _) => addresses,
                (Err(_), NoAddress::Keeps) => return Ok(Ok(target)),
                (Err(error), NoAddress::Fails) => return Err(error),
            },
            None => target.socket().into_iter().collect(),
        };
        if addresses.is_empty() {
            return Ok(Ok(target));
        }
        Ok(self.rules.filter(flow, addresses).map(|left| left.first().map_or(target, |first| (*first).into())))
    }

    /// How names become addresses before the other outbound is told of them; without an answer it gets the names. Rules
    /// that look at addresses cannot do without. For the one that nobody wrote, about private targets, names are not asked
    /// after here: whoever resolves them knows what is near.
    fn lookup_behind(&self) -> Option<(Lookup, NoAddress)> {
        if self.rules.look_at_addresses() {
            return Some((self.lookup, NoAddress::Fails));
        }
        match self.lookup.source {
            Source::System => None,
            Source::DnsFirst => Some((Lookup { source: Source::Dns, ..self.lookup }, NoAddress::Keeps)),
            Source::Dns => Some((self.lookup, NoAddress::Fails)),
        }
    }
}

/// What becomes of a name that has no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoAddress {
    /// It is nobody's.
    Fails,
    /// The other outbound may know it.
    Keeps,
}
