//! Through a Trojan server.
//!
//! The header leaves with the first bytes, and there is no answer: a stream is ready as soon as the way is.

use std::time::Duration;

use bytes::BytesMut;

use super::rotation::Rotation;
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services};
use crate::net::{Framed, Parceled};
use crate::proto::trojan::{Frames, Token};
use crate::wire::{Preface, Unframed};

/// A Trojan client.
#[derive(Debug)]
pub struct Trojan {
    way: Way,
    servers: Rotation<TrojanServer>,
}

/// A server, and who we are there.
#[derive(Debug)]
pub struct TrojanServer {
    /// Where it is.
    pub address: Target,
    /// Our token.
    pub token: Token,
}

/// How long the header waits for the client's first bytes (Xray's wait).
const HOLD: Duration = Duration::from_millis(100);

impl Trojan {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<TrojanServer>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers) }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let (io, header) = self.open(cx, flow).await?;
        let framed = Framed::new(io, BytesMut::new(), Preface::new(header), Unframed).within(HOLD);
        begun(Box::new(framed), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        let (io, header) = self.open(cx, flow).await?;
        Ok(Box::new(Parceled::new(io, BytesMut::new(), Frames::after(header), flow.destination().clone())))
    }

    /// A connection to the first server that can be reached, and what is to be said there.
    async fn open(&self, cx: &dyn Services, flow: &Flow) -> Result<(BoxStream, Vec<u8>), DialError> {
        let (io, server) = self.way.open_any(cx, flow, &self.servers, |server| &server.address).await?;
        let mut header = Vec::new();
        server.token.write_request(flow.network, flow.destination(), &mut header);
        Ok((io, header))
    }
}

#[cfg(test)]
mod tests;
