//! A stream whose first writes leave in pieces.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::flow::{Half, Stream};
use crate::proto::fragment::{Fragment, Piece};

/// A stream around another. Once nothing more is to be cut it is out of the way.
pub(super) struct Fragmented<S> {
    inner: S,
    fragment: Fragment,
    /// The number of the next write.
    next: u32,
    /// Pieces that wait, the first of them perhaps begun.
    pieces: VecDeque<Piece>,
    written: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S: Stream> Fragmented<S> {
    pub(super) fn new(inner: S, fragment: Fragment) -> Self {
        Self { inner, fragment, next: 1, pieces: VecDeque::new(), written: 0, pause: None }
    }

    /// Writes all pieces, with the waits between them.
    fn poll_pieces(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let Some(piece) = self.pieces.front() else { return Poll::Ready(Ok(())) };
            let mut rest = &piece.bytes[self.written..];
            while rest.has_remaining() {
                let len = ready!(Pin::new(&mut self.inner).poll_write(cx, rest))?;
                if len == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.written += len;
                rest.advance(len);
            }
            ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
            self.written = 0;
            if let Some(piece) = self.pieces.pop_front().filter(|piece| !piece.pause.is_zero()) {
                self.pause = Some(Box::pin(sleep(piece.pause)));
            }
        }
    }
}

impl<S: Stream> AsyncRead for Fragmented<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buf)
    }
}

impl<S: Stream> AsyncWrite for Fragmented<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_pieces(cx))?;
        if buf.is_empty() || this.fragment.is_over(this.next) {
            return Pin::new(&mut this.inner).poll_write(cx, buf);
        }
        let Some(pieces) = this.fragment.cut(this.next, buf, &mut rand::rng()) else {
            let written = ready!(Pin::new(&mut this.inner).poll_write(cx, buf))?;
            this.next = this.next.saturating_add(1);
            return Poll::Ready(Ok(written));
        };
        this.next = this.next.saturating_add(1);
        this.pieces.extend(pieces);
        // What cannot leave now waits, and the next call goes on with it.
        if let Poll::Ready(written) = this.poll_pieces(cx) {
            written?;
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_pieces(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_pieces(cx))?;
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }
}

impl<S: Stream> Stream for Fragmented<S> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        let over = self.fragment.is_over(self.next) && self.pieces.is_empty() && self.pause.is_none();
        if half == Half::Read || over { self.inner.raw(half) } else { None }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;
    use crate::proto::fragment::Writes;

    fn two_bytes(writes: Writes) -> Fragment {
        Fragment { writes, length: 2..=2, interval: 100..=100, most: 0..=0 }
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_leave_one_after_another_and_later_writes_at_once() {
        let (near, mut far) = duplex(64);
        let mut near = Fragmented::new(near, two_bytes(Writes::Between(1, 1)));
        let began = Instant::now();
        let writing = tokio::spawn(async move {
            near.write_all(b"abcde").await.unwrap();
            near.write_all(b"whole").await.unwrap();
            near.shutdown().await.unwrap();
        });
        let mut room = [0; 64];
        for (piece, millis) in [(&b"ab"[..], 0), (b"cd", 100), (b"e", 200), (b"whole", 300)] {
            let len = far.read(&mut room).await.unwrap();
            assert_eq!((&room[..len], began.elapsed()), (piece, Duration::from_millis(millis)));
        }
        assert_eq!(far.read(&mut room).await.unwrap(), 0);
        writing.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_sink_loses_nothing() {
        let (near, mut far) = duplex(1);
        let mut near = Fragmented::new(near, two_bytes(Writes::All));
        let writing = tokio::spawn(async move {
            near.write_all(b"a text that is longer than a piece").await.unwrap();
            near.shutdown().await.unwrap();
        });
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "a text that is longer than a piece");
        writing.await.unwrap();
    }
}
