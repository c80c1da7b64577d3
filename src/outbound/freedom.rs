//! Straight to the target.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::fragmented::Fragmented;
use super::local::local;
use super::lookup::Lookup;
use super::names::Named;
use super::noisy::{Noise, Noisy};
use super::ruled::{FinalRules, Ruled};
use super::way::begun;
use crate::addr::{Host, OutboundId, Target};
use crate::flow::{Blame, BoxPackets, BoxStream, DialError, Flow, Packets, Services, Stage};
use crate::model::outbound::SendThrough;
use crate::net::udp::Direct;
use crate::net::{SocketOptions, tcp};
use crate::proto::fragment::Fragment;
use crate::proto::haproxy::{self, Form};

mod behind;

/// The direct way.
#[derive(Debug, Default)]
pub struct Freedom {
    /// Options of the sockets.
    pub socket: SocketOptions,
    /// How names become addresses.
    pub lookup: Lookup,
    /// Another target for all flows.
    pub redirect: Redirect,
    /// The local address.
    pub through: SendThrough,
    /// The header that tells the target who the client is.
    pub header: Option<Form>,
    /// Which targets may be dialed.
    pub rules: FinalRules,
    /// How what is sent first is cut.
    pub fragment: Option<Fragment>,
    /// What is sent before the first datagram of an association.
    pub noises: Arc<[Noise]>,
    /// Another outbound, which then does the dialing.
    pub behind: Option<OutboundId>,
}

/// Parts of the target that are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redirect {
    /// Another host.
    pub host: Option<Host>,
    /// Another port.
    pub port: Option<u16>,
}

/// Time for a connection (Xray's dial time-out).
const LIMIT: Duration = Duration::from_secs(16);

impl Freedom {
    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        if let Some(outbound) = self.behind {
            // Boxed, because the direct way should not carry its size along.
            return Box::pin(self.connect_behind(cx, outbound, flow, first)).await;
        }
        let target = self.redirect.apply(flow.destination());
        let mut addresses = self.lookup.addresses(cx, &target).await?;
        if !self.rules.let_all(flow) {
            addresses = match self.rules.filter(flow, addresses) {
                Ok(addresses) => addresses,
                Err(held) => return begun(Box::new(held), BytesMut::new(), flow, first).await,
            };
        }
        let dialed = tcp::dial_from(local(self.through, flow), &addresses, &self.socket, LIMIT).await;
        let mut stream = dialed.map_err(|error| blamed(Stage::Dial, error))?;
        let Some(fragment) = &self.fragment else {
            self.open(&mut stream, &addresses, flow, first).await.map_err(|error| blamed(Stage::Handshake, error))?;
            return Ok(Box::new(stream));
        };
        // The header stays whole, and is none of the writes that are counted.
        self.open(&mut stream, &addresses, flow, b"").await.map_err(|error| blamed(Stage::Handshake, error))?;
        let stream = Fragmented::new(stream, fragment.clone());
        begun(Box::new(stream), BytesMut::new(), flow, first).await.map_err(|error| blamed(error.stage, error.source))
    }

    /// Header and first bytes leave together.
    async fn open(
        &self,
        stream: &mut TcpStream,
        addresses: &[SocketAddr],
        flow: &Flow,
        first: &[u8],
    ) -> io::Result<()> {
        if !first.is_empty() {
            flow.meter.give();
        }
        let Some(form) = self.header else { return stream.write_all(first).await };
        // With TCP Fast Open there is no peer yet, but then the first address is the one that was dialed.
        let server = stream.peer_addr().or_else(|error| addresses.first().copied().ok_or(error))?;
        let header = haproxy::header(form, flow.source, server);
        stream.write_all(&[&header[..], first].concat()).await
    }

    pub(super) async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        if let Some(outbound) = self.behind {
            return Box::pin(self.associate_behind(cx, outbound, flow)).await;
        }
        let direct = Direct::new(self.socket.bound_to(local(self.through, flow)));
        if self.rules.let_all(flow) && self.noises.is_empty() {
            return Ok(self.redirected(Named::new(direct, Arc::clone(cx), self.lookup)));
        }
        let ruled = Ruled::new(Noisy::new(direct, Arc::clone(&self.noises)), self.rules.clone(), flow);
        Ok(self.redirected(Named::new(ruled, Arc::clone(cx), self.lookup)))
    }

    fn redirected(&self, inner: impl Packets + 'static) -> BoxPackets {
        if self.redirect == Redirect::default() {
            return Box::new(inner);
        }
        Box::new(Redirected { inner, redirect: self.redirect.clone(), meant: VecDeque::new() })
    }
}

impl Redirect {
    fn apply(&self, target: &Target) -> Target {
        let host = self.host.as_ref().unwrap_or(&target.host).clone();
        Target::new(host, self.port.unwrap_or(target.port))
    }
}

fn blamed(stage: Stage, error: io::Error) -> DialError {
    let blame = if tcp::is_ours(&error) { Blame::Us } else { Blame::Target };
    DialError::new(stage, blame, error)
}

/// Datagrams that go elsewhere than they were meant for. Answers come as from where they were meant to go, since that is
/// all the client knows.
struct Redirected<P> {
    inner: P,
    redirect: Redirect,
    /// Where datagrams went and where they were meant to go, the newest first.
    meant: VecDeque<(Target, Target)>,
}

/// Targets of one association whose answers are told apart.
const MEANT: usize = 64;

impl<P: Packets> Packets for Redirected<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        let from = ready!(self.inner.poll_recv(cx, buf))?;
        // What comes from elsewhere (a name was resolved on the way) counts as an answer to what was sent last.
        let meant = self.meant.iter().find(|(went, _)| *went == from).or_else(|| self.meant.front());
        Poll::Ready(Ok(meant.map_or(from, |(_, meant)| meant.clone())))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        if self.meant.front().is_none_or(|(_, meant)| meant != peer) {
            let went = self.redirect.apply(peer);
            self.meant.retain(|(_, meant)| meant != peer);
            self.meant.truncate(MEANT - 1);
            self.meant.push_front((went, peer.clone()));
        }
        let Some((went, _)) = self.meant.front() else { return Poll::Ready(Ok(())) };
        self.inner.poll_send(cx, payload, went)
    }
}

#[cfg(test)]
mod tests;
