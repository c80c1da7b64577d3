//! What is told of clocks that are wrong.

use std::sync::atomic::{AtomicU64, Ordering};

use super::visit::Common;
use crate::net::clock;
use crate::wire::WireError;

/// Tells of wrong clocks, which would else show as silence on both sides; but not more than once a minute, since whoever
/// recorded an opening could make it be told as often as he likes.
#[derive(Debug, Default)]
pub(super) struct Skewed {
    told: AtomicU64,
}

const PAUSE: u64 = 60;

impl Skewed {
    /// Tells of a failure, if it is one of clocks, which may differ by so many seconds.
    pub(super) fn tell(&self, common: &Common, error: &WireError, allowed: u64) {
        let WireError::Clock { off } = error else { return };
        if self.is_due(clock::seconds()) {
            tracing::warn!(
                inbound = %common.tag,
                off,
                "a user was refused because the two clocks differ by more than {allowed} seconds: set both right (NTP), or \
                 else somebody replays what he recorded"
            );
        }
    }

    /// Whether it is time to tell again; it is not from now on.
    fn is_due(&self, now: u64) -> bool {
        let told = self.told.load(Ordering::Relaxed);
        now.saturating_sub(told) >= PAUSE
            && self.told.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_a_minute() {
        let skewed = Skewed::default();
        let told: Vec<bool> = [1000, 1001, 1059, 1060, 1061].map(|now| skewed.is_due(now)).into();
        assert_eq!(told, [true, false, false, true, false]);
    }
}
