//! Through a Hysteria server.
//!
//! All flows share one connection to it, which knows us already; so a flow costs a stream, and its first bytes leave with its
//! request. What the server says of the target is read before what the target says.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::rotation::{Rotation, no_server};
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage};
use crate::net::Framed;
use crate::proto::hysteria::{Responded, write_request};
use crate::transport::hysteria::{Duplex, Line};
use crate::wire::{Preface, Unframed};

/// A Hysteria client.
#[derive(Debug)]
pub struct Hysteria {
    way: Way,
    servers: Rotation<Target>,
}

/// How often a connection is opened anew for one stream, where it ends just then.
const TRIES: usize = 2;

impl Hysteria {
    /// Flows take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<Target>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers) }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let io = self.stream(cx, flow).await?;
        let mut request = Vec::new();
        write_request(flow.destination(), &mut request, &mut SmallRng::from_rng(&mut rand::rng()));
        let (request, answer) = (Preface::new(request), Responded::new(Unframed));
        // Without first bytes the request goes alone, and at once.
        let framed = Framed::new(io, BytesMut::new(), request, answer).within(Duration::ZERO);
        begun(Box::new(framed), BytesMut::new(), flow, first).await
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        let session = self.line(cx, flow).await?.session();
        session.map(|session| Box::new(session) as BoxPackets).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => DialError::server(Stage::Answer, io::Error::new(error.kind(), NoDatagrams)),
            _ => DialError::us(Stage::Handshake, error),
        })
    }

    async fn stream(&self, cx: &dyn Services, flow: &Flow) -> Result<Duplex, DialError> {
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.line(cx, flow).await?.stream().await {
                Ok(stream) => return Ok(stream),
                Err(error) if tries == 0 => return Err(DialError::server(Stage::Handshake, error)),
                // Nothing was said on it yet.
                Err(_) => {}
            }
        }
    }

    /// The connection to the first server that can be reached.
    async fn line(&self, cx: &dyn Services, flow: &Flow) -> Result<Arc<Line>, DialError> {
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.way.line(cx, flow, server).await {
                Ok(line) => return Ok(line),
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }
}

/// A server serves streams alone.
#[derive(Debug, thiserror::Error)]
#[error("the server takes no datagrams")]
struct NoDatagrams;
