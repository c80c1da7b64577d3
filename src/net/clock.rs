//! The time of day, for protocols whose two sides must agree on it.

use std::time::SystemTime;

/// Seconds since 1970; 0 where the clock stands before that.
#[must_use]
pub fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
