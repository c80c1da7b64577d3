//! Which targets may be dialed, asked when their addresses are known: the last word, whatever the routes said.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::addr::{Network, PortSet, Target};
use crate::flow::{Packets, Stream};
use crate::model::fields::Networks;

/// Rules in their order; the first that matches decides, and where none does the target is dialed.
#[derive(Debug, Clone, Default)]
pub struct FinalRules(Arc<[FinalRule]>);

/// A rule about targets.
#[derive(Debug)]
pub struct FinalRule {
    /// Whether targets that match are dialed.
    pub allows: bool,
    /// Networks that match; without any all do.
    pub networks: Option<Networks>,
    /// Ports that match; without any all do.
    pub ports: Option<PortSet>,
    /// Addresses that match; without any all do.
    pub addresses: Option<Box<dyn Within>>,
    /// Seconds for which a blocked connection is kept, so that whoever tries is not told at once.
    pub delay: RangeInclusive<u64>,
}

/// A set of addresses.
pub trait Within: Send + Sync + fmt::Debug {
    /// Whether this one is in it.
    fn contains(&self, ip: IpAddr) -> bool;
}

impl FinalRules {
    /// In this order.
    #[must_use]
    pub fn new(rules: Vec<FinalRule>) -> Self {
        Self(rules.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule that blocks a target, if one does.
    pub(super) fn blocking(&self, network: Network, at: SocketAddr) -> Option<&FinalRule> {
        let rule = self.0.iter().find(|rule| rule.matches(network, at))?;
        (!rule.allows).then_some(rule)
    }

    /// The addresses that may be dialed, or what is given in place of a connection if none may.
    pub(super) fn filter(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Held> {
        let mut blocked = None;
        let mut allowed = addresses;
        allowed.retain(|at| {
            let rule = self.blocking(Network::Tcp, *at);
            blocked = blocked.or_else(|| rule.map(|rule| (*at, rule)));
            rule.is_none()
        });
        match blocked {
            Some((at, rule)) if allowed.is_empty() => {
                tracing::info!(%at, "a finalRules entry of the outbound blocks the target; allow it before that entry");
                Err(rule.hold())
            }
            _ => Ok(allowed),
        }
    }
}

impl FinalRule {
    fn matches(&self, network: Network, at: SocketAddr) -> bool {
        self.networks.is_none_or(|networks| networks.contains(network))
            && self.ports.as_ref().is_none_or(|ports| ports.contains(at.port()))
            && self.addresses.as_ref().is_none_or(|addresses| addresses.contains(at.ip().to_canonical()))
    }

    fn hold(&self) -> Held {
        let delay = rand::random_range(self.delay.clone());
        Held(Box::pin(sleep(Duration::from_secs(delay))))
    }
}

/// A connection to nobody: it swallows what it is told, and ends after a while.
#[derive(Debug)]
pub(super) struct Held(Pin<Box<Sleep>>);

impl AsyncRead for Held {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl AsyncWrite for Held {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Held {}

/// Datagrams to and from targets that may be spoken to; others vanish.
pub(super) struct Ruled<P> {
    inner: P,
    rules: FinalRules,
}

impl<P: Packets> Ruled<P> {
    pub(super) fn new(inner: P, rules: FinalRules) -> Self {
        Self { inner, rules }
    }

    fn blocks(&self, peer: &Target) -> bool {
        peer.socket().is_some_and(|at| self.rules.blocking(Network::Udp, at).is_some())
    }
}

impl<P: Packets> Packets for Ruled<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        loop {
            buf.clear();
            let from = ready!(self.inner.poll_recv(cx, buf))?;
            if !self.blocks(&from) {
                return Poll::Ready(Ok(from));
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if self.blocks(peer) {
            tracing::debug!(%peer, "a finalRules entry of the outbound blocks a datagram");
            return Poll::Ready(Ok(()));
        }
        self.inner.poll_send(cx, payload, peer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    #[derive(Debug)]
    struct Only(IpAddr);

    impl Within for Only {
        fn contains(&self, ip: IpAddr) -> bool {
            self.0 == ip
        }
    }

    fn rule(allows: bool, ip: Option<&str>, port: Option<u16>, networks: Option<Networks>) -> FinalRule {
        let addresses = ip.map(|ip| Box::new(Only(ip.parse().unwrap())) as Box<dyn Within>);
        FinalRule { allows, networks, ports: port.map(PortSet::one), addresses, delay: 30..=30 }
    }

    fn rules() -> FinalRules {
        FinalRules::new(vec![
            rule(true, Some("10.0.0.1"), Some(80), None),
            rule(false, Some("10.0.0.1"), None, None),
            rule(false, None, Some(25), Some(Networks::TCP)),
        ])
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = rules();
        let blocked = |network, at: &str| rules.blocking(network, at.parse().unwrap()).is_some();
        assert!(!blocked(Network::Tcp, "10.0.0.1:80") && blocked(Network::Tcp, "10.0.0.1:81"));
        assert!(blocked(Network::Udp, "10.0.0.1:25") && !blocked(Network::Udp, "10.0.0.2:25"));
        assert!(blocked(Network::Tcp, "10.0.0.2:25") && !blocked(Network::Tcp, "10.0.0.2:26"));
        assert!(blocked(Network::Tcp, "[::ffff:10.0.0.1]:81"));
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_addresses_those_that_are_left_are_dialed() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let left = rules().filter(vec![at("10.0.0.1:81"), at("10.0.0.2:81")]).unwrap();
        assert_eq!(left, [at("10.0.0.2:81")]);
        let mut held = rules().filter(vec![at("10.0.0.1:81")]).unwrap_err();
        held.write_all(&[0; 1000]).await.unwrap();
        let began = Instant::now();
        assert_eq!(held.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(began.elapsed().as_secs(), 30);
    }
}
