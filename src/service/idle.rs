//! An end for connections on which nothing moves.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::flow::Stream;

/// A stream that fails with [`io::ErrorKind::TimedOut`] when it waits and nothing moved either way for the limit. Activity
/// only notes the time; the timer is set anew when it rings too early.
#[derive(Debug)]
pub(super) struct Idle<S> {
    inner: S,
    limit: Option<(Duration, Pin<Box<Sleep>>)>,
    last: Instant,
}

impl<S> Idle<S> {
    /// Without a limit it is the stream itself.
    pub(super) fn new(inner: S, limit: Option<Duration>) -> Self {
        let limit = limit.map(|limit| (limit, Box::pin(sleep(limit))));
        Self { inner, limit, last: Instant::now() }
    }

    /// What a turn gave: what is ready counts as activity, and who waits is bounded.
    fn noted<T>(&mut self, turn: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if turn.is_ready() {
            self.last = Instant::now();
            return turn;
        }
        let Some((limit, timer)) = &mut self.limit else { return Poll::Pending };
        loop {
            ready!(timer.as_mut().poll(cx));
            let due = self.last + *limit;
            if due <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            timer.as_mut().reset(due);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Idle<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let turn = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.noted(turn, cx)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Idle<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let turn = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.noted(turn, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let turn = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.noted(turn, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A flush that has nothing to do is no sign of life.
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<S: Stream> Stream for Idle<S> {}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_moves_stays_and_what_does_not_ends() {
        let limit = Duration::from_secs(10);
        let (mut far, near) = duplex(8);
        let mut near = Idle::new(near, Some(limit));
        let begun = Instant::now();
        let talk = async {
            for _ in 0..4 {
                sleep(Duration::from_secs(6)).await;
                far.write_all(b"x").await.expect("the other side reads");
            }
            // Kept open: an end would be told apart from silence.
            std::future::pending::<()>().await;
        };
        let mut read = Vec::new();
        let error = tokio::select! {
            () = talk => None,
            read = near.read_to_end(&mut read) => read.err(),
        };
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        assert_eq!((read.len(), begun.elapsed().as_secs()), (4, 34));
    }
}
