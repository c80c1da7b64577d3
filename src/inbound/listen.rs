//! Listeners of one inbound: every port of its set, TCP, UDP or a Unix socket, and one task for each visitor.
//!
//! Binding and serving are two steps, so that a new configuration can be refused as a whole while the old one still runs.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::kind::Kind;
#[cfg(unix)]
use super::unix::{self, UnixPlace};
use super::visit::{Accepted, Common, Fault, Visitor};
use crate::flow::{Sink, Stream};
use crate::net::tcp::{self, accept_all};
use crate::net::udp::Datagrams;
use crate::net::{Session, SocketOptions, original_destination, share};
use crate::transport::Acceptor;

/// One inbound, ready to listen.
#[derive(Debug)]
pub struct Inbound {
    /// Tag, level and limits.
    pub common: Common,
    /// The protocol.
    pub kind: Kind,
    /// Where to listen.
    pub places: Vec<Place>,
    /// Options of the sockets.
    pub options: SocketOptions,
    /// How redirected connections tell where they were headed.
    pub original: Original,
    /// What was put around the bytes of a connection, to be taken off first.
    pub acceptor: Acceptor,
}

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A UDP port.
    Udp(SocketAddr),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixPlace),
}

/// How redirected connections tell where they were headed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Original {
    /// Nobody asks.
    #[default]
    Unknown,
    /// The firewall remembers (REDIRECT).
    Redirect,
    /// The local address is where they were headed (TPROXY).
    Transparent,
}

/// A place could not be listened at.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {place}: {source}")]
pub struct ListenError {
    /// Where.
    pub place: Place,
    /// Why.
    pub source: io::Error,
}

/// Open listeners of one inbound.
#[derive(Debug)]
pub struct Listening {
    inbound: Arc<Inbound>,
    sockets: Vec<Socket>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Udp(Arc<Datagrams>),
    #[cfg(unix)]
    Unix(unix::Listener),
}

impl Inbound {
    /// Takes off what was put around the bytes, then serves the protocol within.
    async fn accept<S: Stream + 'static>(
        &self,
        io: S,
        visitor: &Visitor,
        sink: &Arc<dyn Sink>,
        token: &CancellationToken,
    ) -> Result<Accepted, Fault> {
        let io = self.acceptor.accept(io, self.common.handshake).await?;
        self.kind.accept(&self.common, visitor, io, sink, token).await
    }

    /// Opens every place.
    ///
    /// # Errors
    /// [`ListenError`] names the first place that failed; all others are closed again.
    pub fn listen(self: &Arc<Self>) -> Result<Listening, ListenError> {
        let open = |place: &Place| self.open(place).map_err(|source| ListenError { place: place.clone(), source });
        let sockets = self.places.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Listening { inbound: Arc::clone(self), sockets })
    }

    fn open(&self, place: &Place) -> io::Result<Socket> {
        match place {
            Place::Tcp(at) => tcp::listen(*at, &self.options).map(Socket::Tcp),
            Place::Udp(at) => Datagrams::bind(*at, &self.options).map(|socket| Socket::Udp(Arc::new(socket))),
            #[cfg(unix)]
            Place::Unix(place) => unix::listen(place).map(Socket::Unix),
        }
    }

    fn original(&self, stream: &TcpStream, local: SocketAddr) -> Option<SocketAddr> {
        match self.original {
            Original::Unknown => None,
            Original::Transparent => Some(local),
            // The kernel names the local address for connections that nobody redirected; following that leads in a ring.
            Original::Redirect => original_destination(stream).ok().filter(|original| *original != local),
        }
    }
}

impl Listening {
    /// Where TCP and UDP listeners really are; ports that were 0 are known now.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn local(&self) -> io::Result<Vec<SocketAddr>> {
        let local = |socket: &Socket| match socket {
            Socket::Tcp(listener) => Some(listener.local_addr()),
            Socket::Udp(socket) => Some(socket.local()),
            #[cfg(unix)]
            Socket::Unix(_) => None,
        };
        self.sockets.iter().filter_map(local).collect()
    }

    /// Serves visitors until the token falls. Those who are inside then stay until their flows end; a kept HTTP connection
    /// gets no further request.
    pub async fn run(self, sink: Arc<dyn Sink>, token: CancellationToken) {
        let mut loops = JoinSet::new();
        for socket in self.sockets {
            let host = Host { inbound: Arc::clone(&self.inbound), sink: Arc::clone(&sink), token: token.clone() };
            loops.spawn(host.serve(socket));
        }
        while loops.join_next().await.is_some() {}
    }
}

/// What every visit needs.
#[derive(Clone)]
struct Host {
    inbound: Arc<Inbound>,
    sink: Arc<dyn Sink>,
    token: CancellationToken,
}

impl Host {
    async fn serve(self, socket: Socket) {
        match socket {
            Socket::Tcp(listener) => {
                let known = self.known(&listener);
                accept_all(listener, &self.token, |stream, from| self.tcp(stream, from, known)).await;
            }
            Socket::Udp(socket) => {
                if let Err(error) = share(socket, &self.token, |session| self.datagrams(session)).await {
                    tracing::warn!(inbound = %self.inbound.common.tag, %error, "a UDP listener ended");
                }
            }
            #[cfg(unix)]
            Socket::Unix(listener) => {
                let local = SocketAddr::from(([0; 4], 0));
                let take = |stream, source| {
                    self.clone().visit(stream, Visitor { source, local, original: None });
                };
                accept_all(listener, &self.token, take).await;
            }
        }
    }

    /// Where all connections of a listener arrive, so that not each has to be asked; not known of a wildcard, nor where
    /// foreign addresses are taken.
    fn known(&self, listener: &TcpListener) -> Option<SocketAddr> {
        let local = listener.local_addr().ok()?;
        (!local.ip().is_unspecified() && !self.inbound.options.transparent).then_some(local)
    }

    fn tcp(&self, stream: TcpStream, source: SocketAddr, known: Option<SocketAddr>) {
        // A connection that is gone already has no local address.
        let Some(local) = known.or_else(|| stream.local_addr().ok()) else { return };
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        let original = self.inbound.original(&stream, local);
        self.clone().visit(stream, Visitor { source, local, original });
    }

    fn visit<S: Stream + 'static>(self, io: S, visitor: Visitor) {
        tokio::spawn(async move {
            let Self { inbound, sink, token } = self;
            // Boxed, so that a flow that runs for hours does not keep the room its handshake needed.
            let visit = Box::pin(inbound.accept(io, &visitor, &sink, &token));
            let accepted = visit.await;
            drop(token);
            deliver(accepted, &sink, &inbound, visitor.source).await;
        });
    }

    fn datagrams(&self, session: Session) {
        let source = session.client();
        let Ok(local) = session.local() else { return };
        let visitor = Visitor { source, local, original: None };
        let accepted = self.inbound.kind.accept_datagrams(&self.inbound.common, &visitor, session);
        let (sink, inbound) = (Arc::clone(&self.sink), Arc::clone(&self.inbound));
        tokio::spawn(async move { deliver(accepted, &sink, &inbound, source).await });
    }
}

async fn deliver(accepted: Result<Accepted, Fault>, sink: &Arc<dyn Sink>, inbound: &Inbound, source: SocketAddr) {
    match accepted {
        Ok(Accepted::Stream(flow, io)) => sink.stream(flow, io).await,
        Ok(Accepted::Packets(flow, io)) => sink.packets(flow, io).await,
        Ok(Accepted::Served) => {}
        Err(fault) => tracing::debug!(inbound = %inbound.common.tag, %source, %fault, "a visit came to nothing"),
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(at) => write!(f, "tcp {at}"),
            Self::Udp(at) => write!(f, "udp {at}"),
            #[cfg(unix)]
            Self::Unix(place) => write!(f, "unix {place}"),
        }
    }
}

#[cfg(test)]
mod tests;
