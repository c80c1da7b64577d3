//! Two byte counters that a flow shares with whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes moved, seen from the client: `up` left it, `down` came back. Counting is one relaxed addition a turn.
#[derive(Debug, Default)]
pub struct Meter {
    up: AtomicU64,
    down: AtomicU64,
}

impl Meter {
    /// Counts bytes from the client to the target.
    pub fn add_up(&self, bytes: u64) {
        self.up.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes from the target to the client.
    pub fn add_down(&self, bytes: u64) {
        self.down.fetch_add(bytes, Ordering::Relaxed);
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
}
