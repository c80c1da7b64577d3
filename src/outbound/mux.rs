//! Many flows over few connections of another outbound, as mux.cool.

use std::sync::Arc;

use bytes::BytesMut;
use rand::random;

use super::addressing::{Addressing, Targets};
use super::lanes::{Lanes, Split};
use super::pool::{Beneath, Pool};
use super::way::begun;
use crate::addr::{Network, Target};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services};
use crate::proto::mux::GlobalId;
use crate::transport::mux::{SessionPackets, SessionStream};

/// A way out that takes many flows over one connection of the way out beneath.
#[derive(Debug)]
pub struct Mux(Arc<Ways>);

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
struct Ways {
    beneath: Arc<dyn Beneath>,
    streams: Option<Pool>,
    own: Option<Pool>,
    sharing: Sharing,
    addressing: Addressing,
    /// Under which ids of associations are made.
    key: [u8; 32],
}

impl Mux {
    /// Over connections of this way out.
    #[must_use]
    pub fn new(beneath: Arc<dyn Beneath>, sharing: Sharing) -> Self {
        let pool = |open| Pool::new(Arc::clone(&beneath), open);
        let streams = sharing.streams.map(pool);
        let own = if let Datagrams::Own(open) = sharing.datagrams { Some(pool(open)) } else { None };
        Self(Arc::new(Ways { streams, own, sharing, addressing: Addressing::default(), key: random(), beneath }))
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let Some(pool) = &self.0.streams else { return self.0.beneath.stream(cx, flow, first).await };
        let seat = pool.seat(cx, flow, Network::Tcp).await?;
        let session = SessionStream::opening(seat, flow.destination().clone());
        begun(Box::new(session), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        let targets = Targets::new(self.0.addressing.clone());
        let split = Ports { ways: Arc::clone(&self.0), cx: Arc::clone(cx), flow: flow.clone(), targets };
        Ok(Box::new(Lanes::begin(split, flow.destination()).await?))
    }

    pub(super) fn waits_for_target(&self) -> bool {
        self.0.streams.is_none() && self.0.beneath.waits()
    }

    pub(super) fn carries(&self, network: Network) -> bool {
        let inside = network == Network::Udp && self.0.datagrams().is_some();
        self.0.beneath.takes(if inside { Network::Tcp } else { network })
    }
}

impl Ways {
    /// The connections that datagrams go over, if they go over any.
    fn datagrams(&self) -> Option<&Pool> {
        match self.sharing.datagrams {
            Datagrams::Shared => self.streams.as_ref(),
            Datagrams::Own(_) => self.own.as_ref(),
            Datagrams::Beside => None,
        }
    }

    async fn session(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> Result<Option<BoxPackets>, DialError> {
        let Some(pool) = self.datagrams() else { return Ok(None) };
        let seat = pool.seat(cx, flow, Network::Udp).await?;
        let server = self.addressing.clone();
        let session = SessionPackets::opening(seat, target, id).noticing(move || server.learn());
        Ok(Some(Box::new(session)))
    }

    /// By what an association is known again when its connection is another.
    fn id(&self, flow: &Flow) -> Option<GlobalId> {
        (flow.id > 0).then(|| GlobalId::new(&self.key, &format!("udp:{}#{}", flow.source, flow.id)))?
    }
}

/// The ways of one association.
struct Ports {
    ways: Arc<Ways>,
    cx: Arc<dyn Services>,
    flow: Flow,
    targets: Targets,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In a session with others.
    Inside,
    /// In a session for this target alone.
    Alone(Target),
    /// By the way out beneath.
    Beside,
}

impl Split for Ports {
    type Key = Place;

    fn key(&mut self, target: &Target) -> Option<Place> {
        match self.ways.sharing.port_443 {
            Port443::Reject if target.port == 443 => None,
            Port443::Skip if target.port == 443 => Some(Place::Beside),
            _ if self.ways.datagrams().is_none() => Some(Place::Beside),
            _ if self.targets.shares(target) => Some(Place::Inside),
            _ => Some(Place::Alone(target.clone())),
        }
    }

    fn open(&self, place: &Place, target: &Target) -> BoxFuture<'static, Result<BoxPackets, DialError>> {
        let (ways, cx, target) = (Arc::clone(&self.ways), Arc::clone(&self.cx), target.clone());
        let mut flow = self.flow.clone();
        let inside = *place != Place::Beside;
        // Known again by its id, a second session would take the place of the first.
        let id = if *place == Place::Inside { ways.id(&flow) } else { None };
        Box::pin(async move {
            if inside && let Some(session) = ways.session(&*cx, &flow, target.clone(), id).await? {
                return Ok(session);
            }
            (flow.target, flow.route_target) = (target, None);
            ways.beneath.packets(&cx, &flow).await
        })
    }
}

#[cfg(test)]
mod tests;
