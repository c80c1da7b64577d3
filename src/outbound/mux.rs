//! Many flows over few connections of another outbound, as mux.cool.

use std::sync::Arc;

use bytes::BytesMut;

use super::pool::{Beneath, Pool};
use super::sessions::{Inside, Place, Sessions, associate};
use super::way::begun;
use crate::addr::{Network, Target};
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services};
use crate::proto::mux::GlobalId;
use crate::transport::mux::{SessionPackets, SessionStream};

/// A way out that takes many flows over one connection of the way out beneath.
#[derive(Debug)]
pub struct Mux(Arc<Client>);

/// How flows share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// Flows of a connection at a time; `None` leaves streams to the way out beneath.
    pub streams: Option<usize>,
    /// Where datagrams go.
    pub datagrams: Datagrams,
    /// Where those for port 443 go.
    pub port_443: Port443,
}

/// Where datagrams go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datagrams {
    /// Where streams go.
    Shared,
    /// Over connections of their own, with so many associations at a time.
    Own(usize),
    /// By the way out beneath.
    Beside,
}

/// Where datagrams for port 443 go. They are most likely QUIC, which inside a stream is slower than TCP would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port443 {
    /// Nowhere, so that clients take TCP.
    Reject,
    /// Where all datagrams go.
    Allow,
    /// By the way out beneath.
    Skip,
}

#[derive(Debug)]
struct Client {
    beneath: Arc<dyn Beneath>,
    streams: Option<Pool>,
    own: Option<Pool>,
    sharing: Sharing,
    sessions: Sessions,
}

impl Mux {
    /// Over connections of this way out.
    #[must_use]
    pub fn new(beneath: Arc<dyn Beneath>, sharing: Sharing) -> Self {
        let pool = |open| Pool::new(Arc::clone(&beneath), open);
        let streams = sharing.streams.map(pool);
        let own = if let Datagrams::Own(open) = sharing.datagrams { Some(pool(open)) } else { None };
        Self(Arc::new(Client { streams, own, sharing, sessions: Sessions::new(), beneath }))
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let Some(pool) = &self.0.streams else { return self.0.beneath.stream(cx, flow, first).await };
        let seat = pool.seat(cx, flow, Network::Tcp).await?;
        let session = SessionStream::opening(seat, flow.destination().clone());
        begun(Box::new(session), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        associate(&self.0, cx, flow).await
    }

    pub(super) fn waits_for_target(&self) -> bool {
        self.0.streams.is_none() && self.0.beneath.waits()
    }

    pub(super) fn carries(&self, network: Network) -> bool {
        let inside = network == Network::Udp && self.0.datagrams().is_some();
        self.0.beneath.takes(if inside { Network::Tcp } else { network })
    }
}

impl Client {
    /// The connections that datagrams go over, if they go over any.
    fn datagrams(&self) -> Option<&Pool> {
        match self.sharing.datagrams {
            Datagrams::Shared => self.streams.as_ref(),
            Datagrams::Own(_) => self.own.as_ref(),
            Datagrams::Beside => None,
        }
    }
}

impl Inside for Client {
    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn place(&self, target: &Target) -> Option<Place> {
        match self.sharing.port_443 {
            Port443::Reject if target.port == 443 => None,
            Port443::Skip if target.port == 443 => Some(Place::Apart),
            _ if self.datagrams().is_none() => Some(Place::Apart),
            _ => Some(Place::Session),
        }
    }

    async fn session(
        &self,
        cx: &Arc<dyn Services>,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> Result<BoxPackets, DialError> {
        let Some(pool) = self.datagrams() else { return self.apart(cx, flow, target).await };
        let seat = pool.seat(&**cx, flow, Network::Udp).await?;
        let server = self.sessions.addressing();
        Ok(Box::new(SessionPackets::opening(seat, target, id).noticing(move || server.learn())))
    }

    /// By the way out beneath.
    async fn apart(&self, cx: &Arc<dyn Services>, flow: &Flow, target: Target) -> Result<BoxPackets, DialError> {
        let flow = Flow { target, route_target: None, ..flow.clone() };
        self.beneath.packets(cx, &flow).await
    }
}

#[cfg(test)]
mod tests;
