//! How fast one connection sends, where that was agreed on and the network is not asked.
//!
//! The library's own pacing follows from a window and a round trip, and is no pacing at all where the round trip is short.
//! So it is done where packets leave: whoever sends by a [`Paced`] socket waits there until its time has come.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::time::{Sleep, sleep_until};

/// How fast one connection sends.
#[derive(Debug)]
pub struct Pace {
    /// Bytes a second; 0 is as fast as the network takes it.
    rate: AtomicU64,
    begun: Instant,
    /// When all that was sent has had its time, in nanoseconds since the beginning.
    due: AtomicU64,
}

/// So much may be sent ahead of its time, since timers are not exact (Hysteria's burst).
const AHEAD: Duration = Duration::from_millis(4);
/// But at least so many bytes.
const LEAST: u64 = 10 * 1452;

impl Default for Pace {
    fn default() -> Self {
        Self { rate: AtomicU64::new(0), begun: now(), due: AtomicU64::new(0) }
    }
}

impl Pace {
    /// From now on so many bytes a second are sent, whatever the network does.
    pub fn set(&self, rate: u64) {
        self.rate.store(rate, Ordering::Relaxed);
    }

    /// Bytes a second; none where the network is asked.
    #[must_use]
    pub fn rate(&self) -> Option<u64> {
        Some(self.rate.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }

    /// Counts what was sent, of which `share` arrives.
    pub(super) fn sent(&self, bytes: u64, share: f64, now: Instant) {
        let Some(rate) = self.rate() else { return };
        let now = self.since(now);
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact to the byte")]
        let effective = rate as f64 / share;
        let cost = nanos(bytes, effective);
        // Only the connection's own task counts here.
        let due = self.due.load(Ordering::Relaxed).max(now).saturating_add(cost);
        self.due.store(due, Ordering::Relaxed);
    }

    /// When to try again; none if it may be sent now.
    fn wait(&self, now: Instant) -> Option<Instant> {
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        let rate = self.rate()? as f64;
        let ahead = self.due.load(Ordering::Relaxed).saturating_sub(self.since(now));
        let allowed = nanos(LEAST, rate).max(u64::try_from(AHEAD.as_nanos()).unwrap_or(0));
        (ahead > allowed).then(|| now + Duration::from_nanos(ahead - allowed / 2))
    }

    fn since(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "neither has a sign, and too much saturates"
)]
fn nanos(bytes: u64, rate: f64) -> u64 {
    (bytes as f64 * 1e9 / rate) as u64
}

/// The time by which the library counts.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// A socket whose connections each send at their pace.
pub(super) struct Paced {
    inner: Arc<dyn AsyncUdpSocket>,
    /// Held while one begins, so that nobody else gets its pace.
    beginning: Mutex<()>,
    /// The pace of the connection that begins.
    next: Mutex<Option<Arc<Pace>>>,
}

impl Paced {
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>) -> Arc<Self> {
        Arc::new(Self { inner, beginning: Mutex::default(), next: Mutex::default() })
    }

    /// Begins a connection that keeps a pace: the library asks for what says when it may send while it begins.
    pub(super) fn begin<T>(&self, pace: &Arc<Pace>, begin: impl FnOnce() -> T) -> T {
        let _alone = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        *self.slot() = Some(Arc::clone(pace));
        let begun = begin();
        *self.slot() = None;
        begun
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Pace>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncUdpSocket for Paced {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let inner = Arc::clone(&self.inner).create_io_poller();
        match self.slot().clone() {
            Some(pace) => Box::pin(Turn { inner, pace, sleep: None }),
            None => inner,
        }
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, bufs, meta)
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

impl fmt::Debug for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Paced").field(&self.inner).finish()
    }
}

/// When one connection may send.
#[derive(Debug)]
struct Turn {
    inner: Pin<Box<dyn UdpPoller>>,
    pace: Arc<Pace>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl UdpPoller for Turn {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(until) = self.pace.wait(now()) {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(until.into())));
            sleep.as_mut().reset(until.into());
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        self.inner.as_mut().poll_writable(cx)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_takes_its_time() {
        let pace = Pace::default();
        let mut now = now();
        pace.sent(1 << 30, 1.0, now);
        assert_eq!(pace.wait(now), None);
        pace.set(1_000_000);
        let begun = now;
        let mut sent = 0;
        while sent < 1_000_000 {
            match pace.wait(now) {
                Some(until) => now = until,
                None => {
                    pace.sent(1000, 1.0, now);
                    sent += 1000;
                }
            }
        }
        let took = now.duration_since(begun);
        assert!((980..=1000).contains(&took.as_millis()), "{took:?}");
        // What was not sent in its time is not made good later.
        now += Duration::from_secs(10);
        let more = (0..)
            .take_while(|_| {
                pace.wait(now).is_none() && {
                    pace.sent(1000, 1.0, now);
                    true
                }
            })
            .count();
        assert!((14..=16).contains(&more), "{more}");
    }

    #[tokio::test]
    async fn what_is_lost_is_sent_beside() {
        let pace = Pace::default();
        pace.set(1_000_000);
        pace.sent(1_000_000, 0.8, now());
        assert_eq!(pace.wait(now()).map(|until| until.duration_since(pace.begun).as_millis() / 100), Some(7));
    }
}
