//! What a flow's copies share: bytes moved, when the first of them moved, and how its dial goes on.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Bytes moved, seen from the client: `up` left it, `down` came back. Counting is some relaxed operations a turn; the
/// caller has read the clock already.
#[derive(Debug)]
pub struct Meter {
    born: Instant,
    up: AtomicU64,
    down: AtomicU64,
    first_up: Stamp,
    first_down: Stamp,
    last_down: Stamp,
    given: AtomicBool,
    failures: AtomicU8,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            born: Instant::now(),
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            first_up: Stamp::default(),
            first_down: Stamp::default(),
            last_down: Stamp::default(),
            given: AtomicBool::new(false),
            failures: AtomicU8::new(0),
        }
    }
}

impl Meter {
    /// Counts bytes from the client to the target, and bytes back.
    pub fn moved(&self, up: u64, down: u64, now: Instant) {
        let since = now.saturating_duration_since(self.born);
        if up > 0 && self.up.fetch_add(up, Ordering::Relaxed) == 0 {
            self.first_up.set(since);
        }
        if down > 0 {
            if self.down.fetch_add(down, Ordering::Relaxed) == 0 {
                self.first_down.set(since);
            }
            self.last_down.set(since);
        }
    }

    /// Bytes from the client so far.
    #[must_use]
    pub fn up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    /// Bytes to the client so far.
    #[must_use]
    pub fn down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }

    /// How long the first byte that came back was waited for; `None` before it came, and where it was not asked for.
    #[must_use]
    pub fn answered(&self) -> Option<Duration> {
        self.first_down.get()?.checked_sub(self.first_up.get()?)
    }

    /// From the first byte that came back to the last.
    #[must_use]
    pub fn receiving(&self) -> Option<Duration> {
        self.last_down.get()?.checked_sub(self.first_down.get()?)
    }

    /// How long the first byte from the client went unanswered; `None` if there was none, or an answer came.
    #[must_use]
    pub fn unanswered(&self, now: Instant) -> Option<Duration> {
        let asked = self.first_up.get()?;
        (self.down() == 0).then(|| now.saturating_duration_since(self.born).saturating_sub(asked))
    }

    /// Says that bytes of the client begin to leave. Whoever dials says it before writing the first of them: from then on
    /// no other way may be tried, since nobody knows what arrived.
    pub fn give(&self) {
        self.given.store(true, Ordering::Relaxed);
    }

    /// Whether bytes of the client may have left.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// Counts a way that could not be dialed, and says how many there were until now.
    pub fn fail(&self) -> u8 {
        self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// How many ways could not be dialed.
    #[must_use]
    pub fn failures(&self) -> u8 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// A moment in microseconds since the meter's making, from 1 on; 0 while it has not come.
#[derive(Debug, Default)]
struct Stamp(AtomicU64);

impl Stamp {
    fn set(&self, since: Duration) {
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        self.0.store(micros.saturating_add(1), Ordering::Relaxed);
    }

    fn get(&self) -> Option<Duration> {
        self.0.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_and_the_time_between_them_are_known() {
        let meter = Meter::default();
        let at = |millis| meter.born + Duration::from_millis(millis);
        assert_eq!((meter.answered(), meter.receiving(), meter.unanswered(at(9))), (None, None, None));
        meter.moved(5, 0, at(10));
        meter.moved(5, 0, at(20));
        assert_eq!((meter.answered(), meter.unanswered(at(5010))), (None, Some(Duration::from_secs(5))));
        meter.moved(0, 7, at(50));
        meter.moved(3, 9, at(80));
        assert_eq!(meter.answered(), Some(Duration::from_millis(40)));
        assert_eq!(meter.receiving(), Some(Duration::from_millis(30)));
        assert_eq!((meter.unanswered(at(90)), meter.up(), meter.down()), (None, 13, 16));
    }

    #[test]
    fn a_server_that_speaks_first_answers_nothing() {
        let meter = Meter::default();
        meter.moved(0, 1, meter.born);
        meter.moved(1, 0, meter.born + Duration::from_secs(1));
        assert_eq!(meter.answered(), None);
    }
}
