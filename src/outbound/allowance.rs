//! How much each user may still take: a bucket that fills slowly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The buckets of all users.
#[derive(Debug, Default)]
pub(super) struct Allowances(Mutex<HashMap<Arc<str>, Bucket>>);

#[derive(Debug)]
struct Bucket {
    left: u64,
    filled: Instant,
}

/// What a user may take at once: some rounds of tests by several devices.
const FULL: u64 = 14 << 20;

/// Bytes a second that come back; a round of 80 kB a minute from each of a dozen devices is a sixteenth of it.
const RATE: u64 = 256 << 10;

/// Users that are remembered; whoever is forgotten has a full bucket.
const USERS: usize = 4096;

impl Allowances {
    /// Takes so many bytes, if they are there.
    pub(super) fn take(&self, user: &Arc<str>, bytes: u64) -> bool {
        let now = Instant::now();
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= USERS && !buckets.contains_key(user) {
            buckets.retain(|_, bucket| bucket.at(now) < FULL);
            if buckets.len() >= USERS {
                return false;
            }
        }
        let bucket = buckets.entry(Arc::clone(user)).or_insert(Bucket { left: FULL, filled: now });
        let left = bucket.at(now);
        let enough = left.checked_sub(bytes);
        *bucket = Bucket { left: enough.unwrap_or(left), filled: now };
        enough.is_some()
    }
}

impl Bucket {
    fn at(&self, now: Instant) -> u64 {
        let since = now.duration_since(self.filled).min(Duration::from_secs(FULL / RATE));
        let back = u64::try_from(since.as_millis()).unwrap_or(0) * RATE / 1000;
        FULL.min(self.left.saturating_add(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_fills() {
        let (all, ann, bob): (_, Arc<str>, Arc<str>) = (Allowances::default(), "ann".into(), "bob".into());
        assert!(all.take(&ann, FULL) && !all.take(&ann, 1) && all.take(&bob, 1));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(all.take(&ann, RATE) && !all.take(&ann, 1));
        tokio::time::advance(Duration::from_secs(86_400)).await;
        assert!(all.take(&ann, FULL) && !all.take(&ann, 1), "no more than full");
    }

    #[tokio::test(start_paused = true)]
    async fn users_are_forgotten_when_their_bucket_is_full_again() {
        let all = Allowances::default();
        assert!((0..USERS).all(|n| all.take(&n.to_string().into(), 1)));
        assert!(!all.take(&"late".into(), 1), "every bucket is in use");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(all.take(&"late".into(), 1));
    }
}
