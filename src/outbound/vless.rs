//! Through a VLESS server.
//!
//! The header leaves with the first bytes, and no answer is waited for: a stream is ready as soon as the way is.

use std::time::Duration;

use bytes::BytesMut;

use super::rotation::Rotation;
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services};
use crate::net::{Framed, Parceled};
use crate::proto::vless::{Answered, Command, Id, Lengths, Wrapping, write_request};
use crate::wire::{Preface, Unframed};

/// A VLESS client.
#[derive(Debug)]
pub struct Vless {
    way: Way,
    servers: Rotation<VlessServer>,
}

/// A server, and who we are there.
#[derive(Debug)]
pub struct VlessServer {
    /// Where it is.
    pub address: Target,
    /// Our id.
    pub id: Id,
}

/// How long the header waits for the client's first bytes (Xray's wait).
const HOLD: Duration = Duration::from_millis(500);

impl Vless {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<VlessServer>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers) }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let (io, server) = self.open(cx, flow).await?;
        let header = server.header(Command::Tcp(flow.destination().clone()));
        let framed = Framed::new(io, BytesMut::new(), Preface::new(header), Answered::new(Unframed)).within(HOLD);
        begun(Box::new(framed), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        let (io, server) = self.open(cx, flow).await?;
        let target = flow.destination().clone();
        let header = server.header(Command::Udp(target.clone()));
        Ok(Box::new(Parceled::new(io, BytesMut::new(), Lengths::client(header), target)))
    }

    /// A connection to the first server that can be reached.
    async fn open(&self, cx: &dyn Services, flow: &Flow) -> Result<(BoxStream, &VlessServer), DialError> {
        self.way.open_any(cx, flow, &self.servers, |server| &server.address).await
    }
}

impl VlessServer {
    fn header(&self, command: Command) -> Vec<u8> {
        let mut header = Vec::new();
        write_request(&self.id, Wrapping::Plain, &command, &mut header);
        header
    }
}

#[cfg(test)]
mod tests;
