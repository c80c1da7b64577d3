//! Each member on its own rhythm: the next probe follows the end of the last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::super::chance::{Chance, later};

/// See the module.
#[derive(Debug, Clone)]
pub struct Beats {
    interval: Duration,
    spread: bool,
    queue: BinaryHeap<Reverse<(Duration, usize)>>,
    /// When each subject is due; absent while its probe runs.
    due: Vec<Option<Duration>>,
}

impl Beats {
    /// The shortest pause between two probes of a member: an interval of 0 means back to back, not a spinning loop.
    const LEAST_PAUSE: Duration = Duration::from_millis(10);
    /// Longest part of an interval over which first probes are spread.
    const SPREAD: Duration = Duration::from_secs(10);

    /// A rhythm that begins now.
    pub(super) fn new(
        watched: &[usize],
        subjects: usize,
        interval: Duration,
        spread: bool,
        now: Duration,
        chance: &mut Chance,
    ) -> Self {
        let interval = interval.max(Self::LEAST_PAUSE);
        let (mut queue, mut due) = (BinaryHeap::new(), vec![None; subjects]);
        for (at, &subject) in watched.iter().enumerate() {
            let offset = chance.share(interval.min(Self::SPREAD), at, watched.len());
            let start = later(now, if spread { offset } else { Duration::ZERO });
            queue.push(Reverse((start, subject)));
            due[subject] = Some(start);
        }
        Self { interval, spread, queue, due }
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.queue.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn due(&mut self, now: Duration) -> Vec<usize> {
        let mut members = Vec::new();
        while let Some(&Reverse((at, subject))) = self.queue.peek().filter(|Reverse((at, _))| *at <= now) {
            self.queue.pop();
            if self.due[subject] == Some(at) {
                self.due[subject] = None;
                members.push(subject);
            }
        }
        members
    }

    pub(super) fn done(&mut self, subject: usize, now: Duration, chance: &mut Chance) {
        let pause = if self.spread { chance.about(self.interval) } else { self.interval };
        if let Some(due @ None) = self.due.get_mut(subject) {
            let next = later(now, pause);
            *due = Some(next);
            self.queue.push(Reverse((next, subject)));
        }
    }

    pub(super) fn tell(&self, next: &mut [Option<Duration>]) {
        next.iter_mut().zip(&self.due).for_each(|(next, due)| *next = *due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn beats(interval: Duration, spread: bool, members: usize) -> (Beats, Chance) {
        let mut chance = Chance::new(4);
        let watched: Vec<usize> = (0..members).collect();
        (Beats::new(&watched, members, interval, spread, Duration::ZERO, &mut chance), chance)
    }

    #[test]
    fn each_member_runs_on_its_own_and_the_first_at_once() {
        let (mut beats, mut chance) = beats(30 * SECOND, false, 2);
        assert_eq!(beats.due(Duration::ZERO), [0, 1]);
        assert_eq!(beats.next(), None);
        beats.done(0, Duration::ZERO, &mut chance);
        beats.done(1, 5 * SECOND, &mut chance);
        assert_eq!(beats.next(), Some(30 * SECOND));
        assert_eq!(beats.due(30 * SECOND), [0]);
        assert_eq!(beats.next(), Some(35 * SECOND), "counted from the end of its own probe");
        beats.done(1, 5 * SECOND, &mut chance);
        assert_eq!(beats.due(36 * SECOND), [1], "an end that was told twice counts once");
    }

    #[test]
    fn trap_16_first_probes_are_spread_and_later_ones_jittered() {
        let (mut beats, mut chance) = beats(60 * SECOND, true, 100);
        let mut most = 0;
        for second in 0..10 {
            let due = beats.due((second + 1) * SECOND);
            most = most.max(due.len());
            due.iter().for_each(|&subject| beats.done(subject, (second + 1) * SECOND, &mut chance));
        }
        assert!((9..=12).contains(&most), "{most} in one second");
        let mut next = vec![None; 100];
        beats.tell(&mut next);
        let next: Vec<_> = next.into_iter().flatten().collect();
        assert!(next.iter().all(|at| (54 * SECOND..77 * SECOND).contains(at)), "{next:?}");
        assert!(next.windows(2).filter(|pair| pair[0] == pair[1]).count() < 5);
    }

    #[test]
    fn trap_9_the_first_probe_does_not_wait_for_an_interval() {
        let (beats, _) = beats(3600 * SECOND, true, 5);
        let mut next = vec![None; 5];
        beats.tell(&mut next);
        assert!(next.iter().flatten().all(|at| *at <= 10 * SECOND), "{next:?}");
    }

    #[test]
    fn an_interval_of_zero_or_of_ages_neither_spins_nor_overflows() {
        for (interval, want) in
            [(Duration::ZERO, Beats::LEAST_PAUSE), (Duration::MAX, super::super::super::chance::CENTURY)]
        {
            let (mut one, mut chance) = beats(interval, false, 1);
            one.due(Duration::ZERO);
            one.done(0, Duration::ZERO, &mut chance);
            assert_eq!(one.next(), Some(want));
        }
        let (mut spread, mut chance) = beats(Duration::MAX, true, 1);
        spread.due(10 * SECOND);
        spread.done(0, Duration::ZERO, &mut chance);
        assert!(spread.next().is_some());
    }
}
