//! Through a VMess server.
//!
//! The header leaves with the first bytes, and no answer is waited for: a stream is ready as soon as the way is. Datagrams go
//! as XUDP with an address at each, so that anybody may answer; those for ports 53 and 443, where one target is all that is
//! meant, go by the protocol's own command, as in Xray. A server that passes addresses over gets a connection a target.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use rand::rngs::StdRng;
use rand::{SeedableRng, random};

use super::addressing::{Addressing, Targets, Taught};
use super::lanes::{Lanes, Split};
use super::rotation::Rotation;
use super::silence::{Listening, Silence};
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services};
use crate::net::{Framed, Parceled};
use crate::proto::mux::{GlobalId, Xudp, is_carrier};
use crate::proto::vmess::{Account, Command, Opener, Options, Request, Sealer, Security, seal_request};
use crate::wire::Frames;

/// A VMess client.
#[derive(Debug)]
pub struct Vmess(Arc<Client>);

#[derive(Debug)]
struct Client {
    way: Way,
    servers: Rotation<VmessServer>,
    silence: Arc<Silence>,
    addressing: Addressing,
    /// Under which ids of associations are made.
    key: [u8; 32],
}

/// A server, and who we are there.
#[derive(Debug)]
pub struct VmessServer {
    /// Where it is.
    pub address: Target,
    /// Our keys.
    pub account: Account,
    /// How bodies are sealed.
    pub security: Security,
    /// How they are cut.
    pub options: Options,
    /// The server is told when we have said all.
    pub ending: bool,
}

/// How long the header waits for the client's first bytes (Xray's wait).
const HOLD: Duration = Duration::from_millis(100);

impl Vmess {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<VmessServer>) -> Self {
        let silence = Arc::new(Silence::default());
        let (way, servers, addressing) = (way.into(), Rotation::new(servers), Addressing::default());
        Self(Arc::new(Client { way, servers, silence, addressing, key: random() }))
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let (io, server) = self.0.open(cx, flow).await?;
        let target = flow.destination();
        let command = if is_carrier(target) { Command::Mux } else { Command::Tcp(target.clone()) };
        let (seal, open) = self.0.body(server, command, server.options);
        let framed = Framed::new(io, BytesMut::new(), seal, open).within(HOLD);
        begun(Box::new(framed), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        let targets = Targets::new(self.0.addressing.clone());
        let ways = Ways { client: Arc::clone(&self.0), cx: Arc::clone(cx), flow: flow.clone(), targets };
        Ok(Box::new(Lanes::begin(ways, flow.destination()).await?))
    }
}

impl Client {
    /// A connection to the first server that can be reached.
    async fn open(&self, cx: &dyn Services, flow: &Flow) -> Result<(BoxStream, &VmessServer), DialError> {
        self.way.open_any(cx, flow, &self.servers, |server| &server.address).await
    }

    fn body(&self, server: &VmessServer, command: Command, options: Options) -> (Sealer, Listening) {
        let mut rng = StdRng::from_rng(&mut rand::rng());
        let request = Request::new(command, options, server.security, &mut rng);
        let head = seal_request(&server.account, &request, now(), &mut rng);
        let seal = Sealer::client(&request, head, server.ending, rng);
        (seal, Listening::new(Opener::client(&request), Arc::clone(&self.silence)))
    }

    /// Datagrams with their addresses.
    async fn roaming(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(cx, flow).await?;
        let (seal, open) = self.body(server, Command::Mux, server.options);
        let framed = Framed::new(io, BytesMut::new(), seal, open);
        let parcel = Taught::new(Xudp::client(id), self.addressing.clone());
        Ok(Box::new(Parceled::new(framed, BytesMut::new(), parcel, target)))
    }

    /// By what an association is known again when its connection is another.
    fn id(&self, flow: &Flow) -> Option<GlobalId> {
        (flow.id > 0).then(|| GlobalId::new(&self.key, &format!("udp:{}#{}", flow.source, flow.id)))?
    }

    /// Datagrams of one target.
    async fn fixed(&self, cx: &dyn Services, flow: &Flow, target: Target) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(cx, flow).await?;
        // Without chunks no datagram would end, so they come where the body is bare otherwise.
        let chunked = Options::CHUNKS.with(Options::MASKED);
        let options = if server.options.has(Options::CHUNKS) { server.options } else { chunked };
        let (seal, open) = self.body(server, Command::Udp(target.clone()), options);
        Ok(Box::new(Parceled::new(io, BytesMut::new(), Frames::new(seal, open), target)))
    }
}

/// The ways of one association.
struct Ways {
    client: Arc<Client>,
    cx: Arc<dyn Services>,
    flow: Flow,
    targets: Targets,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// By the protocol's own command.
    Fixed(Target),
    /// As XUDP, for this target alone.
    Alone(Target),
    /// As XUDP, with others.
    Shared,
}

impl Split for Ways {
    type Key = Kind;

    fn key(&mut self, target: &Target) -> Option<Kind> {
        Some(match target.port {
            53 | 443 => Kind::Fixed(target.clone()),
            _ if self.targets.shares(target) => Kind::Shared,
            _ => Kind::Alone(target.clone()),
        })
    }

    fn open(&self, key: &Kind, target: &Target) -> BoxFuture<'static, Result<BoxPackets, DialError>> {
        let (client, cx, flow) = (Arc::clone(&self.client), Arc::clone(&self.cx), self.flow.clone());
        let (key, target) = (key.clone(), target.clone());
        Box::pin(async move {
            match key {
                Kind::Fixed(target) => client.fixed(&*cx, &flow, target).await,
                // Known again by its id, a second session would take the place of the first.
                Kind::Alone(target) => client.roaming(&*cx, &flow, target, None).await,
                Kind::Shared => client.roaming(&*cx, &flow, target, client.id(&flow)).await,
            }
        })
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
