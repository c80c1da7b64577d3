//! Who is due when. Pure: the time comes in as an argument, and nothing here waits.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::balance::{Attempt, Board, Round, Verdict};

use super::plan::{Checks, Speed};

/// A moment on both clocks. The monotonic one schedules; the wall clock alone shows that the machine was asleep.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Never jumps, may stand still while the machine sleeps.
    pub steady: Instant,
    /// May jump.
    pub wall: SystemTime,
}

/// An attempt to be made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Whose.
    pub member: usize,
    /// In which round, counted from 1.
    pub round: u64,
    /// Which of the round, counted from 1.
    pub attempt: u32,
}

/// What a finished attempt leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// The member's next attempt, if it has one left, and an early word of the first round, if there is one.
    Running(Option<Job>, Option<Verdict>),
    /// The round ended.
    Closed(Verdict),
    /// The round ended and counts for nothing: it took longer than it can, so the machine slept meanwhile.
    Discarded,
}

/// Rounds of speed tests: all members start together, and the next round starts `interval` after the end of the last.
#[derive(Debug)]
pub struct Rounds {
    interval: Duration,
    timeout: Duration,
    count: u32,
    phase: Phase,
    /// Whether the last round was discarded; a second one in a row counts, so a slow machine still gets verdicts.
    discarded: bool,
}

#[derive(Debug)]
enum Phase {
    Waiting { due: Instant },
    Testing { round: Round, since: Moment },
}

impl Rounds {
    /// The shortest pause between rounds, so that `interval = 0` with members that refuse at once does not spin.
    pub const LEAST_PAUSE: Duration = Duration::from_millis(100);

    /// How much longer than its attempts a round may take before it is not believed.
    pub const SLACK: Duration = Duration::from_secs(1);

    /// A schedule whose first round is due at once.
    #[must_use]
    pub fn new(plan: &Speed, now: Instant) -> Self {
        let (interval, timeout) = (plan.interval.max(Self::LEAST_PAUSE), plan.order.timeout);
        Self { interval, timeout, count: plan.count.max(1), phase: Phase::Waiting { due: now }, discarded: false }
    }

    /// When [`Self::poll`] has something to say next; `None` while a round runs.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting { due } => Some(due),
            Phase::Testing { .. } => None,
        }
    }

    /// Opens the round that is due: a job for every member.
    pub fn poll(&mut self, now: Moment, board: &Arc<Board>) -> Vec<Job> {
        match self.phase {
            Phase::Waiting { due } if due <= now.steady => {}
            _ => return Vec::new(),
        }
        let round = Round::begin(board.clone(), self.count);
        let jobs = (0..board.members.len()).map(|member| Job { member, round: round.number(), attempt: 1 }).collect();
        self.phase = Phase::Testing { round, since: now };
        jobs
    }

    /// Takes the end of a job.
    pub fn done(&mut self, job: Job, attempt: Attempt, now: Moment) -> Progress {
        let Phase::Testing { round, since } = &mut self.phase else { return Progress::Running(None, None) };
        if job.round != round.number() {
            return Progress::Running(None, None);
        }
        let early = round.record(job.member, attempt);
        if !round.complete() {
            let next = round.due(job.member).map(|attempt| Job { attempt, ..job });
            return Progress::Running(next, early);
        }
        let steady = now.steady.saturating_duration_since(since.steady);
        let wall = now.wall.duration_since(since.wall).unwrap_or_default();
        let limit = self.timeout.saturating_mul(self.count).saturating_add(Self::SLACK);
        let discard = steady.max(wall) > limit && !self.discarded;
        self.discarded = discard;
        let pause = if discard { self.interval.min(self.timeout).max(Self::LEAST_PAUSE) } else { self.interval };
        let due = later(now.steady, pause);
        match std::mem::replace(&mut self.phase, Phase::Waiting { due }) {
            Phase::Testing { round, .. } if !discard => Progress::Closed(round.close()),
            _ => Progress::Discarded,
        }
    }
}

/// Plain probes: each member on its own rhythm, the first at once.
#[derive(Debug)]
pub struct Beats {
    interval: Duration,
    /// When each member is due; `None` while its probe runs.
    due: Vec<Option<Instant>>,
}

impl Beats {
    /// The shortest pause between two probes of a member; `probe_interval = 0` means back to back, not a spinning loop.
    pub const LEAST_PAUSE: Duration = Duration::from_millis(10);

    /// A schedule in which every member is due at once.
    #[must_use]
    pub fn new(plan: &Checks, now: Instant) -> Self {
        Self { interval: plan.interval.max(Self::LEAST_PAUSE), due: vec![Some(now); plan.of.len()] }
    }

    /// When the next member is due; `None` while all are being probed.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        self.due.iter().flatten().min().copied()
    }

    /// The members that are due.
    pub fn poll(&mut self, now: Instant) -> Vec<usize> {
        let due = |at: &usize| self.due[*at].is_some_and(|due| due <= now);
        let members: Vec<usize> = (0..self.due.len()).filter(due).collect();
        members.iter().for_each(|&member| self.due[member] = None);
        members
    }

    /// Takes the end of a member's probe.
    pub fn done(&mut self, member: usize, now: Instant) {
        if let Some(due) = self.due.get_mut(member) {
            *due = Some(later(now, self.interval));
        }
    }
}

/// A century instead of an overflow: a configuration may name any interval.
fn later(now: Instant, pause: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    now.checked_add(pause).unwrap_or_else(|| now + CENTURY)
}

#[cfg(test)]
mod tests;
