//! The SOCKS server, versions 4, 4a and 5.
//!
//! A tunnel is granted at once, before anything is dialed, as Xray does. That saves a round trip, lets the first bytes
//! leave together with the outbound's own opening, and without it nothing could be sniffed: the client speaks only after
//! the grant. The price is that a failed dial shows as a close and not as a reply code.

use bytes::BytesMut;

use super::association::{Association, Relay, relay_address};
use super::users::Users;
use super::visit::{Accepted, Common, Fault, Visitor, write};
use crate::addr::Network;
use crate::flow::BoxStream;
use crate::net::{Bounds, boxed, drive};
use crate::proto::socks::{Command, Reply, Request, Server};

/// A SOCKS server.
#[derive(Debug)]
pub struct Socks {
    users: Option<Users>,
    udp: Relay,
}

impl Socks {
    /// With users, everybody must log in, which SOCKS4 cannot.
    #[must_use]
    pub fn new(users: Option<Users>, udp: Relay) -> Self {
        Self { users, udp }
    }

    /// Takes over the users of another; whether both ask for a login.
    pub(super) fn take_users(&self, other: &Self) -> bool {
        Users::take_over(self.users.as_ref(), other.users.as_ref())
    }

    /// Runs the handshake and grants what was asked for.
    pub(super) async fn accept(
        &self,
        common: &Common,
        visitor: &Visitor,
        mut io: BoxStream,
        mut held: BytesMut,
    ) -> Result<Accepted, Fault> {
        let logins = self.users.as_ref().map(Users::now);
        let bounds = Bounds::within(common.handshake);
        let request = drive(&mut io, &mut held, &mut Server::new(logins.as_deref()), bounds).await?;
        match request.command {
            Command::Connect => {
                write(&mut io, &request.answer(Reply::Succeeded, visitor.local), common.handshake).await?;
                let flow = visitor.flow(common, Network::Tcp, request.target, request.user);
                Ok(Accepted::Stream(flow, boxed(io, held)))
            }
            Command::Associate => self.associate(common, visitor, io, request).await,
        }
    }

    async fn associate(
        &self,
        common: &Common,
        visitor: &Visitor,
        mut io: BoxStream,
        request: Request,
    ) -> Result<Accepted, Fault> {
        let Some(address) = relay_address(self.udp, visitor.local.ip()) else {
            write(&mut io, &request.answer(Reply::CommandNotSupported, visitor.local), common.handshake).await?;
            return Err(Fault::NotServed("a UDP association"));
        };
        let (socket, announced) = match address.open() {
            Ok(opened) => opened,
            Err(error) => {
                write(&mut io, &request.answer(Reply::Failure, visitor.local), common.handshake).await?;
                return Err(error.into());
            }
        };
        write(&mut io, &request.answer(Reply::Succeeded, announced), common.handshake).await?;
        let packets = Association::new(socket, io, visitor.source.ip(), &request.target);
        let flow = visitor.flow(common, Network::Udp, request.target, request.user);
        Ok(Accepted::Packets(flow, Box::new(packets)))
    }
}

#[cfg(test)]
mod tests;
