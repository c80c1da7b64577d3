//! The VLESS server.

use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use super::fallback::Fallbacks;
use super::users::{Member, Users};
use super::visit::{Accepted, Common, Fault, Visitor, part};
use crate::addr::{Network, Target};
use crate::flow::{BoxStream, Flow};
use crate::net::{Bounds, Framed, Parceled, drive, look};
use crate::proto::vless::{self, ANSWER, Command, Lengths, Request, Server, Wrapping, is_stranger};
use crate::transport::Arrival;
use crate::wire::{Preface, Unframed};

/// A VLESS server.
#[derive(Debug)]
pub struct Vless {
    users: Users<vless::Users<VlessUser>>,
    fallbacks: Option<Fallbacks>,
}

/// Somebody who may come in.
#[derive(Debug, Clone)]
pub struct VlessUser {
    /// Label and level.
    pub member: Member,
}

impl Vless {
    /// With these users; with fallbacks nobody is turned away, but for whom none fits.
    #[must_use]
    pub fn new(users: vless::Users<VlessUser>, fallbacks: Option<Fallbacks>) -> Self {
        Self { users: Users::new(users), fallbacks }
    }

    /// Takes over the users of another.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(Some(&self.users), Some(&other.users))
    }

    /// Reads the header and gives the flow.
    pub(super) async fn accept(&self, common: &Common, visitor: &Visitor, arrival: Arrival) -> Result<Accepted, Fault> {
        let (mut io, mut held) = (arrival.io, BytesMut::new());
        let read = self.read(common, &mut io, &mut held).await;
        if let (Ok(None), Some(fallbacks)) = (&read, &self.fallbacks) {
            return Box::pin(fallbacks.serve(common, visitor, arrival.hello.as_deref(), io, held)).await;
        }
        match read.and_then(|request| Granted::of(request.ok_or(Fault::Login)?)) {
            Ok(granted) => Ok(granted.begin(common, visitor, io, held)),
            Err(fault) => {
                part(&mut io).await;
                Err(fault)
            }
        }
    }

    /// The request; nothing if there are fallbacks and the first bytes are a stranger's. Without fallbacks a header may come
    /// in any pieces.
    async fn read(
        &self,
        common: &Common,
        io: &mut BoxStream,
        held: &mut BytesMut,
    ) -> Result<Option<Request<VlessUser>>, Fault> {
        let until = Instant::now() + common.handshake;
        look(io, held, Bounds::within(common.handshake)).await?;
        let users = self.users.now();
        if self.fallbacks.is_some() && is_stranger(held, &users) {
            return Ok(None);
        }
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        Ok(Some(drive(io, held, &mut Server::new(&users), Bounds::within(left)).await?))
    }
}

/// A request that is granted.
struct Granted {
    user: VlessUser,
    route: u16,
    service: Service,
}

/// What is to be served.
enum Service {
    Stream(Target),
    Datagrams(Target),
}

impl Granted {
    /// Judges what a user asks for.
    fn of(request: Request<VlessUser>) -> Result<Self, Fault> {
        let service = match (request.wrapping, request.command) {
            (Wrapping::Unknown, _) => return Err(Fault::NotServed("a flow that nobody knows")),
            (Wrapping::Vision, _) => return Err(Fault::NotServed("the flow xtls-rprx-vision for a user who has none")),
            (Wrapping::Plain, Command::Mux) => return Err(Fault::NotServed("mux")),
            (Wrapping::Plain, Command::Reverse) => return Err(Fault::NotServed("a reverse tunnel")),
            (Wrapping::Plain, Command::Tcp(target)) => Service::Stream(target),
            (Wrapping::Plain, Command::Udp(target)) => Service::Datagrams(target),
        };
        Ok(Self { user: request.user, route: request.id.route(), service })
    }

    fn begin(self, common: &Common, visitor: &Visitor, io: BoxStream, held: BytesMut) -> Accepted {
        let flow = |network, target| {
            let flow = visitor.flow_of(common, network, target, &self.user.member);
            Flow { vless_route: self.route, ..flow }
        };
        match self.service {
            Service::Stream(target) => {
                let io = Framed::new(io, held, Preface::new(ANSWER.to_vec()), Unframed);
                Accepted::Stream(flow(Network::Tcp, target), Box::new(io))
            }
            Service::Datagrams(target) => {
                let io = Parceled::new(io, held, Lengths::server(), target.clone());
                Accepted::Packets(flow(Network::Udp, target), Box::new(io))
            }
        }
    }
}

#[cfg(test)]
mod tests;
