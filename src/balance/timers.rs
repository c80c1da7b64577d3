//! What a keeper must do at moments that no plan names.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A suspect was silent for long enough; the question's number.
    Late(u64),
    /// An ejected member is asked for a sign of life; its ejection's number.
    Life(usize, u64),
    /// The network is looked at again; the outage's number.
    Look(u64),
    /// The group's pin may end.
    Unpin(usize),
    /// The group's flows have waited for long enough.
    Open(usize),
    /// A member may carry datagrams again.
    Udp(usize),
}

/// Timers in the order of their moments.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Duration, Timer)>>);

impl Timers {
    pub(super) fn set(&mut self, at: Duration, timer: Timer) {
        self.0.push(Reverse((at, timer)));
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// The next one that is due.
    pub(super) fn due(&mut self, now: Duration) -> Option<Timer> {
        self.0.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.0.pop().map(|Reverse((_, timer))| timer)
    }
}
