//! Moments: what a keeper takes for time.

use std::time::Duration;

/// A moment on both clocks. The monotonic one, counted from the keeper's making, schedules; the wall clock, counted from
/// 1970, alone shows that the machine was asleep, and dates decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Never jumps, may stand still while the machine sleeps.
    pub steady: Duration,
    /// May jump.
    pub wall: Duration,
}
