//! The Trojan server.

use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use super::fallback::Fallbacks;
use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, part};
use crate::addr::Network;
use crate::flow::BoxStream;
use crate::net::{Bounds, Parceled, boxed, drive, look};
use crate::proto::trojan::{self, Frames, Request, Server, is_stranger};
use crate::transport::Arrival;

/// A Trojan server.
#[derive(Debug)]
pub struct Trojan {
    users: Users<trojan::Users<Member>>,
    fallbacks: Option<Fallbacks>,
}

impl Trojan {
    /// With these users; with fallbacks nobody is turned away, but for whom none fits.
    #[must_use]
    pub fn new(users: trojan::Users<Member>, fallbacks: Option<Fallbacks>) -> Self {
        Self { users: Users::new(users), fallbacks }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&self.users), Some(&other.users))
    }

    /// Reads the header and gives the flow.
    pub(super) async fn accept(&self, common: &Common, visitor: &Visitor, arrival: Arrival) -> Result<Accepted, Fault> {
        let (mut io, mut held) = (arrival.io, BytesMut::new());
        let request = match self.read(common, &mut io, &mut held).await {
            Ok(Some(request)) => request,
            Ok(None) => {
                let Some(fallbacks) = &self.fallbacks else {
                    part(&mut io).await;
                    return Err(Fault::Login);
                };
                return Box::pin(fallbacks.serve(common, visitor, arrival.hello.as_deref(), io, held)).await;
            }
            Err(fault) => {
                part(&mut io).await;
                return Err(fault);
            }
        };
        let Request { user, network, target } = request;
        let flow = visitor.flow_of(common, network, target, &user);
        if network == Network::Udp {
            let io = Parceled::new(io, held, Frames::default(), flow.target.clone());
            return Ok(Accepted::Packets(flow, Box::new(io)));
        }
        Ok(Accepted::Stream(flow, boxed(io, held)))
    }

    /// The request; nothing if the first bytes are a stranger's.
    async fn read(
        &self,
        common: &Common,
        io: &mut BoxStream,
        held: &mut BytesMut,
    ) -> Result<Option<Request<Member>>, Fault> {
        let until = Instant::now() + common.handshake;
        look(io, held, Bounds::within(common.handshake)).await?;
        let users = self.users.now();
        if is_stranger(held, &users) {
            return Ok(None);
        }
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        Ok(Some(drive(io, held, &mut Server::new(&users), Bounds::within(left)).await?))
    }
}

#[cfg(test)]
mod tests;
