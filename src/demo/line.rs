//! A shaped line: what it is worth now, and what it has carried.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::scene::Quality;

/// Changed by the script, obeyed by an upstream, read by the judge.
#[derive(Debug)]
pub struct Line {
    quality: watch::Sender<Quality>,
    pages: AtomicU64,
    tests: AtomicU64,
}

/// Whose bytes they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cargo {
    /// A user's.
    Pages,
    /// A speed test's.
    Tests,
}

impl Line {
    /// A line of this quality that has carried nothing.
    #[must_use]
    pub fn new(quality: Quality) -> Self {
        Self { quality: watch::Sender::new(quality), pages: AtomicU64::new(0), tests: AtomicU64::new(0) }
    }

    /// What it is worth now.
    #[must_use]
    pub fn quality(&self) -> Quality {
        *self.quality.borrow()
    }

    /// Changes it; running connections feel it at once.
    pub fn set(&self, quality: Quality) {
        self.quality.send_replace(quality);
    }

    /// Ends when the line is dead.
    pub async fn dead(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.quality.subscribe().wait_for(|quality| !quality.alive()).await;
    }

    /// Counts bytes carried to the client.
    pub fn count(&self, cargo: Cargo, bytes: usize) {
        let counter = match cargo {
            Cargo::Pages => &self.pages,
            Cargo::Tests => &self.tests,
        };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes carried so far.
    #[must_use]
    pub fn carried(&self, cargo: Cargo) -> u64 {
        match cargo {
            Cargo::Pages => self.pages.load(Ordering::Relaxed),
            Cargo::Tests => self.tests.load(Ordering::Relaxed),
        }
    }

    /// How long so many bytes occupy the line.
    #[must_use]
    pub fn takes(&self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 / self.quality().speed.max(1) as f64)
    }
}
