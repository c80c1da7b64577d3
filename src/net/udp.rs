//! UDP sockets: one for many clients, or one association's way out.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::pool::Buffer;
use super::socket::{self, SocketOptions};
use super::tcp::canonical;
use crate::addr::Target;
use crate::flow::Packets;

/// A UDP socket that knows whether it serves both families, so that callers see IPv4 addresses as such.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    both: bool,
}

impl Datagrams {
    /// Binds a socket; `0.0.0.0` takes IPv6 as well where there is any.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn bind(at: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        Self::new(socket::datagrams(at, options)?)
    }

    fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let socket = UdpSocket::from_std(socket)?;
        let both = socket.local_addr()?.is_ipv6();
        Ok(Self { socket, both })
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr().map(canonical)
    }

    /// Receives one datagram and appends it to `buf`. It passes through a borrowed buffer, so nobody keeps room for the
    /// largest datagram while waiting; no datagram fills that buffer, so none is cut.
    ///
    /// # Errors
    /// When the socket is broken. Refusals that earlier datagrams met are skipped.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<SocketAddr>> {
        let mut room = Buffer::take();
        loop {
            let mut read = ReadBuf::new(&mut room);
            match ready!(self.socket.poll_recv_from(cx, &mut read)) {
                Ok(from) => {
                    buf.extend_from_slice(read.filled());
                    return Poll::Ready(Ok(canonical(from)));
                }
                Err(error) if passing(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Sends one datagram. One that cannot be sent is dropped, as a router would.
    ///
    /// # Errors
    /// None today; what breaks a socket shows when receiving.
    pub fn poll_send(&self, cx: &mut Context<'_>, payload: &[u8], to: SocketAddr) -> Poll<io::Result<()>> {
        let to = match to {
            SocketAddr::V4(at) if self.both => (at.ip().to_ipv6_mapped(), at.port()).into(),
            at => at,
        };
        if let Err(error) = ready!(self.socket.poll_send_to(cx, payload, to)) {
            tracing::trace!(%error, "a datagram was dropped");
        }
        Poll::Ready(Ok(()))
    }
}

/// A bound socket, with much room, for a library that reads and writes it itself; wildcards as with [`Datagrams::bind`].
///
/// # Errors
/// Whatever the kernel says.
pub fn bare(at: SocketAddr, options: &SocketOptions) -> io::Result<std::net::UdpSocket> {
    let socket = socket::datagrams(at, options)?;
    socket::make_room(&socket, options);
    Ok(socket)
}

/// The same for sending to the first of these addresses that there is a way to, and that address.
///
/// # Errors
/// Whatever the kernel says of the last of them; [`io::ErrorKind::AddrNotAvailable`] where there is none.
pub fn bare_to(to: &[SocketAddr], options: &SocketOptions) -> io::Result<(std::net::UdpSocket, SocketAddr)> {
    let mut failed = io::ErrorKind::AddrNotAvailable.into();
    for to in to {
        // Only a connected socket tells that there is no way, and only an unconnected one may follow a server that moves.
        let tried = socket::outgoing_datagrams(*to, options)
            .and_then(|asked| asked.connect(to))
            .and_then(|()| socket::outgoing_datagrams(*to, options));
        match tried {
            Ok(socket) => {
                socket::make_room(&socket, options);
                return Ok((socket, *to));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// An association's own way out: a socket per family, opened when the first datagram of that family leaves, so most own
/// one file. Whoever answers is heard (full cone). Names must have been resolved; datagrams to names are dropped.
#[derive(Debug)]
pub struct Direct {
    options: SocketOptions,
    v4: Option<Datagrams>,
    v6: Option<Datagrams>,
    /// IPv6 is heard first this time.
    turn: bool,
    /// Who waits for datagrams and must hear of a new socket.
    waiting: Option<Waker>,
}

impl Direct {
    /// No socket yet.
    #[must_use]
    pub fn new(options: SocketOptions) -> Self {
        Self { options, v4: None, v6: None, turn: false, waiting: None }
    }

    fn socket(&mut self, to: SocketAddr) -> io::Result<&Datagrams> {
        let place = if to.is_ipv4() { &mut self.v4 } else { &mut self.v6 };
        match place {
            Some(socket) => Ok(socket),
            None => {
                let socket = Datagrams::new(socket::outgoing_datagrams(to, &self.options)?)?;
                if let Some(waker) = self.waiting.take() {
                    waker.wake();
                }
                Ok(place.insert(socket))
            }
        }
    }
}

impl Packets for Direct {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        // In turn, so that neither family keeps the other from being heard.
        let first = if self.turn { [&self.v6, &self.v4] } else { [&self.v4, &self.v6] };
        self.turn = !self.turn;
        for socket in first.into_iter().flatten() {
            if let Poll::Ready(from) = socket.poll_recv(cx, buf) {
                return Poll::Ready(from.map(Target::from));
            }
        }
        if self.v4.is_none() || self.v6.is_none() {
            self.waiting = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        let Some(to) = peer.socket() else { return Poll::Ready(Ok(())) };
        let alone = self.v4.is_none() && self.v6.is_none();
        match self.socket(to) {
            Ok(socket) => socket.poll_send(cx, payload, to),
            // This machine may lack one family; the association may still live by the other.
            Err(error) if !alone => {
                tracing::debug!(%error, "no socket for this family");
                Poll::Ready(Ok(()))
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// An ICMP message that an earlier datagram brought back.
fn passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::flow::{recv, send};

    #[tokio::test]
    async fn any_peer_may_answer() {
        let a = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut way = Direct::new(SocketOptions::default());
        send(&mut way, b"ask", &a.local_addr().unwrap().into()).await.unwrap();
        let mut room = [0; 16];
        let (len, from) = a.recv_from(&mut room).await.unwrap();
        assert_eq!(&room[..len], b"ask");
        b.send_to(b"stranger", from).await.unwrap();
        let mut buf = BytesMut::new();
        let peer = recv(&mut way, &mut buf).await.unwrap();
        assert_eq!((&buf[..], peer), (&b"stranger"[..], b.local_addr().unwrap().into()));
    }

    #[tokio::test]
    async fn a_refused_datagram_does_not_end_the_association() {
        let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut way = Direct::new(SocketOptions::default());
        send(&mut way, b"x", &gone.into()).await.unwrap();
        send(&mut way, b"y", &there.local_addr().unwrap().into()).await.unwrap();
        let (_, from) = there.recv_from(&mut [0; 4]).await.unwrap();
        there.send_to(b"z", from).await.unwrap();
        let mut buf = BytesMut::new();
        recv(&mut way, &mut buf).await.unwrap();
        assert_eq!(&buf[..], b"z");
    }

    #[tokio::test]
    async fn neither_family_keeps_the_other_from_being_heard() {
        let v4 = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let Ok(v6) = UdpSocket::bind("[::1]:0").await else { return };
        let mut way = Direct::new(SocketOptions::default());
        let mut room = [0; 4];
        for (peer, count) in [(&v4, 8), (&v6, 2)] {
            send(&mut way, b"x", &peer.local_addr().unwrap().into()).await.unwrap();
            let (_, from) = peer.recv_from(&mut room).await.unwrap();
            for _ in 0..count {
                peer.send_to(b"y", from).await.unwrap();
            }
        }
        // Until the runtime knows of all that came.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let mut heard = vec![];
        for _ in 0..4 {
            heard.push(recv(&mut way, &mut BytesMut::new()).await.unwrap().socket().unwrap().is_ipv6());
        }
        assert_eq!(heard.iter().filter(|is_v6| **is_v6).count(), 2, "{heard:?}");
    }

    #[tokio::test]
    async fn an_old_and_a_new_process_can_listen_on_one_port() {
        let any = Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap();
        let taken = any.local().unwrap();
        drop(any);
        let old = Datagrams::bind(taken, &SocketOptions::default()).unwrap();
        let new = Datagrams::bind(taken, &SocketOptions::default()).unwrap();
        assert_eq!(old.local().unwrap(), new.local().unwrap());
    }

    #[tokio::test]
    async fn a_socket_of_both_families_speaks_to_ipv4() {
        let hub = Datagrams::bind(([0; 4], 0).into(), &SocketOptions::default()).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.send_to(b"in", ("127.0.0.1", hub.local().unwrap().port())).await.unwrap();
        let mut buf = BytesMut::new();
        let from = poll_fn(|cx| hub.poll_recv(cx, &mut buf)).await.unwrap();
        assert_eq!((&buf[..], from), (&b"in"[..], client.local_addr().unwrap()));
        poll_fn(|cx| hub.poll_send(cx, b"out", from)).await.unwrap();
        let mut room = [0; 8];
        assert_eq!(client.recv(&mut room).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_largest_datagram_comes_whole() {
        let hub = Datagrams::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(hub.local().unwrap()).await.unwrap();
        let largest = [7; u16::MAX as usize - 8 - 20];
        client.send(&largest).await.unwrap();
        let mut buf = BytesMut::new();
        poll_fn(|cx| hub.poll_recv(cx, &mut buf)).await.unwrap();
        assert_eq!(buf, largest[..]);
    }
}
