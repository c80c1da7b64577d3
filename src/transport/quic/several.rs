//! Several sockets as one, for servers whose clients go from port to port.
//!
//! What is sent to somebody leaves by the socket at which they were heard last: everything on the way expects it from there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// Several sockets, not none.
pub(super) struct Several {
    sockets: Box<[Arc<dyn AsyncUdpSocket>]>,
    heard: Mutex<Heard>,
    /// Sockets that took nothing when they were last asked to.
    full: Mutex<BTreeSet<usize>>,
    /// Which one is heard first.
    turn: AtomicUsize,
}

/// At which socket somebody was heard last. Two tables, of which the older goes when the younger is full: sources can be
/// forged.
#[derive(Default)]
struct Heard {
    young: HashMap<SocketAddr, usize>,
    old: HashMap<SocketAddr, usize>,
}

/// Those who are remembered.
const REMEMBERED: usize = 16 * 1024;

impl Heard {
    fn note(&mut self, from: SocketAddr, at: usize) {
        if self.young.get(&from) == Some(&at) {
            return;
        }
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(from, at);
    }

    fn at(&mut self, to: SocketAddr) -> usize {
        if let Some(at) = self.young.get(&to) {
            return *at;
        }
        let at = self.old.get(&to).copied().unwrap_or(0);
        self.note(to, at);
        at
    }
}

/// One socket of these; the only one as it is.
pub(super) fn joined(mut sockets: Vec<Arc<dyn AsyncUdpSocket>>) -> Option<Arc<dyn AsyncUdpSocket>> {
    if sockets.len() < 2 {
        return sockets.pop();
    }
    let (heard, full, turn) = Default::default();
    Some(Arc::new(Several { sockets: sockets.into(), heard, full, turn }))
}

impl Several {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn each<T>(&self, of: impl Fn(&dyn AsyncUdpSocket) -> T) -> impl Iterator<Item = T> {
        self.sockets.iter().map(move |socket| of(&**socket))
    }
}

impl AsyncUdpSocket for Several {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { several: self, pollers: BTreeMap::new() })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let at = self.heard().at(transmit.destination);
        let Some(socket) = self.sockets.get(at) else { return Ok(()) };
        let sent = socket.try_send(transmit);
        if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.full().insert(at);
        }
        sent
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        // In turn, so that a busy one does not keep the others from being heard.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.sockets.len();
        let (later, first) = self.sockets.split_at(turn);
        for (nth, socket) in first.iter().chain(later).enumerate() {
            let Poll::Ready(came) = socket.poll_recv(cx, bufs, meta) else { continue };
            let (came, at) = (came?, (turn + nth) % self.sockets.len());
            let mut heard = self.heard();
            meta.iter().take(came).for_each(|meta| heard.note(meta.addr, at));
            return Poll::Ready(Ok(came));
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.sockets.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.each(|socket| socket.max_transmit_segments()).min().unwrap_or(1)
    }

    fn max_receive_segments(&self) -> usize {
        self.each(|socket| socket.max_receive_segments()).max().unwrap_or(1)
    }

    fn may_fragment(&self) -> bool {
        self.each(|socket| socket.may_fragment()).any(|may| may)
    }
}

impl fmt::Debug for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Several").field(&self.sockets.len()).finish()
    }
}

/// Waits for those that were full.
#[derive(Debug)]
struct Poller {
    several: Arc<Several>,
    pollers: BTreeMap<usize, Pin<Box<dyn UdpPoller>>>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let full = this.several.full().clone();
        for at in full {
            let Some(socket) = this.several.sockets.get(at) else { continue };
            let poller = this.pollers.entry(at).or_insert_with(|| Arc::clone(socket).create_io_poller());
            if poller.as_mut().poll_writable(cx)?.is_pending() {
                return Poll::Pending;
            }
            this.several.full().remove(&at);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_heard_is_answered_from_there_and_strangers_are_forgotten() {
        let mut heard = Heard::default();
        let at = |port: usize| SocketAddr::from(([192, 0, 2, (port >> 16) as u8], port as u16));
        heard.note(at(1), 3);
        assert_eq!((heard.at(at(1)), heard.at(at(2))), (3, 0));
        heard.note(at(1), 4);
        for port in 0..3 * REMEMBERED {
            heard.note(at(100 + port), 1);
            assert_eq!(heard.at(at(1)), 4, "whoever is written to stays known");
        }
        assert!(heard.young.len() <= REMEMBERED && heard.old.len() <= REMEMBERED);
    }
}
