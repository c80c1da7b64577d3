//! Datagrams with their peers.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::BytesMut;

use crate::addr::{DomainName, Target};

/// Datagrams of one association. Any peer may be written to and any may answer (full cone); whoever wants less filters.
pub trait Packets: Send {
    /// Appends one payload to `buf`, which the caller gives empty, and says whose it is. On an inbound the address is where
    /// the client wants it to go, on an outbound where it came from. Malformed datagrams are skipped inside.
    ///
    /// # Errors
    /// An error ends the association; [`io::ErrorKind::UnexpectedEof`] is its ordinary end.
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>>;

    /// Sends one payload: on an outbound to `peer`, on an inbound to the client as from `peer`.
    ///
    /// # Errors
    /// An error ends the association; a single datagram that cannot be sent is dropped without one.
    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>>;

    /// The address that datagrams to a name go to, where that is decided here: who answers from there is who was meant.
    fn address_of(&self, _name: &DomainName) -> Option<IpAddr> {
        None
    }

    /// On an inbound: where the client's datagrams come from, if that is known only since one came.
    fn client(&self) -> Option<SocketAddr> {
        None
    }
}

/// An association of any kind.
pub type BoxPackets = Box<dyn Packets>;

impl<P: Packets + ?Sized> Packets for Box<P> {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        (**self).poll_recv(cx, buf)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        (**self).poll_send(cx, payload, peer)
    }

    fn client(&self) -> Option<SocketAddr> {
        (**self).client()
    }

    fn address_of(&self, name: &DomainName) -> Option<IpAddr> {
        (**self).address_of(name)
    }
}

/// Waits for one datagram; see [`Packets::poll_recv`].
///
/// # Errors
/// As there.
pub async fn recv<P: Packets + ?Sized>(io: &mut P, buf: &mut BytesMut) -> io::Result<Target> {
    poll_fn(|cx| io.poll_recv(cx, buf)).await
}

/// Sends one datagram; see [`Packets::poll_send`].
///
/// # Errors
/// As there.
pub async fn send<P: Packets + ?Sized>(io: &mut P, payload: &[u8], peer: &Target) -> io::Result<()> {
    poll_fn(|cx| io.poll_send(cx, payload, peer)).await
}
