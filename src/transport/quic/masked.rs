//! A socket whose packets wear masks.
//!
//! Batches stay batches both ways: all packets of one are of one length, and each mask has a length of its own.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use crate::proto::mask::Masks;

/// A socket whose packets wear masks.
pub(super) struct Masked<M> {
    inner: Arc<dyn AsyncUdpSocket>,
    masks: M,
}

/// Which masks packets wear, if any.
pub trait Wardrobe: Send + Sync + 'static {
    /// Those of now.
    fn masks(&self) -> Option<Arc<Masks>>;
}

impl Wardrobe for Arc<Masks> {
    fn masks(&self) -> Option<Arc<Masks>> {
        Some(Self::clone(self))
    }
}

impl<F: Fn() -> Option<Arc<Masks>> + Send + Sync + 'static> Wardrobe for F {
    fn masks(&self) -> Option<Arc<Masks>> {
        self()
    }
}

thread_local! {
    /// Where a batch is sealed, which leaves at once or is sealed anew.
    static BATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<M: Wardrobe> Masked<M> {
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>, masks: M) -> Arc<Self> {
        Arc::new(Self { inner, masks })
    }
}

impl<M: Wardrobe> AsyncUdpSocket for Masked<M> {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(masks) = self.masks.masks() else { return self.inner.try_send(transmit) };
        BATCH.with_borrow_mut(|batch| {
            batch.clear();
            let mut rng = rand::rng();
            let size = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
            for packet in transmit.contents.chunks(size) {
                masks.seal(packet, batch, &mut rng);
            }
            let segment_size = transmit.segment_size.map(|size| size + masks.overhead());
            self.inner.try_send(&Transmit { contents: batch, segment_size, ..transmit.clone() })
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let came = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        let Some(masks) = self.masks.masks() else { return Poll::Ready(Ok(came)) };
        for (buf, meta) in bufs.iter_mut().zip(meta.iter_mut()).take(came) {
            let len = meta.len.min(buf.len());
            (meta.len, meta.stride) = open_all(&masks, &mut buf[..len], meta.stride);
        }
        Poll::Ready(Ok(came))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl<M> fmt::Debug for Masked<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Masked").field(&self.inner).finish()
    }
}

/// Opens all packets of a batch, and moves them together; strangers' are left out. Gives the length of all, and of each but
/// the last.
fn open_all(masks: &Masks, batch: &mut [u8], stride: usize) -> (usize, usize) {
    let overhead = masks.overhead();
    if stride <= overhead {
        return (0, 0);
    }
    let (mut from, mut to) = (0, 0);
    while from < batch.len() {
        let end = (from + stride).min(batch.len());
        let packet = &mut batch[from..end];
        let start = packet.as_ptr() as usize;
        if let Some(opened) = masks.open(packet) {
            let (skipped, len) = (opened.as_ptr() as usize - start, opened.len());
            // One that is shorter than the others ends a batch; what would stand behind it could not be found.
            batch.copy_within(from + skipped..from + skipped + len, to);
            to += len;
            if len != stride - overhead {
                break;
            }
        }
        from = end;
    }
    (to, (stride - overhead).min(to))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::proto::mask::{Layer, Salamander, Seal};

    fn opened(masks: &Masks, packets: &[&[u8]]) -> (Vec<u8>, usize) {
        let mut rng = StdRng::seed_from_u64(1);
        let mut batch = vec![];
        for packet in packets {
            if packet.starts_with(b"stranger") {
                batch.extend_from_slice(packet);
            } else {
                masks.seal(packet, &mut batch, &mut rng);
            }
        }
        let stride = batch.len().min(packets[0].len() + masks.overhead());
        let (len, stride) = open_all(masks, &mut batch, stride);
        (batch[..len].to_vec(), stride)
    }

    #[test]
    fn batches_are_opened_where_they_lie() {
        let masks = Masks::new([Layer::Salamander(Salamander::new(b"obfspass"))]);
        assert_eq!(opened(&masks, &[b"abcde", b"fghij", b"kl"]), (b"abcdefghijkl".to_vec(), 5));
        assert_eq!(opened(&masks, &[b"ab"]), (b"ab".to_vec(), 2));
        assert_eq!(opened(&masks, &[b""]), (vec![], 0));
    }

    #[test]
    fn strangers_are_left_out() {
        let masks = Masks::new([Layer::Seal(Seal::keyed("seed"))]);
        let stranger = [&b"stranger"[..], &vec![7; 5 + masks.overhead() - 8]].concat();
        assert_eq!(opened(&masks, &[b"abcde", &stranger, b"klmno"]), (b"abcdeklmno".to_vec(), 5));
        assert_eq!(open_all(&masks, &mut [0; 3], 3), (0, 0));
        assert_eq!(open_all(&masks, &mut [0; 64], 64), (0, 0));
    }
}
