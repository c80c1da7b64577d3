//! Windows over results: what counts is new enough and among the newest.

use std::collections::VecDeque;
use std::time::Duration;

use super::board::Stats;

/// A ring of the newest things with their moments, in seconds on the keeper's clock (before its making: below 0).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ring<T> {
    most: usize,
    items: VecDeque<(f64, T)>,
}

impl<T: Copy> Ring<T> {
    /// Keeps so many; none counts as one.
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), items: VecDeque::new() }
    }

    /// Adds a thing; the oldest makes place.
    pub(super) fn push(&mut self, at: f64, item: T) {
        while self.items.len() >= self.most {
            self.items.pop_front();
        }
        self.items.push_back((at, item));
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.items.clear();
    }

    /// Forgets what does not fit.
    pub(super) fn retain(&mut self, fits: impl Fn(T) -> bool) {
        self.items.retain(|&(_, item)| fits(item));
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (f64, T)> {
        self.items.iter().copied()
    }

    /// The moment of the newest.
    pub(super) fn newest(&self) -> Option<f64> {
        self.items.back().map(|&(at, _)| at)
    }
}

/// Statistics of results, by Xray's rules for bursts: times of successes only, the population deviation, and half the
/// average where there is a single success.
pub(super) fn stats(results: impl Iterator<Item = Option<Duration>>) -> Stats {
    let (mut stats, mut sum, mut squares) = (Stats::default(), 0.0, 0.0);
    for result in results {
        stats.all += 1;
        let Some(time) = result else {
            stats.failed += 1;
            continue;
        };
        stats.least = if stats.all - stats.failed == 1 { time } else { stats.least.min(time) };
        stats.most = stats.most.max(time);
        sum += time.as_secs_f64();
        squares += time.as_secs_f64() * time.as_secs_f64();
    }
    let good = f64::from(stats.all - stats.failed);
    if good > 0.0 {
        let average = sum / good;
        let deviation = if good > 1.0 { (squares / good - average * average).max(0.0).sqrt() } else { average / 2.0 };
        stats.average = Duration::try_from_secs_f64(average).unwrap_or(Duration::MAX);
        stats.deviation = Duration::try_from_secs_f64(deviation).unwrap_or(Duration::MAX);
    }
    stats
}

/// The middle of the values; of an even number the upper one.
pub(super) fn median(values: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut values: Vec<Duration> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Option<Duration> {
        Some(Duration::from_millis(millis))
    }

    #[test]
    fn failures_are_counted_and_never_taken_for_times() {
        // Trap 19: failures recorded as latencies.
        let stats = stats([ms(100), None, ms(300), None].into_iter());
        assert_eq!((stats.all, stats.failed), (4, 2));
        assert_eq!((stats.average.as_millis(), stats.deviation.as_millis()), (200, 100));
        assert_eq!((stats.least.as_millis(), stats.most.as_millis()), (100, 300));
    }

    #[test]
    fn a_single_success_deviates_by_half_and_none_by_nothing() {
        let one = stats([None, ms(80)].into_iter());
        assert_eq!((one.average.as_millis(), one.deviation.as_millis()), (80, 40));
        let none = stats([None, None].into_iter());
        assert_eq!((none.all, none.failed, none.average), (2, 2, Duration::ZERO));
        assert_eq!(stats(std::iter::empty()), Stats::default());
    }

    #[test]
    fn a_ring_keeps_the_newest() {
        let mut ring = Ring::new(3);
        (0..10u8).for_each(|item| ring.push(f64::from(item), item));
        assert_eq!(ring.iter().map(|(_, item)| item).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!((ring.len(), ring.newest()), (3, Some(9.0)));
        ring.retain(|item| item != 8);
        assert_eq!(ring.len(), 2);
        ring.clear();
        assert!(ring.is_empty() && ring.newest().is_none());
    }

    #[test]
    fn medians() {
        assert_eq!(median(std::iter::empty()), None);
        assert_eq!(median([3, 1, 2].map(Duration::from_secs).into_iter()), Some(Duration::from_secs(2)));
        assert_eq!(median([1, 2].map(Duration::from_secs).into_iter()), Some(Duration::from_secs(2)));
    }
}
