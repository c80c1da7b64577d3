//! What came for a session and was not fetched yet.

use std::collections::VecDeque;

use bytes::{Buf, BytesMut};
use tokio::io::ReadBuf;

use crate::addr::{Network, Target};
use crate::net::Scratch;

/// Bytes, and for datagrams where each of them ends and whose it is. Memory is borrowed while there is something.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Option<Scratch>,
    /// Length and peer of each datagram; empty for streams.
    datagrams: VecDeque<(usize, Option<Target>)>,
}

/// Bytes that wait for a reader before the connection is read no further; one frame may go beyond.
const FULL: usize = 128 * 1024;

/// Datagrams that wait for a reader; more are dropped.
const DATAGRAMS: usize = 128;

impl Inbox {
    /// Puts data in. `false` if it must wait: then nothing was taken.
    pub(super) fn put(&mut self, network: Network, peer: Option<Target>, data: &[u8]) -> bool {
        let datagram = network == Network::Udp;
        if self.is_full() {
            return datagram;
        }
        if datagram {
            self.datagrams.push_back((data.len(), peer));
        }
        if !data.is_empty() {
            self.bytes.get_or_insert_with(Scratch::take).extend_from_slice(data);
        }
        true
    }

    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }

    fn is_full(&self) -> bool {
        self.len() >= FULL || self.datagrams.len() >= DATAGRAMS
    }

    /// Whether what waits for room may come now.
    pub(super) fn has_room(&self) -> bool {
        self.len() <= FULL / 2
    }

    /// Gives bytes to a reader; whether there were any.
    pub(super) fn read(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let Some(bytes) = &mut self.bytes else { return false };
        let len = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..len]);
        self.advance(len);
        true
    }

    /// Gives the next datagram.
    pub(super) fn datagram(&mut self, buf: &mut BytesMut) -> Option<Option<Target>> {
        let (len, peer) = self.datagrams.pop_front()?;
        if let Some(bytes) = &self.bytes {
            buf.extend_from_slice(&bytes[..len]);
        }
        self.advance(len);
        Some(peer)
    }

    fn advance(&mut self, len: usize) {
        if let Some(bytes) = &mut self.bytes {
            (**bytes).advance(len);
            if bytes.is_empty() {
                self.bytes = None;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_and_a_full_inbox_takes_no_more() {
        let mut inbox = Inbox::default();
        assert!(inbox.put(Network::Tcp, None, b"ab") && inbox.put(Network::Tcp, None, b"cd"));
        let (mut room, mut more) = ([0; 3], [0; 3]);
        assert!(inbox.read(&mut ReadBuf::new(&mut room)) && inbox.read(&mut ReadBuf::new(&mut more)));
        assert_eq!((&room, more[0]), (b"abc", b'd'));
        assert!(!inbox.read(&mut ReadBuf::new(&mut room)));
        assert!(inbox.put(Network::Tcp, None, &[0; FULL]) && !inbox.put(Network::Tcp, None, b"x"));
        assert!(!inbox.has_room());
    }

    #[test]
    fn datagrams_keep_their_borders_and_too_many_are_dropped() {
        let mut inbox = Inbox::default();
        let peer: Target = "10.0.0.1:1".parse().unwrap();
        for data in [&b"one"[..], b"", b"two"] {
            assert!(inbox.put(Network::Udp, Some(peer.clone()), data));
        }
        for data in [&b"one"[..], b"", b"two"] {
            let mut buf = BytesMut::new();
            assert_eq!(inbox.datagram(&mut buf), Some(Some(peer.clone())));
            assert_eq!(buf, data);
        }
        assert!(inbox.datagram(&mut BytesMut::new()).is_none() && inbox.bytes.is_none());
        (0..2 * DATAGRAMS).for_each(|_| assert!(inbox.put(Network::Udp, None, b"x")));
        assert_eq!((inbox.datagrams.len(), inbox.len()), (DATAGRAMS, DATAGRAMS));
    }
}
