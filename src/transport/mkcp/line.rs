//! A conversation as a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::shared::Shared;
use crate::flow::Stream;
use crate::proto::mkcp::Heard;

/// A conversation as a stream. It ends when this is dropped; what was written is still said.
#[derive(Debug)]
pub struct Line {
    shared: Shared,
    /// The peer has ended it.
    ended: bool,
}

impl Line {
    pub(super) fn new(shared: Shared) -> Self {
        Self { shared, ended: false }
    }
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let heard = ready!(this.shared.poll_read(cx, |piece| {
            let room = piece.len().min(buf.remaining());
            buf.put_slice(piece.get(..room).unwrap_or_default());
            room
        }))?;
        this.ended |= heard == Heard::End;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.shared.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// No half can be ended: whoever closes reads no more either. So it closes once the peer has.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ended {
            self.shared.close();
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for Line {}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.close();
    }
}
