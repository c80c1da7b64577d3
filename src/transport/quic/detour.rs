//! Datagrams that go another way, such as through another outbound, as a socket for QUIC.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::PollSender;

use super::params::Hop;
use crate::addr::Target;
use crate::flow::BoxPackets;

/// The server's address as QUIC knows it. Where it really is only the association knows.
pub(super) const BEYOND: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 443));
const HERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

/// Datagrams that may wait each way; of those that come, more are dropped.
const WAITING: usize = 256;

/// The near end of an association.
struct Detour {
    out: mpsc::Sender<Bytes>,
    heard: Mutex<mpsc::Receiver<Bytes>>,
}

/// Whether the association takes another datagram.
#[derive(Debug)]
struct Room(PollSender<Bytes>);

/// A socket whose datagrams all go to this server, and the task that moves them, which ends when the association does.
/// They go to one of several ports in turn where the configuration says so.
pub(super) fn socket(
    packets: BoxPackets,
    to: Target,
    hop: Option<Arc<Hop>>,
) -> (Arc<dyn AsyncUdpSocket>, JoinHandle<()>) {
    let (out, leaving) = mpsc::channel(WAITING);
    let (coming, heard) = mpsc::channel(WAITING);
    let driver = tokio::spawn(drive(packets, Server::new(to, hop), leaving, coming));
    (Arc::new(Detour { out, heard: Mutex::new(heard) }), driver)
}

/// Where the server is now.
struct Server {
    to: Target,
    hop: Option<(Arc<Hop>, Pin<Box<Sleep>>)>,
}

impl Server {
    fn new(mut to: Target, hop: Option<Arc<Hop>>) -> Self {
        let hop = hop.map(|hop| {
            to.port = hop.port();
            let wait = Box::pin(sleep(hop.wait()));
            (hop, wait)
        });
        Self { to, hop }
    }

    /// Goes on to another port when it is time.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        let Some((hop, wait)) = &mut self.hop else { return };
        while wait.as_mut().poll(cx).is_ready() {
            self.to.port = hop.port();
            wait.as_mut().reset(Instant::now() + hop.wait());
        }
    }
}

async fn drive(
    mut packets: BoxPackets,
    mut server: Server,
    mut out: mpsc::Receiver<Bytes>,
    heard: mpsc::Sender<Bytes>,
) {
    let mut next: Option<Bytes> = None;
    let mut buf = BytesMut::new();
    poll_fn(|cx| {
        server.go_on(cx);
        loop {
            loop {
                let Some(datagram) = &next else {
                    match out.poll_recv(cx) {
                        Poll::Ready(Some(datagram)) => next = Some(datagram),
                        Poll::Ready(None) => return Poll::Ready(()),
                        Poll::Pending => break,
                    }
                    continue;
                };
                match packets.poll_send(cx, datagram, &server.to) {
                    Poll::Ready(Ok(())) => next = None,
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => break,
                }
            }
            match ready!(packets.poll_recv(cx, &mut buf)) {
                // A full queue drops the datagram, as a router would.
                Ok(_) => drop(heard.try_send(buf.split().freeze())),
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}

impl AsyncUdpSocket for Detour {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room(PollSender::new(self.out.clone())))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.out.try_send(Bytes::copy_from_slice(transmit.contents)) {
            Err(TrySendError::Full(_)) => Err(io::ErrorKind::WouldBlock.into()),
            // Whoever opened the connection is told of the end, and closes it.
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(buf), Some(meta)) = (bufs.first_mut(), meta.first_mut()) else { return Poll::Ready(Ok(0)) };
        loop {
            let Some(datagram) = ready!(heard.poll_recv(cx)) else { return Poll::Pending };
            if let Some(room) = buf.get_mut(..datagram.len()) {
                room.copy_from_slice(&datagram);
                let len = datagram.len();
                *meta = RecvMeta { addr: BEYOND, len, stride: len, ecn: None, dst_ip: None };
                return Poll::Ready(Ok(1));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(HERE)
    }
}

impl UdpPoller for Room {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The place is only looked for, not kept.
        let _ = ready!(self.0.poll_reserve(cx));
        self.0.abort_send();
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Detour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detour").finish_non_exhaustive()
    }
}
