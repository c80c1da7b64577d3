//! What the attempts of one member in one round come to.

use std::collections::VecDeque;
use std::time::Duration;

use super::sample::Sample;

/// The attempts of one member, summed: any number of them costs the same memory.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    attempts: u32,
    successes: u32,
    sum: f64,
    least: f64,
    most: f64,
    bytes: u64,
    time: Duration,
    /// The newest successes, each with the moment it began.
    samples: VecDeque<(f64, Sample)>,
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
            samples: VecDeque::new(),
        }
    }
}

impl Tally {
    /// How many successes are kept one by one.
    const KEPT: usize = 64;

    /// Takes a success that ended now.
    pub(super) fn done(&mut self, sample: Sample, now: Duration) {
        self.successes += 1;
        self.bytes = self.bytes.saturating_add(sample.bytes);
        if self.samples.len() == Self::KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back((now.as_secs_f64() - sample.time.as_secs_f64(), sample));
        self.add(sample.rate(), sample.time);
    }

    /// Takes a failure after this long.
    pub(super) fn failed(&mut self, took: Duration) {
        self.add(0.0, took);
    }

    fn add(&mut self, rate: f64, took: Duration) {
        self.attempts += 1;
        self.time = self.time.saturating_add(took);
        self.sum += rate;
        self.least = self.least.min(rate);
        self.most = self.most.max(rate);
    }

    /// Attempts made.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether any attempt succeeded.
    pub(super) fn works(&self) -> bool {
        self.successes > 0
    }

    /// The successes, oldest first, each with the moment it began.
    pub(super) fn samples(&self) -> impl Iterator<Item = (f64, Sample)> {
        self.samples.iter().copied()
    }

    /// What the round shows of the member.
    pub(super) fn result(&self) -> Measured {
        Measured { rate: self.average(), bytes: self.bytes, time: self.time }
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

/// What a round shows of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Measured {
    /// Average speed; 0 when no attempt succeeded.
    pub rate: f64,
    /// Body bytes of the successes.
    pub bytes: u64,
    /// Time of all attempts.
    pub time: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// One attempt a pair of bytes and seconds; no bytes given: a failure.
    fn rate(attempts: &[(Option<u64>, f64)]) -> f64 {
        let mut tally = Tally::default();
        for &(bytes, seconds) in attempts {
            let time = Duration::from_secs_f64(seconds);
            match bytes {
                Some(bytes) => tally.done(Sample { bytes, time, dial: time / 10, status: 200 }, 100 * SECOND),
                None => tally.failed(time),
            }
        }
        tally.result().rate
    }

    #[test]
    fn o2_rate_is_body_over_time_and_an_empty_body_counts_100_bytes() {
        assert_eq!(rate(&[(Some(81_920), 0.8)]), 102_400.0);
        assert_eq!(rate(&[(Some(0), 0.5)]), 200.0);
        assert!(rate(&[(Some(80_000), 0.0)]).is_finite(), "a clock that stood still");
    }

    #[test]
    fn o3_a_failed_attempt_is_zero() {
        assert_eq!(rate(&[(None, 1.0)]), 0.0);
    }

    #[test]
    fn o4_average_is_the_mean_below_three() {
        assert_eq!(rate(&[(Some(100_000), 1.0), (Some(50_000), 1.0)]), 75_000.0);
    }

    #[test]
    fn o4_average_drops_extremes_from_three_on() {
        assert_eq!(rate(&[(Some(10), 1.0), (Some(1_000), 1.0), (Some(70), 1.0)]), 70.0);
        assert_eq!(rate(&[(Some(10), 1.0), (None, 1.0), (Some(30), 1.0), (Some(1_000), 1.0)]), 20.0);
        assert_eq!(rate(&[(None, 1.0), (None, 1.0), (Some(1_000), 1.0)]), 0.0, "the one success is the highest");
    }

    #[test]
    fn o6_one_slow_attempt_of_five_does_not_count() {
        assert_eq!(rate(&[1.0, 1.0, 1.0, 1.0, 5.0].map(|seconds| (Some(80_000), seconds))), 80_000.0);
    }

    #[test]
    fn o7_one_failure_of_two_halves_the_score() {
        assert_eq!(rate(&[(Some(80_000), 1.0), (None, 5.0)]), 40_000.0);
    }

    #[test]
    fn successes_know_when_they_began() {
        let mut tally = Tally::default();
        tally.done(Sample { bytes: 1, time: 2 * SECOND, dial: SECOND, status: 200 }, 10 * SECOND);
        assert_eq!(tally.samples().map(|(at, _)| at).collect::<Vec<_>>(), [8.0]);
        for _ in 0..1000 {
            tally.done(Sample { bytes: 1, time: SECOND, dial: SECOND, status: 200 }, 10 * SECOND);
        }
        assert_eq!((tally.samples().count(), tally.attempts(), tally.result().bytes), (64, 1001, 1001));
    }

    /// The average as the rule says it, without any cleverness.
    fn plain_average(mut rates: Vec<f64>) -> f64 {
        rates.sort_by(f64::total_cmp);
        let kept = if rates.len() < 3 { &rates[..] } else { &rates[1..rates.len() - 1] };
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    proptest::proptest! {
        #[test]
        fn o4_any_attempts_average_as_the_rule_says(
            attempts in proptest::collection::vec((proptest::option::of(0u64..1_000_000), 1u32..5000), 1..9),
        ) {
            let attempts: Vec<_> = attempts.into_iter().map(|(bytes, ms)| (bytes, f64::from(ms) / 1000.0)).collect();
            let one = |attempt: &(Option<u64>, f64)| rate(&[*attempt]);
            let want = plain_average(attempts.iter().map(one).collect());
            // Summing and subtracting rounds a little, in proportion to the largest rate.
            proptest::prop_assert!((rate(&attempts) - want).abs() <= 1e-9 * want.max(1e9));
        }
    }
}
