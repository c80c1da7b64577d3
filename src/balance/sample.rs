//! What a successful measurement brings.

use std::time::Duration;

/// A successful attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Body bytes received.
    pub bytes: u64,
    /// From before the dial to the last body byte.
    pub time: Duration,
    /// The part of it until the member was ready for the first byte.
    pub dial: Duration,
    /// The HTTP status.
    pub status: u16,
}

impl Sample {
    /// What an empty body counts, so that a quick empty answer is still told from a slow one.
    pub const EMPTY_BODY: u64 = 100;

    /// Bytes per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        // A microsecond at least: a clock that stood still must not make an infinite rate.
        self.size() as f64 / self.time.as_secs_f64().max(1e-6)
    }

    /// Body bytes, as they count.
    pub(super) fn size(&self) -> u64 {
        if self.bytes == 0 { Self::EMPTY_BODY } else { self.bytes }
    }
}
