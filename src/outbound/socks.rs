//! Through a SOCKS server: streams, and with version 5 datagrams.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::rotation::{Rotation, no_server};
use super::way::{Way, begun};
use crate::addr::{Host, Target};
use crate::flow::{Blame, BoxPackets, BoxStream, DialError, Flow, Half, Packets, Services, Stage};
use crate::net::{Bounds, DriveError, Families, drive, poll_end};
use crate::proto::socks::{Client, Client4, Command, Login, Outcome, Refused, read_datagram, write_header};
use crate::wire::Handshake;

/// A SOCKS client.
#[derive(Debug)]
pub struct Socks {
    way: Way,
    servers: Rotation<Server>,
    version: Version,
}

/// Which SOCKS is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// Addresses alone; names are resolved here.
    V4,
    /// Names too.
    V4a,
    /// Everything.
    #[default]
    V5,
}

/// A proxy server with the login for it.
#[derive(Clone)]
pub struct Server {
    /// Where it is.
    pub address: Target,
    /// User and password.
    pub login: Option<(String, String)>,
}

/// Time for the handshake once the connection stands.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(16);

impl Socks {
    /// Connections take turns over the servers.
    #[must_use]
    pub fn new(way: impl Into<Way>, servers: Vec<Server>) -> Self {
        Self { way: way.into(), servers: Rotation::new(servers), version: Version::V5 }
    }

    /// The same in another version.
    #[must_use]
    pub fn speaking(self, version: Version) -> Self {
        Self { version, ..self }
    }

    pub(super) fn carries_datagrams(&self) -> bool {
        self.version == Version::V5
    }

    pub(super) async fn connect(&self, cx: &dyn Services, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.tunnel(cx, flow, server).await {
                Ok(granted) => return begun(granted.io, granted.held, flow, first).await,
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    pub(super) async fn associate(&self, cx: &dyn Services, flow: &Flow) -> Result<BoxPackets, DialError> {
        if !self.carries_datagrams() {
            return Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported));
        }
        let mut failed = no_server();
        for server in self.servers.turn() {
            match self.associate_with(cx, flow, server).await {
                Ok(packets) => return Ok(Box::new(packets)),
                Err(error) => failed = self.servers.pass_over(error)?,
            }
        }
        Err(failed)
    }

    async fn associate_with(&self, cx: &dyn Services, flow: &Flow, server: &Server) -> Result<Relayed, DialError> {
        let nobody = Target::new(Host::Ip(IpAddr::from([0; 4])), 0);
        let granted = self.ask(cx, flow, server, Command::Associate, &nobody).await?;
        // Asked before waiting: a stream may move between threads, but not be looked at by two.
        let peer = granted.io.raw(Half::Read).and_then(|socket| socket.peer_addr().ok());
        let relay = self.relay(cx, flow, server, granted.bound, peer.map(|at| at.ip())).await?;
        let way = self.way.datagrams(cx, flow, &relay).await?;
        Ok(Relayed { way, control: granted.io, relay, out: Vec::new() })
    }

    async fn tunnel(&self, cx: &dyn Services, flow: &Flow, server: &Server) -> Result<Granted, DialError> {
        let target = flow.destination();
        match (self.version, &target.host) {
            (Version::V5, _) => self.ask(cx, flow, server, Command::Connect, target).await,
            (Version::V4, Host::Domain(name)) => {
                let found = Families::V4Only.pick(&cx.resolve(name).await?, target.port);
                let none = || DialError::target(Stage::Resolve, io::ErrorKind::AddrNotAvailable);
                let first = found.first().ok_or_else(none)?;
                self.ask4(cx, flow, server, &(*first).into()).await
            }
            (Version::V4 | Version::V4a, _) => self.ask4(cx, flow, server, target).await,
        }
    }

    async fn ask(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        server: &Server,
        command: Command,
        target: &Target,
    ) -> Result<Granted, DialError> {
        let io = self.way.open(cx, flow, &server.address).await?;
        let login = server.login.as_ref().map(|(user, password)| Login { user, password });
        shake(io, Client::new(command, target, login)).await
    }

    async fn ask4(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        server: &Server,
        target: &Target,
    ) -> Result<Granted, DialError> {
        let user = server.login.as_ref().map(|(user, _)| user.as_str());
        let client = Client4::new(target, user).map_err(|error| DialError::us(Stage::Policy, error))?;
        let io = self.way.open(cx, flow, &server.address).await?;
        shake(io, client).await
    }

    /// Where datagrams go. Servers that say "any address" mean their own; the port alone is news then.
    async fn relay(
        &self,
        cx: &dyn Services,
        flow: &Flow,
        server: &Server,
        bound: Option<Target>,
        peer: Option<IpAddr>,
    ) -> Result<Target, DialError> {
        let no = || DialError::server(Stage::Answer, io::ErrorKind::AddrNotAvailable);
        let bound = bound.ok_or_else(no)?;
        let host = match (bound.host, peer) {
            (Host::Ip(ip), Some(peer)) if ip.is_unspecified() => peer.into(),
            (Host::Ip(ip), None) if ip.is_unspecified() => server.address.host.clone(),
            (host, _) => host,
        };
        match host {
            Host::Ip(_) => Ok(Target::new(host, bound.port)),
            Host::Domain(name) => self.way.first(cx, flow, &name, bound.port).await,
        }
    }
}

/// What a server granted.
struct Granted {
    io: BoxStream,
    held: BytesMut,
    bound: Option<Target>,
}

async fn shake(mut io: BoxStream, mut client: impl Handshake<Output = Outcome>) -> Result<Granted, DialError> {
    let mut held = BytesMut::new();
    match drive(&mut io, &mut held, &mut client, Bounds::within(HANDSHAKE)).await {
        Ok(Ok(bound)) => Ok(Granted { io, held, bound }),
        Ok(Err(refused)) => Err(answered(refused)),
        Err(error) => Err(shaken(error)),
    }
}

fn answered(refused: Refused) -> DialError {
    let blame = if refused.is_about_target() { Blame::Target } else { Blame::Server };
    DialError::new(Stage::Answer, blame, io::Error::new(io::ErrorKind::ConnectionRefused, refused))
}

pub(super) fn shaken(error: DriveError) -> DialError {
    DialError::server(Stage::Handshake, error)
}

/// Datagrams by way of the server's relay. The control connection is kept, and its end is the association's.
struct Relayed {
    way: BoxPackets,
    control: BoxStream,
    relay: Target,
    out: Vec<u8>,
}

impl Packets for Relayed {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        if let Poll::Ready(end) = poll_end(&mut self.control, cx) {
            return Poll::Ready(Err(end));
        }
        loop {
            buf.clear();
            let from = ready!(self.way.poll_recv(cx, buf))?;
            if from != self.relay {
                continue;
            }
            let Ok((peer, payload)) = read_datagram(buf) else { continue };
            let header = buf.len() - payload.len();
            buf.advance(header);
            return Poll::Ready(Ok(peer));
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        self.out.clear();
        write_header(peer, &mut self.out);
        self.out.extend_from_slice(payload);
        self.way.poll_send(cx, &self.out, &self.relay)
    }
}

/// Without the login.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = if self.login.is_some() { "***@" } else { "" };
        write!(f, "{login}{}", self.address)
    }
}

#[cfg(test)]
mod tests;
