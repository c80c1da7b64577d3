//! A stream that is read no faster than allowed, for those who would use us as a pipe to the site.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::flow::{BoxStream, Stream};

/// How fast.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// Bytes that do not count.
    pub free: u64,
    /// Bytes a second; 0 is no limit.
    pub per_second: u64,
    /// Bytes that may come at once, at least those of a second.
    pub burst: u64,
}

/// Slows a stream down; without a limit it stays as it is.
pub(super) fn throttled(io: BoxStream, rate: Rate) -> BoxStream {
    if rate.per_second == 0 {
        return io;
    }
    Box::new(Throttled { io, rate, free: rate.free, full: Instant::now(), wait: None })
}

struct Throttled {
    io: BoxStream,
    rate: Rate,
    free: u64,
    /// When a bucket of `burst` would be full again.
    full: Instant,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Throttled {
    /// Takes bytes out of the bucket. The next ones wait for as long as it is overdrawn.
    fn count(&mut self, bytes: u64) {
        let counted = bytes.saturating_sub(self.free);
        self.free -= bytes - counted;
        if counted == 0 {
            return;
        }
        let now = Instant::now();
        let time = |bytes: u64| Duration::from_secs_f64(bytes as f64 / self.rate.per_second as f64);
        self.full = self.full.max(now) + time(counted);
        let burst = time(self.rate.burst.max(self.rate.per_second));
        if self.full > now + burst {
            self.wait = Some(Box::pin(sleep_until(self.full - burst)));
        }
    }
}

impl AsyncRead for Throttled {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(wait) = &mut this.wait {
            ready!(wait.as_mut().poll(cx));
            this.wait = None;
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buf))?;
        this.count((buf.filled().len() - before) as u64);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Throttled {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

/// Never raw: the kernel would not count.
impl Stream for Throttled {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bytes_past_the_free_ones_and_the_burst_take_their_time() {
        let (near, mut far) = duplex(1 << 20);
        far.write_all(&[7; 100_000]).await.unwrap();
        let mut io = throttled(Box::new(near), Rate { free: 20_000, per_second: 10_000, burst: 30_000 });
        let begun = Instant::now();
        let mut read = async |len: usize| {
            for _ in 0..len / 1000 {
                io.read_exact(&mut [0; 1000]).await.unwrap();
            }
            begun.elapsed().as_millis()
        };
        assert_eq!(read(50_000).await, 0);
        let took = read(50_000).await;
        assert!((4_800..=5_000).contains(&took), "{took} ms for 50000 bytes at 10000 a second");
    }
}
