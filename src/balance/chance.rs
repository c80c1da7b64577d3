//! Chance that repeats itself: a small generator, seeded by whoever makes a keeper.

use std::time::Duration;

/// SplitMix64. Good enough to spread probes, and the same on every machine.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// At least 0, less than 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A moment within a span.
    pub(super) fn within(&mut self, span: Duration) -> Duration {
        span.min(CENTURY).mul_f64(self.unit())
    }

    /// A pause that is up to a tenth shorter or longer, so that rhythms of equal length drift apart.
    pub(super) fn about(&mut self, pause: Duration) -> Duration {
        pause.min(CENTURY).mul_f64(0.9 + 0.2 * self.unit())
    }

    /// The start of the `at`th of `of` things that are spread over a span: somewhere in its own share of it.
    pub(super) fn share(&mut self, span: Duration, at: usize, of: usize) -> Duration {
        span.min(CENTURY).mul_f64((at as f64 + self.unit()) / of.max(1) as f64)
    }
}

/// A later moment. A century instead of an overflow: a configuration may name any pause.
pub(super) fn later(now: Duration, pause: Duration) -> Duration {
    now.saturating_add(pause.min(CENTURY))
}

/// The longest pause.
pub(super) const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_repeats_itself_and_stays_in_its_span() {
        let draws = |seed| {
            let mut chance = Chance::new(seed);
            (0..1000).map(|_| chance.within(Duration::from_secs(8))).collect::<Vec<_>>()
        };
        assert_eq!(draws(5), draws(5));
        assert_ne!(draws(5), draws(6));
        assert!(draws(5).iter().all(|at| *at < Duration::from_secs(8)));
        let late = draws(5).iter().filter(|at| **at >= Duration::from_secs(4)).count();
        assert!((440..560).contains(&late), "{late}");
    }

    #[test]
    fn shares_follow_one_another() {
        let mut chance = Chance::new(1);
        let starts: Vec<_> = (0..10).map(|at| chance.share(Duration::from_secs(10), at, 10).as_secs()).collect();
        assert_eq!(starts, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn no_pause_overflows() {
        assert_eq!(later(Duration::ZERO, Duration::MAX), CENTURY);
        assert_eq!(later(Duration::MAX, Duration::MAX), Duration::MAX);
    }
}
