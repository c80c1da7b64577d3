//! Associations inside the streams of a client: as XUDP, with an address at each datagram, or by a way apart.
//!
//! Protocols differ in which targets go apart and in how either is opened; what shares a session, and under which id it is
//! known, is the same for all of them.

use std::sync::Arc;

use rand::random;

use super::addressing::{Addressing, Targets, Taught};
use super::lanes::{Lanes, Split};
use crate::addr::Target;
use crate::flow::{BoxFuture, BoxPackets, DialError, Flow, Services};
use crate::proto::mux::{GlobalId, Xudp};

/// What all associations of a client share.
#[derive(Debug)]
pub(super) struct Sessions {
    addressing: Addressing,
    /// Under which ids of associations are made.
    key: [u8; 32],
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self { addressing: Addressing::default(), key: random() }
    }

    /// What is known of the server.
    pub(super) fn addressing(&self) -> Addressing {
        self.addressing.clone()
    }

    /// The datagrams of one session.
    pub(super) fn parcel(&self, id: Option<GlobalId>) -> Taught<Xudp> {
        Taught::new(Xudp::client(id), self.addressing())
    }

    /// By what an association is known again when its connection is another.
    fn id(&self, flow: &Flow) -> Option<GlobalId> {
        (flow.id > 0).then(|| GlobalId::new(&self.key, &format!("udp:{}#{}", flow.source, flow.id)))?
    }
}

/// Where the datagrams of a target go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Into a session.
    Session,
    /// Apart, each target by a way of its own.
    EachApart,
    /// Apart, all of them together.
    Apart,
}

/// A client that takes datagrams inside its streams.
pub(super) trait Inside: Send + Sync + 'static {
    /// What its associations share.
    fn sessions(&self) -> &Sessions;

    /// Where the datagrams of a target go; `None` drops them.
    fn place(&self, target: &Target) -> Option<Place>;

    /// Opens a session, whose first datagram goes to this target.
    fn session(
        &self,
        cx: &Arc<dyn Services>,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> impl Future<Output = Result<BoxPackets, DialError>> + Send;

    /// Opens a way apart, whose first datagram goes to this target.
    fn apart(
        &self,
        cx: &Arc<dyn Services>,
        flow: &Flow,
        target: Target,
    ) -> impl Future<Output = Result<BoxPackets, DialError>> + Send;
}

/// Begins an association of a client.
///
/// # Errors
/// Whatever opening its first way gives, and a refusal where nothing may go to its target.
pub(super) async fn associate<C: Inside>(
    client: &Arc<C>,
    cx: &Arc<dyn Services>,
    flow: &Flow,
) -> Result<BoxPackets, DialError> {
    let targets = Targets::new(client.sessions().addressing());
    let ways = Ways { client: Arc::clone(client), cx: Arc::clone(cx), flow: flow.clone(), targets };
    Ok(Box::new(Lanes::begin(ways, flow.destination()).await?))
}

/// The ways of one association.
struct Ways<C> {
    client: Arc<C>,
    cx: Arc<dyn Services>,
    flow: Flow,
    targets: Targets,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// In a session with others.
    Shared,
    /// In a session for this target alone.
    Alone(Target),
    /// Apart, for this target alone.
    EachApart(Target),
    /// Apart, with others.
    Apart,
}

impl<C: Inside> Split for Ways<C> {
    type Key = Way;

    fn key(&mut self, target: &Target) -> Option<Way> {
        Some(match self.client.place(target)? {
            Place::EachApart => Way::EachApart(target.clone()),
            Place::Apart => Way::Apart,
            Place::Session if self.targets.shares(target) => Way::Shared,
            Place::Session => Way::Alone(target.clone()),
        })
    }

    fn open(&self, way: &Way, target: &Target) -> BoxFuture<'static, Result<BoxPackets, DialError>> {
        let (client, cx, flow) = (Arc::clone(&self.client), Arc::clone(&self.cx), self.flow.clone());
        let (way, target) = (way.clone(), target.clone());
        Box::pin(async move {
            match way {
                Way::Shared => client.session(&cx, &flow, target, client.sessions().id(&flow)).await,
                // Known again by its id, a second session would take the place of the first.
                Way::Alone(_) => client.session(&cx, &flow, target, None).await,
                Way::EachApart(_) | Way::Apart => client.apart(&cx, &flow, target).await,
            }
        })
    }
}
