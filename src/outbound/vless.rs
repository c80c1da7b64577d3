//! Through a VLESS server.
//!
//! The header leaves with the first bytes, and no answer is waited for: a stream is ready as soon as the way is. Datagrams
//! go as XUDP with an address at each, so that anybody may answer; without Vision those for ports 53 and 443, where one
//! target is all that is meant, go by the protocol's own command, as in Xray.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::rotation::{Rotation, no_server};
use super::sessions::{Inside, Place, Sessions, associate};
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage, Stream};
use crate::net::{Framed, Parceled};
use crate::proto::mux::{GlobalId, is_carrier};
use crate::proto::vision::{Filter, Pad, Seed, Unpad};
use crate::proto::vless::{Answered, Command, Id, Lengths, Wrapping, encryption, write_request};
use crate::transport::encrypt;
use crate::wire::{Preface, Unframed};

/// A VLESS client.
#[derive(Debug)]
pub struct Vless(Arc<Client>);

#[derive(Debug)]
struct Client {
    way: Way,
    servers: Rotation<VlessServer>,
    sessions: Sessions,
    datagrams: Datagrams,
}

/// How datagrams leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Datagrams {
    /// As XUDP, but for the ports where Xray does otherwise.
    Plain,
    /// As XUDP, wrapped by Vision.
    Vision {
        /// Those for port 443 too.
        udp443: bool,
    },
}

/// A server, and who we are there.
#[derive(Debug)]
pub struct VlessServer {
    /// Where it is.
    pub address: Target,
    /// Our id.
    pub id: Id,
    /// Streams are wrapped by Vision.
    pub vision: Option<Vision>,
    /// All of it goes within encryption of its own.
    pub encryption: Option<encryption::Client>,
}

/// How Vision is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vision {
    /// The padding.
    pub seed: Seed,
    /// Datagrams for port 443 are let through. They are HTTP/3, which browsers do without when it does not work.
    pub udp443: bool,
}

/// How long the header waits for the client's first bytes (Xray's wait).
const HOLD: Duration = Duration::from_millis(500);

impl Vless {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<VlessServer>) -> Self {
        // Vision is a matter of the server; where they differ, datagrams leave as the strictest of them wants.
        let visions = || servers.iter().filter_map(|server| server.vision);
        let datagrams = match visions().next() {
            None => Datagrams::Plain,
            Some(_) => Datagrams::Vision { udp443: visions().all(|vision| vision.udp443) },
        };
        let (way, servers, sessions) = (way.into(), Rotation::new(servers), Sessions::new());
        Self(Arc::new(Client { way, servers, sessions, datagrams }))
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let (io, server) = self.0.open(cx, flow).await?;
        let target = flow.destination();
        let command = if is_carrier(target) { Command::Mux } else { Command::Tcp(target.clone()) };
        begun(server.tunnel(io, &command)?, BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &Arc<dyn Services>, flow: &Flow) -> Result<BoxPackets, DialError> {
        let target = flow.destination();
        if self.0.datagrams.rejects(target) {
            return Err(DialError::us(Stage::Policy, io::Error::new(io::ErrorKind::PermissionDenied, UDP443)));
        }
        associate(&self.0, cx, flow).await
    }
}

impl Client {
    /// A connection to the first server that can be reached.
    async fn open(&self, cx: &dyn Services, flow: &Flow) -> Result<(BoxStream, &VlessServer), DialError> {
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.reach(cx, flow, server).await {
                Ok(io) => return Ok((io, server)),
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    async fn reach(&self, cx: &dyn Services, flow: &Flow, server: &VlessServer) -> Result<BoxStream, DialError> {
        let io = self.way.open(cx, flow, &server.address).await?;
        let Some(client) = &server.encryption else { return Ok(io) };
        // Boxed, because others should not carry its size along.
        Box::pin(encrypt(io, client)).await.map_err(|error| DialError::server(Stage::Handshake, error))
    }
}

impl Inside for Client {
    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn place(&self, target: &Target) -> Option<Place> {
        let apart = self.datagrams == Datagrams::Plain && matches!(target.port, 53 | 443);
        match apart {
            _ if self.datagrams.rejects(target) => None,
            true => Some(Place::EachApart),
            false => Some(Place::Session),
        }
    }

    async fn session(
        &self,
        cx: &Arc<dyn Services>,
        flow: &Flow,
        target: Target,
        id: Option<GlobalId>,
    ) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(&**cx, flow).await?;
        let io = server.tunnel(io, &Command::Mux)?;
        Ok(Box::new(Parceled::new(io, BytesMut::new(), self.sessions.parcel(id), target)))
    }

    /// By the protocol's own command.
    async fn apart(&self, cx: &Arc<dyn Services>, flow: &Flow, target: Target) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(&**cx, flow).await?;
        let header = server.header(&Command::Udp(target.clone()));
        Ok(Box::new(Parceled::new(io, BytesMut::new(), Lengths::client(header), target)))
    }
}

impl Datagrams {
    fn rejects(self, target: &Target) -> bool {
        self == Self::Vision { udp443: false } && target.port == 443
    }
}

const UDP443: &str = "XTLS rejected UDP/443 traffic: the flow xtls-rprx-vision-udp443 would let it through";
const BELOW: &str = "XTLS only supports TLS and REALITY directly for now: flow `xtls-rprx-vision` needs TLS 1.3 or VLESS encryption below it";

impl VlessServer {
    fn header(&self, command: &Command) -> Vec<u8> {
        let wrapping = if self.vision.is_some() { Wrapping::Vision } else { Wrapping::Plain };
        let mut header = Vec::new();
        write_request(&self.id, wrapping, command, &mut header);
        header
    }

    /// The stream behind the header of a request.
    fn tunnel(&self, io: BoxStream, command: &Command) -> Result<BoxStream, DialError> {
        let (header, nothing) = (self.header(command), BytesMut::new());
        let Some(vision) = self.vision else {
            return Ok(Box::new(Framed::new(io, nothing, Preface::new(header), Answered::new(Unframed)).within(HOLD)));
        };
        if !io.may_go_plain() {
            return Err(DialError::us(Stage::Policy, io::Error::new(io::ErrorKind::Unsupported, BELOW)));
        }
        let filter = Filter::default();
        let rng = SmallRng::from_rng(&mut rand::rng());
        let pad = Pad::new(header, *self.id.bytes(), filter.clone(), vision.seed, rng);
        let unpad = Answered::new(Unpad::new(*self.id.bytes(), filter));
        Ok(Box::new(Framed::new(io, nothing, pad, unpad).within(HOLD)))
    }
}

#[cfg(test)]
mod tests;
