//! Through a Shadowsocks server, of either generation.
//!
//! Nothing is waited for: a stream is ready as soon as the way is, and its first bytes leave in one piece with the address.

mod datagrams;
mod key;

use bytes::BytesMut;

use super::rotation::{Rotation, no_server};
use super::way::{Way, begun};
use crate::addr::Target;
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Services, Stage};
use crate::wire::WireError;
use datagrams::Datagrams;
pub use key::ShadowsocksKey;

/// A Shadowsocks client.
#[derive(Debug)]
pub struct Shadowsocks {
    way: Way,
    servers: Rotation<ShadowsocksServer>,
}

/// A server, and the key for it.
#[derive(Debug)]
pub struct ShadowsocksServer {
    /// Where it is.
    pub address: Target,
    /// The key.
    pub key: ShadowsocksKey,
}

impl Shadowsocks {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<ShadowsocksServer>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers) }
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.way.open(cx, flow, &server.address).await {
                Ok(io) => {
                    let io = server.key.around(io, flow.destination()).map_err(unfit)?;
                    return begun(io, BytesMut::new(), flow, first).await;
                }
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.associate_with(cx, flow, server).await {
                Ok(packets) => return Ok(Box::new(packets)),
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    async fn associate_with(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        server: &ShadowsocksServer,
    ) -> Result<Datagrams, DialError> {
        let codec = server.key.codec().map_err(unfit)?;
        let to = self.way.endpoint(cx, flow, &server.address).await?;
        Ok(Datagrams::new(self.way.datagrams(cx, flow, &to).await?, to, codec))
    }
}

fn unfit(error: WireError) -> DialError {
    DialError::us(Stage::Policy, error)
}

#[cfg(test)]
mod tests;
