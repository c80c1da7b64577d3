//! Whoever receives the visitors of a listener: one task for each of them.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::kind::Kind;
use super::mux;
use super::place::Place;
use super::roaming::Roaming;
use super::visit::{Accepted, Common, Fault, Visitor};
use crate::flow::{BoxStream, Flow, Sink, Stream};
use crate::net::{Session, SocketOptions, original_destination};
use crate::proto::mux::is_carrier;
use crate::transport::{AcceptError, Acceptor, Arrival, Arrivals, quic};
use crate::tunnel;

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
    /// Associations that outlive the connections by which they came.
    pub roaming: Roaming,
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

impl Inbound {
    fn original(&self, stream: &TcpStream, local: SocketAddr) -> Option<SocketAddr> {
        match self.original {
            Original::Unknown => None,
            Original::Transparent => Some(local),
            // The kernel names the local address for connections that nobody redirected; following that leads in a ring.
            Original::Redirect => original_destination(stream).ok().filter(|original| *original != local),
        }
    }
}

/// An inbound at work: its settings, and where it delivers. A reload puts another in its place; visitors stay with theirs.
pub struct Host {
    /// The settings.
    pub inbound: Arc<Inbound>,
    /// Where flows go.
    pub sink: Arc<dyn Sink>,
    /// Once it falls, a kept HTTP connection gets no further request.
    pub closing: CancellationToken,
}

impl Host {
    pub(super) fn tcp(self: Arc<Self>, stream: TcpStream, source: SocketAddr, known: Option<SocketAddr>) {
        // A connection that is gone already has no local address.
        let Some(local) = known.or_else(|| stream.local_addr().ok()) else { return };
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        let original = self.inbound.original(&stream, local);
        self.visit(stream, Visitor { source, local, original });
    }

    pub(super) fn visit<S: Stream + 'static>(self: Arc<Self>, io: S, visitor: Visitor) {
        tokio::spawn(async move {
            // Boxed, so that a flow that runs for hours does not keep the room its handshake needed.
            let arriving = Box::pin(self.inbound.acceptor.accept(io, self.inbound.common.handshake)).await;
            self.arrive(arriving, visitor).await;
        });
    }

    /// Takes whoever calls by QUIC at a socket that is bound here.
    pub(super) fn call(self: Arc<Self>, caller: quic::Caller, bound: SocketAddr) {
        let visitor = Visitor { source: caller.source(), local: caller.local(bound), original: None };
        tokio::spawn(async move {
            if let Kind::Hysteria(kind) = &self.inbound.kind {
                let visit = Box::pin(self.inbound.acceptor.visit(caller, self.inbound.common.handshake)).await;
                let visit = match visit {
                    Ok(visit) => visit,
                    Err(error) => return self.deliver(Err(error.into()), visitor.source).await,
                };
                let deliver = {
                    let host = Arc::clone(&self);
                    move |accepted| {
                        let host = Arc::clone(&host);
                        async move { host.deliver(accepted, visitor.source).await }
                    }
                };
                return kind.serve(&self.inbound.common, visitor, visit, self.closing.cancelled(), deliver).await;
            }
            let arriving = Box::pin(self.inbound.acceptor.accept_quic(caller, self.inbound.common.handshake)).await;
            self.arrive(arriving, visitor).await;
        });
    }

    /// Takes whoever came through the tunnel of a socket that is bound here.
    pub(super) fn emerge(self: Arc<Self>, arrived: tunnel::Arrived, bound: SocketAddr) {
        let Kind::Wireguard(kind) = &self.inbound.kind else { return };
        let (accepted, source) = kind.accept(&self.inbound.common, arrived, bound);
        tokio::spawn(async move { self.deliver(Ok(accepted), source).await });
    }

    async fn arrive(self: Arc<Self>, arrived: Result<Arrivals, AcceptError>, visitor: Visitor) {
        match arrived {
            Ok(Arrivals::One(arrival)) => self.receive(arrival, visitor).await,
            Ok(Arrivals::Many(mut arrivals)) => {
                // Once it closes, no further stream is taken; those that run go on.
                while let Some(Some(arrival)) = self.closing.run_until_cancelled(arrivals.recv()).await {
                    let host = Arc::clone(&self);
                    tokio::spawn(async move { host.receive(arrival, visitor).await });
                }
            }
            Err(error) => self.deliver(Err(error.into()), visitor.source).await,
        }
    }

    /// Serves the protocol within.
    async fn receive(&self, arrival: Arrival, visitor: Visitor) {
        let visitor = Visitor { source: arrival.source.unwrap_or(visitor.source), ..visitor };
        let Inbound { common, kind, .. } = &*self.inbound;
        let visit = Box::pin(kind.accept(common, &visitor, arrival, &self.sink, &self.closing));
        let accepted = visit.await;
        self.deliver(accepted, visitor.source).await;
    }

    pub(super) fn datagrams(self: Arc<Self>, session: Session) {
        let source = session.client();
        let Ok(local) = session.local() else { return };
        let visitor = Visitor { source, local, original: None };
        let accepted = self.inbound.kind.accept_datagrams(&self.inbound.common, &visitor, session);
        tokio::spawn(async move { self.deliver(accepted, source).await });
    }

    async fn deliver(&self, accepted: Result<Accepted, Fault>, source: SocketAddr) {
        match accepted {
            // Protocols that have no command for it mark a carrier of sessions by its target.
            Ok(Accepted::Stream(flow, io)) if is_carrier(&flow.target) => self.sessions(flow, io, false).await,
            Ok(Accepted::Mux { flow, io, datagrams_only }) => self.sessions(flow, io, datagrams_only).await,
            Ok(Accepted::Stream(flow, io)) => self.sink.stream(flow, io).await,
            Ok(Accepted::Packets(flow, io)) => self.sink.packets(flow, io).await,
            Ok(Accepted::Served) => {}
            Err(fault) => {
                tracing::debug!(inbound = %self.inbound.common.tag, %source, %fault, "a visit came to nothing")
            }
        }
    }

    /// Serves the sessions that a stream carries.
    async fn sessions(&self, flow: Flow, io: BoxStream, datagrams_only: bool) {
        let Inbound { common, roaming, .. } = &*self.inbound;
        let server = mux::Server { sink: &self.sink, closing: &self.closing, roaming, datagrams_only };
        if let Err(error) = Box::pin(server.run(&flow, io)).await {
            tracing::debug!(inbound = %common.tag, source = %flow.source, %error, "a mux connection broke");
        }
    }
}
