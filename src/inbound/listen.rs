//! Listeners of one inbound: one for every port of its set, TCP, UDP, QUIC or a tunnel, or a Unix socket.
//!
//! Binding and serving are two steps, so that a new configuration can be refused as a whole while the old one still runs.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::net::TcpListener;

use super::host::{Host, Inbound};
use super::place::{ListenError, Place};
use super::tunnel;
#[cfg(unix)]
use super::unix;
use super::visit::Visitor;
use crate::net::tcp::{self, accept_all, canonical};
use crate::net::udp::{self, Datagrams};
use crate::net::{Hours, SocketOptions, share};
use crate::transport::{mkcp, quic};

/// An open listener at one place. Whose visitors it takes may change while it runs; the socket itself stays, so that none of
/// those who come in between is turned away.
#[derive(Debug)]
pub struct Listener {
    place: Place,
    options: SocketOptions,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Udp(Arc<Datagrams>),
    Quic(Vec<UdpSocket>),
    Tunnel(UdpSocket),
    Mkcp(UdpSocket),
    #[cfg(unix)]
    Unix(unix::Listener),
}

impl Listener {
    /// Opens one of an inbound's places.
    ///
    /// # Errors
    /// [`ListenError`] names the place and says why not.
    pub fn open(inbound: &Inbound, place: &Place) -> Result<Self, ListenError> {
        let options = &inbound.options;
        let socket = match place {
            Place::Tcp(at) => tcp::listen(*at, options).map(Socket::Tcp),
            Place::Udp(at) => Datagrams::bind(*at, options).map(|socket| Socket::Udp(Arc::new(socket))),
            Place::Quic(at) => udp::bare(*at, options).map(|socket| Socket::Quic(vec![socket])),
            Place::Quics(all) => {
                let all: io::Result<Vec<_>> = all.iter().map(|at| udp::bare(*at, options)).collect();
                all.map(Socket::Quic)
            }
            Place::Tunnel(at) => udp::bare(*at, options).map(Socket::Tunnel),
            Place::Mkcp(at) => udp::bare(*at, options).map(Socket::Mkcp),
            #[cfg(unix)]
            Place::Unix(place) => unix::listen(place).map(Socket::Unix),
        };
        let socket = socket.map_err(|source| ListenError { place: place.clone(), source })?;
        Ok(Self { place: place.clone(), options: options.clone(), socket })
    }

    /// Where it is to listen.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The options of its socket.
    #[must_use]
    pub fn options(&self) -> &SocketOptions {
        &self.options
    }

    /// Where it really is; a port that was 0 is known now, and a Unix socket has no address.
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Udp(socket) => socket.local().ok(),
            Socket::Quic(sockets) => sockets.first()?.local_addr().ok().map(canonical),
            Socket::Tunnel(socket) => socket.local_addr().ok().map(canonical),
            Socket::Mkcp(socket) => socket.local_addr().ok().map(canonical),
            #[cfg(unix)]
            Socket::Unix(_) => None,
        }
    }

    /// Serves visitors by whoever is their host at that moment, until it closes. Those who are inside then stay until their
    /// flows end; clients of a UDP socket are served until its hours are over.
    pub async fn run(self, host: Arc<ArcSwap<Host>>, hours: Hours) {
        host.load().inbound.acceptor.begin();
        match self.socket {
            Socket::Tcp(listener) => {
                let known = known(&listener, &self.options);
                accept_all(listener, &hours.closing, |stream, from| host.load_full().tcp(stream, from, known)).await;
            }
            Socket::Udp(socket) => {
                let name = |datagram: &mut [u8], from| host.load().inbound.kind.name(datagram, from);
                let take = |session| host.load_full().datagrams(session);
                if let Err(error) = share(socket, &hours, name, take).await {
                    tracing::warn!(inbound = %host.load().inbound.common.tag, %error, "a UDP listener ended");
                }
            }
            Socket::Quic(sockets) => {
                let first = host.load_full();
                let local = sockets.first().and_then(|socket| socket.local_addr().ok());
                let (Some(server), Some(local)) = (first.inbound.acceptor.quic(), local) else { return };
                let dressed = Arc::clone(&host);
                let masks = move || dressed.load().inbound.acceptor.quic().and_then(quic::Server::masks);
                let take = |caller| host.load_full().call(caller, local);
                if let Err(error) = quic::listen(sockets, server, masks, &hours, take).await {
                    tracing::warn!(inbound = %host.load().inbound.common.tag, %error, "a QUIC listener ended");
                }
            }
            Socket::Tunnel(socket) => {
                if let Err(error) = tunnel::serve(socket, &host, &hours).await {
                    tracing::warn!(inbound = %host.load().inbound.common.tag, %error, "a tunnel ended");
                }
            }
            Socket::Mkcp(socket) => {
                let Ok(local) = socket.local_addr().map(canonical) else { return };
                let server = || host.load().inbound.acceptor.mkcp().cloned();
                let take = |mkcp::Call { line, source }| {
                    host.load_full().visit(line, Visitor { source, local, original: None });
                };
                if let Err(error) = mkcp::listen(socket, &hours, server, take).await {
                    tracing::warn!(inbound = %host.load().inbound.common.tag, %error, "an mKCP listener ended");
                }
            }
            #[cfg(unix)]
            Socket::Unix(listener) => {
                let local = SocketAddr::from(([0; 4], 0));
                let take = |stream, source| host.load_full().visit(stream, Visitor { source, local, original: None });
                accept_all(listener, &hours.closing, take).await;
            }
        }
    }
}

/// Where all connections of a listener arrive, so that not each has to be asked; not known of a wildcard, nor where foreign
/// addresses are taken.
fn known(listener: &TcpListener, options: &SocketOptions) -> Option<SocketAddr> {
    let local = listener.local_addr().ok()?;
    (!local.ip().is_unspecified() && !options.transparent).then_some(local)
}

#[cfg(test)]
mod tests;
