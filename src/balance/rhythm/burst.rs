//! As Xray's `burstObservatory`: one probe of each member at the start, and then, window after window, so many probes of
//! each at random moments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::super::chance::{Chance, later};

/// See the module.
#[derive(Debug, Clone)]
pub struct Burst {
    watched: Vec<usize>,
    window: Duration,
    sampling: u32,
    ends: Duration,
    queue: BinaryHeap<Reverse<(Duration, usize)>>,
}

impl Burst {
    /// The shortest mean pause of a member.
    const LEAST_PAUSE: Duration = Duration::from_millis(100);
    /// Over how long the first probes are spread.
    const SPREAD: Duration = Duration::from_secs(1);
    /// Most probes of a member in a window; a window with more would cost memory and show nothing more.
    const MOST: u32 = 1000;

    /// A rhythm that begins now.
    pub(super) fn new(
        watched: Vec<usize>,
        interval: Duration,
        sampling: u32,
        now: Duration,
        chance: &mut Chance,
    ) -> Self {
        let sampling = sampling.clamp(1, Self::MOST);
        let window = interval.max(Self::LEAST_PAUSE).saturating_mul(sampling);
        let mut burst = Self { watched, window, sampling, ends: now, queue: BinaryHeap::new() };
        burst.plan(now, chance);
        let (span, of) = (Self::SPREAD.min(interval / 10), burst.watched.len());
        for (place, &subject) in burst.watched.iter().enumerate() {
            burst.queue.push(Reverse((later(now, chance.share(span, place, of)), subject)));
        }
        burst
    }

    pub(super) fn next(&self) -> Option<Duration> {
        let first = self.queue.peek().map(|Reverse((at, _))| *at);
        (!self.watched.is_empty()).then(|| first.map_or(self.ends, |at| at.min(self.ends)))
    }

    pub(super) fn due(&mut self, now: Duration, chance: &mut Chance) -> Vec<usize> {
        let mut members = Vec::new();
        while let Some(&Reverse((_, subject))) = self.queue.peek().filter(|Reverse((at, _))| *at <= now) {
            self.queue.pop();
            // Once a moment is enough, however many passed meanwhile.
            if !members.contains(&subject) {
                members.push(subject);
            }
        }
        if now >= self.ends {
            self.plan(now, chance);
        }
        members
    }

    /// A new window ends the one before it, whatever is left of it.
    fn plan(&mut self, now: Duration, chance: &mut Chance) {
        self.ends = later(now, self.window);
        self.queue.clear();
        for &subject in &self.watched {
            for _ in 0..self.sampling {
                self.queue.push(Reverse((later(now, chance.within(self.window)), subject)));
            }
        }
    }

    pub(super) fn tell(&self, next: &mut [Option<Duration>]) {
        for &Reverse((at, subject)) in &self.queue {
            let next = &mut next[subject];
            *next = Some(next.map_or(at, |known| known.min(at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_at_the_start_and_then_as_many_a_window_as_asked() {
        let mut chance = Chance::new(3);
        let mut burst = Burst::new(vec![0, 1], 60 * SECOND, 10, Duration::ZERO, &mut chance);
        let mut probes = [0, 0];
        let first = burst.due(SECOND, &mut chance);
        assert!(first.contains(&0) && first.contains(&1), "trap 9");
        first.iter().for_each(|&at| probes[at] += 1);
        while let Some(now) = burst.next().filter(|at| *at < 600 * SECOND) {
            burst.due(now, &mut chance).iter().for_each(|&at| probes[at] += 1);
        }
        assert!(probes.iter().all(|probes| (10..=11).contains(probes)), "{probes:?}");
        assert_eq!(burst.next(), Some(600 * SECOND), "the next window");
        assert!(burst.due(600 * SECOND, &mut chance).is_empty());
        assert!(burst.next() > Some(600 * SECOND));
    }

    #[test]
    fn odd_settings_neither_spin_nor_overflow() {
        let mut chance = Chance::new(3);
        let mut zero = Burst::new(vec![0], Duration::ZERO, 0, Duration::ZERO, &mut chance);
        zero.due(SECOND, &mut chance);
        assert!(zero.next() > Some(SECOND));
        let mut ages = Burst::new(vec![0], Duration::MAX, u32::MAX, Duration::ZERO, &mut chance);
        ages.due(SECOND, &mut chance);
        assert!(ages.next().is_some());
        assert_eq!(Burst::new(vec![], SECOND, 3, Duration::ZERO, &mut chance).next(), None);
    }
}
