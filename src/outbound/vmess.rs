//! Through a VMess server.
//!
//! The header leaves with the first bytes, and no answer is waited for: a stream is ready as soon as the way is. Datagrams go
//! as XUDP with an address at each, so that anybody may answer; those for ports 53 and 443, where one target is all that is
//! meant, go by the protocol's own command, as in Xray. A server that passes addresses over gets a connection a target.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rotation::Rotation;
use super::sessions::{Inside, Place, Sessions, associate};
use super::silence::{Listening, Silence};
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services};
use crate::net::{Framed, Parceled, clock};
use crate::proto::mux::{GlobalId, is_carrier};
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
    sessions: Sessions,
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
        let silence = Arc::new(Silence::of(servers.iter().map(|server| &server.address)));
        let (way, servers, sessions) = (way.into(), Rotation::new(servers), Sessions::new());
        Self(Arc::new(Client { way, servers, silence, sessions }))
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
        associate(&self.0, cx, flow).await
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
        let head = seal_request(&server.account, &request, clock::seconds(), &mut rng);
        let seal = Sealer::client(&request, head, server.ending, rng);
        (seal, Listening::new(Opener::client(&request), Arc::clone(&self.silence)))
    }
}

impl Inside for Client {
    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn place(&self, target: &Target) -> Option<Place> {
        Some(if matches!(target.port, 53 | 443) { Place::EachApart } else { Place::Session })
    }

    async fn session(
        &self,
        cx: &Arc<dyn Services>,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(&**cx, flow).await?;
        let (seal, open) = self.body(server, Command::Mux, server.options);
        let framed = Framed::new(io, BytesMut::new(), seal, open);
        Ok(Box::new(Parceled::new(framed, BytesMut::new(), self.sessions.parcel(id), target)))
    }

    /// By the protocol's own command.
    async fn apart(&self, cx: &Arc<dyn Services>, flow: &Flow, target: Target) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(&**cx, flow).await?;
        // Without chunks no datagram would end, so they come where the body is bare otherwise.
        let chunked = Options::CHUNKS.with(Options::MASKED);
        let options = if server.options.has(Options::CHUNKS) { server.options } else { chunked };
        let (seal, open) = self.body(server, Command::Udp(target.clone()), options);
        Ok(Box::new(Parceled::new(io, BytesMut::new(), Frames::new(seal, open), target)))
    }
}

#[cfg(test)]
mod tests;
