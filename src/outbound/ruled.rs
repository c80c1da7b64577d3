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
use crate::flow::{Flow, Packets, Stream};
use crate::model::fields::Networks;
use crate::model::private::is_private_ip;

/// Rules in their order; the first that matches decides. Where none does the target is dialed, but for a private one that
/// another machine asks for ([`Flow::remote`]).
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

    /// Whether nothing can be blocked for a flow.
    pub(super) fn let_all(&self, flow: &Flow) -> bool {
        self.0.is_empty() && !flow.remote
    }

    /// Whether a target must have an address, or no written rule can tell about it: there is one, and the first is not
    /// for everything.
    pub(super) fn look_at_addresses(&self) -> bool {
        self.0.first().is_some_and(|first| !first.allows_all())
    }

    /// What blocks a target, if something does.
    pub(super) fn blocking(&self, network: Network, at: SocketAddr, remote: bool) -> Option<Block<'_>> {
        match self.0.iter().find(|rule| rule.matches(network, at)) {
            Some(rule) => (!rule.allows).then_some(Block::Rule(rule)),
            None => (remote && is_private_ip(at.ip())).then_some(Block::Private),
        }
    }

    /// The addresses that may be dialed for a flow, or what is given in place of a connection if none may.
    pub(super) fn filter(&self, flow: &Flow, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Held> {
        let mut blocked = None;
        let mut allowed = addresses;
        allowed.retain(|at| {
            let block = self.blocking(Network::Tcp, *at, flow.remote);
            let allows = block.is_none();
            blocked = blocked.take().or_else(|| block.map(|block| (*at, block)));
            allows
        });
        match blocked {
            Some((at, block)) if allowed.is_empty() => {
                tracing::info!(%at, inbound = %flow.inbound, "the target is not dialed: {block}");
                Err(block.hold())
            }
            _ => Ok(allowed),
        }
    }
}

/// What keeps a target from being dialed.
#[derive(Debug)]
pub(super) enum Block<'a> {
    Rule(&'a FinalRule),
    /// The last rule that nobody wrote.
    Private,
}

/// Seconds for which a connection is kept that no written rule blocks (Xray's default).
const DELAY: RangeInclusive<u64> = 30..=90;

impl Block<'_> {
    fn hold(&self) -> Held {
        let delay = match self {
            Self::Rule(rule) => rule.delay.clone(),
            Self::Private => DELAY,
        };
        Held(Box::pin(sleep(Duration::from_secs(rand::random_range(delay)))))
    }
}

impl fmt::Display for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rule(_) => "a finalRules entry of the outbound blocks it; allow it before that entry",
            Self::Private => {
                "it is private, and whoever asks is on another machine; to allow it, write \"finalRules\": \
                 [{\"action\": \"allow\", \"ip\": [\"192.168.1.0/24\"]}] with your networks in the settings of the freedom \
                 outbound, or without \"ip\" to allow all"
            }
        })
    }
}

impl FinalRule {
    fn matches(&self, network: Network, at: SocketAddr) -> bool {
        self.networks.is_none_or(|networks| networks.contains(network))
            && self.ports.as_ref().is_none_or(|ports| ports.contains(at.port()))
            && self.addresses.as_ref().is_none_or(|addresses| addresses.contains(at.ip().to_canonical()))
    }

    fn allows_all(&self) -> bool {
        let every = self.networks.is_none_or(|networks| networks.tcp && networks.udp);
        self.allows && every && self.ports.is_none() && self.addresses.is_none()
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
    remote: bool,
    /// That something was blocked is told once loudly; each datagram would fill a disk.
    told: bool,
}

impl<P: Packets> Ruled<P> {
    pub(super) fn new(inner: P, rules: FinalRules, flow: &Flow) -> Self {
        Self { inner, rules, remote: flow.remote, told: false }
    }

    fn blocking(&self, peer: &Target) -> Option<Block<'_>> {
        self.rules.blocking(Network::Udp, peer.socket()?, self.remote)
    }
}

impl<P: Packets> Packets for Ruled<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        loop {
            buf.clear();
            let from = ready!(self.inner.poll_recv(cx, buf))?;
            if self.blocking(&from).is_none() {
                return Poll::Ready(Ok(from));
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if let Some(block) = self.blocking(peer) {
            if self.told {
                tracing::debug!(%peer, "a datagram is not sent: {block}");
            } else {
                tracing::info!(%peer, "datagrams are not sent: {block}");
            }
            self.told = true;
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
        let blocked = |network, at: &str| rules.blocking(network, at.parse().unwrap(), false).is_some();
        assert!(!blocked(Network::Tcp, "10.0.0.1:80") && blocked(Network::Tcp, "10.0.0.1:81"));
        assert!(blocked(Network::Udp, "10.0.0.1:25") && !blocked(Network::Udp, "10.0.0.2:25"));
        assert!(blocked(Network::Tcp, "10.0.0.2:25") && !blocked(Network::Tcp, "10.0.0.2:26"));
        assert!(blocked(Network::Tcp, "[::ffff:10.0.0.1]:81"));
    }

    #[test]
    fn private_targets_are_not_for_other_machines_unless_a_rule_allows_them() {
        let blocked =
            |rules: &FinalRules, at: &str, remote| rules.blocking(Network::Tcp, at.parse().unwrap(), remote).is_some();
        let none = FinalRules::default();
        assert!(blocked(&none, "192.168.1.1:80", true) && blocked(&none, "[::1]:80", true));
        assert!(!blocked(&none, "192.168.1.1:80", false) && !blocked(&none, "8.8.8.8:80", true));
        assert!(!blocked(&rules(), "10.0.0.1:80", true) && blocked(&rules(), "10.0.0.2:80", true));
        let all = FinalRules::new(vec![rule(true, None, None, None)]);
        assert!(!blocked(&all, "127.0.0.1:22", true));
    }

    #[test]
    fn a_first_rule_for_everything_needs_no_address() {
        assert!(rules().look_at_addresses() && !FinalRules::default().look_at_addresses());
        let block = || rule(false, None, None, None);
        assert!(!FinalRules::new(vec![rule(true, None, None, None), block()]).look_at_addresses());
        assert!(FinalRules::new(vec![rule(true, None, None, Some(Networks::TCP)), block()]).look_at_addresses());
        assert!(FinalRules::new(vec![block()]).look_at_addresses());
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_addresses_those_that_are_left_are_dialed() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let flow = crate::outbound::testing::flow("a.example:81");
        let left = rules().filter(&flow, vec![at("10.0.0.1:81"), at("10.0.0.2:81")]).unwrap();
        assert_eq!(left, [at("10.0.0.2:81")]);
        let mut held = rules().filter(&flow, vec![at("10.0.0.1:81")]).unwrap_err();
        held.write_all(&[0; 1000]).await.unwrap();
        let began = Instant::now();
        assert_eq!(held.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(began.elapsed().as_secs(), 30);
    }
}
