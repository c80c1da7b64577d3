//! A socket that goes on at another port of the server now and then.
//!
//! Each time there is another socket of ours too, so that nothing on the way sees one flow for long. What still comes to the
//! one before is heard. The library knows nothing of it: for it, the server stays where it was first.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use rand::RngExt;
use tokio::time::sleep;

use super::params::Hop;
use crate::net::SocketOptions;
use crate::net::udp;

/// A socket that goes on at another port now and then.
pub(super) struct Hopping {
    /// Where the server is for the library.
    known: SocketAddr,
    options: SocketOptions,
    legs: Mutex<Legs>,
}

struct Legs {
    now: Leg,
    before: Option<Leg>,
    /// How many there were.
    count: u64,
    /// Who must hear of another one.
    receiving: Option<Waker>,
}

#[derive(Clone)]
struct Leg {
    socket: Arc<dyn AsyncUdpSocket>,
    to: SocketAddr,
}

impl Hop {
    /// One of the ports, each as likely.
    pub(super) fn port(&self) -> u16 {
        let all: Vec<u16> = self.ports.iter().collect();
        all.get(rand::rng().random_range(0..all.len().max(1))).copied().unwrap_or(0)
    }

    /// The time until the next port.
    pub(super) fn wait(&self) -> Duration {
        let range: RangeInclusive<u64> = self.seconds.clone();
        Duration::from_secs(rand::rng().random_range(range))
    }
}

impl Hopping {
    /// Begins with this socket, which has sent nothing yet; gives the address by which the library is to know the server.
    pub(super) fn begin(
        socket: std::net::UdpSocket,
        to: SocketAddr,
        options: SocketOptions,
        hop: Arc<Hop>,
    ) -> io::Result<Arc<Self>> {
        let now = Leg { socket: TokioRuntime.wrap_udp_socket(socket)?, to: SocketAddr::new(to.ip(), hop.port()) };
        let legs = Mutex::new(Legs { now, before: None, count: 0, receiving: None });
        let hopping = Arc::new(Self { known: to, options, legs });
        tokio::spawn(go_on(Arc::downgrade(&hopping), hop));
        Ok(hopping)
    }

    fn legs(&self) -> MutexGuard<'_, Legs> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hop(&self, port: u16) -> io::Result<()> {
        let to = SocketAddr::new(self.known.ip(), port);
        let (socket, to) = udp::bare_to(&[to], &self.options)?;
        let leg = Leg { socket: TokioRuntime.wrap_udp_socket(socket)?, to };
        let mut legs = self.legs();
        legs.before = Some(std::mem::replace(&mut legs.now, leg));
        legs.count += 1;
        if let Some(waker) = legs.receiving.take() {
            waker.wake();
        }
        Ok(())
    }
}

async fn go_on(hopping: Weak<Hopping>, hop: Arc<Hop>) {
    loop {
        sleep(hop.wait()).await;
        let Some(hopping) = hopping.upgrade() else { return };
        // Without another socket the one that there is goes on.
        if let Err(error) = hopping.hop(hop.port()) {
            tracing::debug!(%error, "no socket for another port of the server");
        }
    }
}

impl AsyncUdpSocket for Hopping {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let (inner, count) = {
            let legs = self.legs();
            (Arc::clone(&legs.now.socket).create_io_poller(), legs.count)
        };
        Box::pin(Poller { hopping: self, inner, count })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let leg = self.legs().now.clone();
        leg.socket.try_send(&Transmit { destination: leg.to, src_ip: None, ..transmit.clone() })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (now, before) = {
            let mut legs = self.legs();
            match &mut legs.receiving {
                Some(waker) => waker.clone_from(cx.waker()),
                empty => *empty = Some(cx.waker().clone()),
            }
            (legs.now.clone(), legs.before.clone())
        };
        for leg in [Some(now), before].into_iter().flatten() {
            let Poll::Ready(came) = leg.socket.poll_recv(cx, bufs, meta) else { continue };
            let came = came?;
            for meta in meta.iter_mut().take(came) {
                // Whoever sits elsewhere is a stranger, as without hopping.
                if meta.addr.ip().to_canonical() == self.known.ip().to_canonical() {
                    meta.addr = self.known;
                }
            }
            return Poll::Ready(Ok(came));
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.legs().now.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.legs().now.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.legs().now.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.legs().now.socket.may_fragment()
    }
}

impl fmt::Debug for Hopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hopping").field(&self.known).finish()
    }
}

/// Asks the socket that there is.
#[derive(Debug)]
struct Poller {
    hopping: Arc<Hopping>,
    inner: Pin<Box<dyn UdpPoller>>,
    count: u64,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let other = {
            let legs = self.hopping.legs();
            (legs.count != self.count).then(|| (Arc::clone(&legs.now.socket), legs.count))
        };
        if let Some((socket, count)) = other {
            (self.inner, self.count) = (socket.create_io_poller(), count);
        }
        ready!(self.inner.as_mut().poll_writable(cx))?;
        Poll::Ready(Ok(()))
    }
}
