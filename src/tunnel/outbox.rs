//! Messages on their way to the sockets, kept side by side so that the kernel can be given many at once.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use quinn::AsyncUdpSocket;
use quinn::udp::Transmit;

/// A socket and whom it reaches there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of the tunnel's sockets.
    pub(super) socket: usize,
    pub(super) at: SocketAddr,
}

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    entries: Vec<(Place, Range<usize>)>,
    /// Entries that left already.
    gone: usize,
}

/// Most bytes that the kernel takes at once.
const BATCH: usize = 65_000;

/// Messages that wait at most; more are dropped, as a router would.
const WAITING: usize = 4096;

impl Outbox {
    /// Lets `write` make a message of at most `room` bytes, of which it says how long it became.
    pub(super) fn put(&mut self, place: Place, room: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        if self.entries.len() >= WAITING {
            return;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + room, 0);
        let len = self.bytes.get_mut(start..).map_or(0, write).min(room);
        self.bytes.truncate(start + len);
        if len > 0 {
            self.entries.push((place, start..start + len));
        }
    }

    /// Sends what waits. The number of the socket that takes no more for now, if one does not.
    pub(super) fn flush(&mut self, sockets: &[Arc<dyn AsyncUdpSocket>]) -> Option<usize> {
        while let Some((place, first)) = self.entries.get(self.gone).cloned() {
            let Some(socket) = sockets.get(place.socket) else {
                self.gone += 1;
                continue;
            };
            let size = first.len();
            let (mut count, mut end) = (1, first.end);
            let most = socket.max_transmit_segments();
            for (other, next) in &self.entries[self.gone + 1..] {
                if *other != place || count >= most || next.len() > size || next.end - first.start > BATCH {
                    break;
                }
                (count, end) = (count + 1, next.end);
                // Only the last one may be shorter.
                if next.len() < size {
                    break;
                }
            }
            let segment_size = (count > 1).then_some(size);
            let contents = &self.bytes[first.start..end];
            let transmit = Transmit { destination: place.at, ecn: None, contents, segment_size, src_ip: None };
            match socket.try_send(&transmit) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(place.socket),
                Err(error) => tracing::trace!(%error, "a message was dropped"),
                Ok(()) => {}
            }
            self.gone += count;
        }
        self.gone = 0;
        self.entries.clear();
        self.bytes.clear();
        None
    }
}
