//! The outer end of a connection: a byte stream whose bytes come and go in pieces by two short queues.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

use super::ends::{Ends, Looks};
use crate::flow::Stream;

/// Bytes of a piece at most.
pub(super) const PIECE: usize = 64 * 1024;

/// Pieces that wait each way.
pub(super) const PIECES: usize = 4;

/// A connection through a tunnel.
pub struct TunnelStream {
    ends: Ends,
    looks: Looks,
    /// None once this end has nothing more to say.
    up: Option<PollSender<Bytes>>,
    down: mpsc::Receiver<io::Result<Bytes>>,
    /// What was taken from the queue and not yet by the reader.
    piece: Bytes,
    /// Pieces are cut from here, so that not each of them is an allocation.
    room: BytesMut,
    /// The tunnel has bytes for which the queue had no place.
    full: Arc<AtomicBool>,
}

/// What the tunnel keeps of it.
pub(super) struct Inner {
    pub(super) up: mpsc::Receiver<Bytes>,
    pub(super) down: mpsc::Sender<io::Result<Bytes>>,
    pub(super) full: Arc<AtomicBool>,
}

impl TunnelStream {
    pub(super) fn new(ends: Ends, looks: Looks) -> (Self, Inner) {
        let (up, taken) = mpsc::channel(PIECES);
        let (given, down) = mpsc::channel(PIECES);
        let full = Arc::<AtomicBool>::default();
        let inner = Inner { up: taken, down: given, full: Arc::clone(&full) };
        let up = Some(PollSender::new(up));
        (Self { ends, looks, up, down, piece: Bytes::new(), room: BytesMut::new(), full }, inner)
    }

    /// The address of this end inside the tunnel.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.ends.from
    }

    /// Lets the tunnel look at this connection.
    fn hint(&self) {
        // A tunnel that is over needs none: both queues tell.
        let _ = self.looks.send(self.ends);
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.piece.is_empty() {
            match ready!(this.down.poll_recv(cx)) {
                Some(Ok(piece)) => this.piece = piece,
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(())),
            }
            if this.full.swap(false, Ordering::AcqRel) {
                this.hint();
            }
        }
        let len = this.piece.len().min(buf.remaining());
        buf.put_slice(&this.piece.split_to(len));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let Some(up) = &mut this.up else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        if ready!(up.poll_reserve(cx)).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let len = buf.len().min(PIECE);
        if this.room.capacity() < len {
            this.room.reserve(PIECE);
        }
        this.room.extend_from_slice(buf.get(..len).unwrap_or_default());
        let piece = this.room.split().freeze();
        if up.send_item(piece).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        this.hint();
        Poll::Ready(Ok(len))
    }

    /// Nothing is held back here.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.up.take().is_some() {
            self.hint();
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for TunnelStream {}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        self.up = None;
        self.down.close();
        self.piece.advance(self.piece.len());
        self.hint();
    }
}
