//! The two clocks of keepers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep_until};

use crate::balance::Moment;

/// Counts from its making, on tokio's clock, which tests can pause.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Begins now.
    #[must_use]
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    /// This moment.
    #[must_use]
    pub fn now(self) -> Moment {
        Moment { steady: self.0.elapsed(), wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() }
    }

    /// Waits for a moment of the steady clock, or for ever if there is none.
    pub async fn at(self, due: Option<Duration>) {
        match due.and_then(|due| self.0.checked_add(due)) {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}
