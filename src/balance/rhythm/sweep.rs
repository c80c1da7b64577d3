//! As Xray's `observatory`: one member after another in the order of their tags with a pause after each, or all at once
//! with a pause after the last.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::chance::{Chance, later};

/// See the module.
#[derive(Debug, Clone)]
pub struct Sweep {
    order: Vec<usize>,
    interval: Duration,
    concurrent: bool,
    /// Who is due when, soonest first.
    queue: VecDeque<(Duration, usize)>,
    running: usize,
    /// Whose turn comes next, where they go one by one.
    turn: usize,
    /// Whether everybody had a turn.
    whole: bool,
}

impl Sweep {
    /// The shortest pause.
    const LEAST_PAUSE: Duration = Duration::from_millis(100);
    /// Over how long the starts of probes "at once" are spread, so that they do not slow one another.
    const SPREAD: Duration = Duration::from_secs(1);

    /// A rhythm that begins now.
    pub(super) fn new(
        order: Vec<usize>,
        interval: Duration,
        concurrent: bool,
        now: Duration,
        chance: &mut Chance,
    ) -> Self {
        let interval = interval.max(Self::LEAST_PAUSE);
        let mut sweep = Self { order, interval, concurrent, queue: VecDeque::new(), running: 0, turn: 0, whole: false };
        sweep.plan(now, chance);
        sweep
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.queue.front().map(|(at, _)| *at)
    }

    pub(super) fn due(&mut self, now: Duration) -> Vec<usize> {
        let mut members = Vec::new();
        while let Some((_, subject)) = self.queue.pop_front_if(|(at, _)| *at <= now) {
            self.running += 1;
            members.push(subject);
        }
        members
    }

    pub(super) fn done(&mut self, now: Duration, chance: &mut Chance) {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 || !self.queue.is_empty() {
            return;
        }
        if !self.concurrent {
            self.turn = (self.turn + 1) % self.order.len().max(1);
            self.whole |= self.turn == 0;
        }
        // A pause after each member would leave the last of many unknown for long (trap 8): the first time all of them
        // share one pause.
        let first = !self.concurrent && !self.whole;
        let pause = if first {
            self.interval / u32::try_from(self.order.len()).unwrap_or(u32::MAX).max(1)
        } else {
            self.interval
        };
        self.plan(later(now, pause), chance);
    }

    fn plan(&mut self, at: Duration, chance: &mut Chance) {
        if self.concurrent {
            let (span, of) = (Self::SPREAD.min(self.interval / 10), self.order.len());
            for (place, &subject) in self.order.iter().enumerate() {
                self.queue.push_back((later(at, chance.share(span, place, of)), subject));
            }
        } else if let Some(&subject) = self.order.get(self.turn) {
            self.queue.push_back((at, subject));
        }
    }

    pub(super) fn tell(&self, next: &mut [Option<Duration>]) {
        for &(at, subject) in &self.queue {
            next[subject] = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_after_another_with_a_pause_after_each() {
        let mut chance = Chance::new(1);
        let mut sweep = Sweep::new(vec![2, 0], 10 * SECOND, false, Duration::ZERO, &mut chance);
        let mut turns = Vec::new();
        let mut now = Duration::ZERO;
        for _ in 0..5 {
            now = sweep.next().expect("due");
            turns.push((now.as_secs(), sweep.due(now)));
            assert_eq!(sweep.next(), None, "one at a time");
            sweep.done(now, &mut chance);
        }
        // Trap 8: the first pass takes one interval in all, later ones as Xray's.
        assert_eq!(turns, [(0, vec![2]), (5, vec![0]), (15, vec![2]), (25, vec![0]), (35, vec![2])]);
        assert_eq!(now, 35 * SECOND);
    }

    #[test]
    fn all_at_once_and_then_one_pause_after_the_last() {
        let mut chance = Chance::new(1);
        let mut sweep = Sweep::new(vec![0, 1, 2], 10 * SECOND, true, Duration::ZERO, &mut chance);
        let due = sweep.due(SECOND);
        assert_eq!(due, [0, 1, 2]);
        sweep.done(SECOND, &mut chance);
        sweep.done(2 * SECOND, &mut chance);
        assert_eq!(sweep.next(), None);
        sweep.done(5 * SECOND, &mut chance);
        let next = sweep.next().expect("due");
        assert!((15 * SECOND..16 * SECOND).contains(&next), "{next:?}");
    }

    #[test]
    fn nobody_to_probe_is_never_due() {
        let mut chance = Chance::new(1);
        for concurrent in [false, true] {
            let mut sweep = Sweep::new(vec![], SECOND, concurrent, Duration::ZERO, &mut chance);
            assert!(sweep.next().is_none() && sweep.due(SECOND).is_empty());
        }
    }
}
