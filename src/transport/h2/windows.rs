//! How much of a stream may be under way.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// Windows of the streams of one connection. A window is memory that a slow reader can make us keep, and a limit to the
/// speed of a far peer. So it begins small, and doubles while some reader takes all that comes.
#[derive(Debug)]
pub struct Windows {
    now: AtomicU32,
    most: u32,
    grown: Notify,
}

/// The protocol's own first window, and Go's: what a stranger's stream can make a server keep.
pub(super) const FIRST_OF_SERVER: u32 = 65_535;

/// A client knows its server a little better, and saves two round trips of growth.
pub(super) const FIRST_OF_CLIENT: u32 = 256 * 1024;

/// At 100 ms of way and back this is 320 Mbit/s for each stream.
const MOST: u32 = 4 * 1024 * 1024;

/// What the streams of a connection have together: as much as there can be, so that none waits for another's reader.
pub(super) const CONNECTION: u32 = (1 << 31) - 1;

impl Windows {
    /// Windows that begin at `first` bytes and grow.
    #[must_use]
    pub fn growing(first: u32) -> Self {
        Self { now: AtomicU32::new(first), most: MOST.max(first), grown: Notify::new() }
    }

    /// Windows of this size.
    #[must_use]
    pub fn fixed(size: u32) -> Self {
        let size = size.min(CONNECTION);
        Self { now: AtomicU32::new(size), most: size, grown: Notify::new() }
    }

    /// The size now.
    #[must_use]
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// A reader took all there was, `read` bytes since it was last asked; whether that is to be counted anew.
    pub(super) fn kept_up(&self, read: usize) -> bool {
        let now = self.now();
        if read < now as usize {
            return false;
        }
        let next = now.saturating_mul(2).min(self.most);
        // Of several readers one is enough.
        let _ = self.now.compare_exchange(now, next, Ordering::Relaxed, Ordering::Relaxed);
        self.grown.notify_one();
        true
    }

    /// Waits until they may have grown.
    pub(super) async fn grown(&self) {
        self.grown.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_grow_by_what_is_read_up_to_a_limit() {
        let windows = Windows::growing(FIRST_OF_SERVER);
        assert!(!windows.kept_up(65_534));
        assert_eq!(windows.now(), 65_535);
        assert!(windows.kept_up(65_535));
        assert_eq!(windows.now(), 131_070);
        for _ in 0..20 {
            windows.kept_up(usize::MAX);
        }
        assert_eq!(windows.now(), MOST);
        let fixed = Windows::fixed(70_000);
        assert!(fixed.kept_up(usize::MAX));
        assert_eq!(fixed.now(), 70_000);
    }
}
