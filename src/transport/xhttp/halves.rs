//! Two halves that have nothing to do with each other, as one stream.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::{DropGuard, PollSender};

use super::source::Source;
use crate::flow::Stream;

/// One stream of the two.
pub(super) struct Joined<R> {
    source: R,
    /// What came and was not read yet.
    chunk: Bytes,
    sender: PollSender<Bytes>,
    /// Where written bytes become chunks; its memory is used again once the chunks before are gone.
    room: BytesMut,
    /// Ends whatever works for this stream.
    _end: DropGuard,
}

/// Chunks that may wait for the connection, and the longest.
pub(super) const WAITING: usize = 8;
pub(super) const CHUNK: usize = 32 * 1024;

impl<R: Source> Joined<R> {
    pub(super) fn new(source: R, sender: mpsc::Sender<Bytes>, end: DropGuard) -> Self {
        let sender = PollSender::new(sender);
        Self { source, chunk: Bytes::new(), sender, room: BytesMut::new(), _end: end }
    }
}

impl<R: Source> AsyncRead for Joined<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.chunk.is_empty() {
            match ready!(this.source.poll_chunk(cx))? {
                Some(chunk) => this.chunk = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = this.chunk.len().min(buf.remaining());
        buf.put_slice(&this.chunk[..len]);
        this.chunk.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl<R: Source> AsyncWrite for Joined<R> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(this.sender.poll_reserve(cx)).map_err(gone)?;
        let len = buf.len().min(CHUNK);
        if this.room.capacity() < len {
            this.room.reserve(2 * CHUNK);
        }
        this.room.extend_from_slice(&buf[..len]);
        this.sender.send_item(this.room.split().freeze()).map_err(gone)?;
        Poll::Ready(Ok(len))
    }

    /// Whoever takes the chunks sends them at once.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().sender.close();
        Poll::Ready(Ok(()))
    }
}

impl<R: Source> Stream for Joined<R> {}

impl<R> fmt::Debug for Joined<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").finish_non_exhaustive()
    }
}
