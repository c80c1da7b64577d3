//! A round of speed tests: attempts go in, rate x weight comes out, the top score serves.
//!
//! The rules are those of the `optimal` proposal: every member is measured at the same time, its attempts are averaged,
//! a failed attempt counts 0. Three things it left open are settled here. While the very first round runs, the first
//! success serves at once, so that a dead first member costs few flows. Equal scores keep the member that serves, so
//! that exits do not change without a reason. And a round in which all failed moves nothing.

use std::sync::Arc;
use std::time::Duration;

use super::board::{Board, Life, State};
use super::reason::Reason;
use super::verdict::Verdict;

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
        let bytes = if self.bytes == 0 { Self::EMPTY_BODY } else { self.bytes };
        // A microsecond at least: a clock that stood still must not make an infinite rate.
        bytes as f64 / self.time.as_secs_f64().max(1e-6)
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The body came in time, with a status that counts.
    Done(Sample),
    /// Anything else; it took this long to fail.
    Failed(Duration),
}

/// One full test of every member, from its start to its verdict.
#[derive(Debug, Clone)]
pub struct Round {
    prior: Arc<Board>,
    count: u32,
    tallies: Box<[Tally]>,
    /// Who served when it began; a round in which all failed gives it back its place.
    began: Option<usize>,
    /// Who serves while the round runs.
    serving: Option<usize>,
    /// Whether a success of this round already chose the one that serves (only in the first round).
    settled: bool,
}

impl Round {
    /// Opens the round that follows `prior`, with `count` attempts a member (0 counts as 1).
    #[must_use]
    pub fn begin(prior: Arc<Board>, count: u32) -> Self {
        let tallies = vec![Tally::default(); prior.members.len()].into();
        let serving = prior.serving().or_else(|| (!prior.members.is_empty()).then_some(0));
        Self { count: count.max(1), tallies, began: serving, serving, settled: prior.round > 0, prior }
    }

    /// The number of this round, counted from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.prior.round + 1
    }

    /// The number of the attempt a member makes next, counted from 1; `None` when it has made all.
    #[must_use]
    pub fn due(&self, member: usize) -> Option<u32> {
        self.tallies.get(member).map(|tally| tally.attempts + 1).filter(|&next| next <= self.count)
    }

    /// Whether every member has made all its attempts.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.tallies.iter().all(|tally| tally.attempts >= self.count)
    }

    /// Takes the result of a member's next attempt. Before the first round has ended, a result can move the serving
    /// member at once (O13): then the verdict so far is returned.
    pub fn record(&mut self, member: usize, attempt: Attempt) -> Option<Verdict> {
        let tally = self.tallies.get_mut(member).filter(|tally| tally.attempts < self.count)?;
        tally.add(attempt);
        if self.settled {
            return None;
        }
        match attempt {
            // A member of weight 0 serves only when nothing else does (O8), so its success settles nothing.
            Attempt::Done(_) if self.weight(member) > 0 => {
                self.settled = true;
                Some(self.provisional(member, Reason::FirstSuccess))
            }
            Attempt::Failed(_) if self.serving == Some(member) => {
                let next = (0..self.tallies.len()).find(|&at| !self.failing(at) && self.weight(at) > 0)?;
                Some(self.provisional(next, Reason::FirstFailed))
            }
            _ => None,
        }
    }

    /// Ends the round: scores, ranking, and who serves until the next one.
    #[must_use]
    pub fn close(self) -> Verdict {
        let members: Box<[State]> = (0..self.tallies.len()).map(|at| self.state(at)).collect();
        // Moves within the first round that no success stood behind were guesses: with all failed they count for nothing.
        let keeps = if members.iter().any(|state| state.life.usable()) { self.serving } else { self.began };
        let ranking = ranking(&members, keeps);
        let reason = reason(&members, &ranking, keeps);
        let last_up = ranking.iter().copied().find(|&at| members[at].life == Life::Up).or(self.prior.last_up);
        let board = Board { round: self.number(), members, ranking, last_up, ..Board::default() };
        Verdict { was: self.serving, reason, first: self.prior.round == 0, board: Arc::new(board) }
    }

    fn weight(&self, member: usize) -> u32 {
        self.prior.members.get(member).map_or(0, |state| state.weight)
    }

    fn failing(&self, member: usize) -> bool {
        self.tallies.get(member).is_some_and(|tally| tally.attempts > 0 && tally.successes == 0)
    }

    fn provisional(&mut self, serving: usize, reason: Reason) -> Verdict {
        let was = self.serving.replace(serving);
        let members = (0..self.tallies.len()).map(|at| self.half_known(at)).collect();
        let others = (0..self.tallies.len()).filter(|&at| at != serving);
        let (worse, better): (Vec<_>, Vec<_>) = others.partition(|&at| self.failing(at));
        let ranking = [serving].into_iter().chain(better).chain(worse).collect();
        let last_up = self.settled.then_some(serving).or(self.prior.last_up);
        let board = Board { round: self.prior.round, members, ranking, last_up, ..Board::default() };
        Verdict { was, reason, first: true, board: Arc::new(board) }
    }

    /// A member's state while its attempts still run: dead only when all of them failed, no score before the first.
    fn half_known(&self, member: usize) -> State {
        let state = self.state(member);
        match state.life {
            Life::Untested => State { rate: None, score: None, ..state },
            Life::Down if self.due(member).is_some() => State { life: Life::Untested, ..state },
            _ => state,
        }
    }

    fn state(&self, member: usize) -> State {
        let Some(tally) = self.tallies.get(member) else { return State::default() };
        let weight = self.weight(member);
        let rate = tally.average();
        let life = match (tally.attempts, tally.successes) {
            (0, _) => Life::Untested,
            (_, 0) => Life::Down,
            _ => Life::Up,
        };
        let delay = tally.delay.or_else(|| self.prior.members.get(member).and_then(|state| state.delay));
        let score = Some(rate * f64::from(weight));
        State { life, delay, rate: Some(rate), bytes: tally.bytes, time: tally.time, weight, score, ..State::default() }
    }
}

/// Best first. Equal scores: what works before what does not (so a live member of weight 0 beats dead ones, O8), then
/// the one that serves (O10), then list order.
fn ranking(members: &[State], serving: Option<usize>) -> Box<[usize]> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    let score = |at: usize| members[at].score.unwrap_or(0.0);
    // Sorting is stable, so list order decides last.
    order.sort_by(|&a, &b| {
        score(b)
            .total_cmp(&score(a))
            .then_with(|| members[b].life.usable().cmp(&members[a].life.usable()))
            .then_with(|| (serving == Some(b)).cmp(&(serving == Some(a))))
    });
    order.into()
}

fn reason(members: &[State], ranking: &[usize], was: Option<usize>) -> Reason {
    let Some(&best) = ranking.first() else { return Reason::AllZero };
    let score = |at: usize| members[at].score.unwrap_or(0.0);
    let tied = ranking.get(1).is_some_and(|&second| score(second) == score(best));
    if members.len() == 1 {
        Reason::OnlyMember
    } else if score(best) > 0.0 {
        match (tied, was == Some(best)) {
            (false, _) => Reason::Highest,
            (true, true) => Reason::TieKept,
            (true, false) => Reason::TieFirst,
        }
    } else if was == Some(best) {
        Reason::AllZero
    } else {
        Reason::LastAlive
    }
}

/// The attempts of one member, summed: any number of them costs the same memory.
#[derive(Debug, Clone, Copy)]
struct Tally {
    attempts: u32,
    successes: u32,
    sum: f64,
    least: f64,
    most: f64,
    bytes: u64,
    time: Duration,
    delay: Option<Duration>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            attempts: 0,
            successes: 0,
            sum: 0.0,
            least: f64::INFINITY,
            most: 0.0,
            bytes: 0,
            time: Duration::ZERO,
            delay: None,
        }
    }
}

impl Tally {
    fn add(&mut self, attempt: Attempt) {
        let rate = match attempt {
            Attempt::Done(sample) => {
                self.successes += 1;
                self.bytes = self.bytes.saturating_add(sample.bytes);
                self.time = self.time.saturating_add(sample.time);
                self.delay = Some(sample.dial);
                sample.rate()
            }
            Attempt::Failed(after) => {
                self.time = self.time.saturating_add(after);
                0.0
            }
        };
        self.attempts += 1;
        self.sum += rate;
        self.least = self.least.min(rate);
        self.most = self.most.max(rate);
    }

    /// The mean; from three attempts on without one lowest and one highest (O4).
    fn average(&self) -> f64 {
        match self.attempts {
            0 => 0.0,
            n @ 1..=2 => self.sum / f64::from(n),
            n => ((self.sum - self.least - self.most) / f64::from(n - 2)).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests;
