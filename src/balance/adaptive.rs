//! The score of `adaptive` (balancing rule 12.3): what a test costs in effect, and how often it succeeds.
//!
//! A test has two parts: the dial and the rest. Each has a mean and a deviation over the newest tests, weighted so that
//! what is a half-life old counts half. Dials of real flows join those of the tests. Unsteadiness costs like slowness:
//! the deviations are added to the means.

use std::time::Duration;

use super::board::Terms;
use super::sample::Sample;
use super::setup::Adaptive;
use super::window::Ring;

/// What is known of a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Its newest successful tests.
    pub tests: &'a Ring<Sample>,
    /// Newest dials of real flows.
    pub dials: &'a Ring<Duration>,
    /// Smoothed share of tests that succeed.
    pub availability: f64,
}

/// Most that dials of real flows count together, compared with those of tests.
const DIALS_AGAINST_TESTS: f64 = 2.0;

/// Ages beyond so many half-lives count alike: weights never become nothing.
const OLDEST: f64 = 60.0;

/// A member's rate in bytes a second, and the terms behind it; `None` while no test succeeded.
pub(super) fn rate(known: Known<'_>, settings: &Adaptive, half_life: Duration, now: Duration) -> Option<(f64, Terms)> {
    let half_life = half_life.as_secs_f64().max(1.0);
    let weight = |at: f64| libm::exp2(-((now.as_secs_f64() - at) / half_life).clamp(0.0, OLDEST));
    let skip = known.tests.len().saturating_sub(settings.window.max(1));
    let (mut dial, mut body, mut bytes) = (Spread::default(), Spread::default(), Spread::default());
    for (at, sample) in known.tests.iter().skip(skip) {
        let weight = weight(at);
        dial.add(weight, sample.dial.as_secs_f64());
        body.add(weight, sample.time.saturating_sub(sample.dial).as_secs_f64());
        bytes.add(weight, sample.size() as f64);
    }
    if dial.count == 0 {
        return None;
    }
    let flows: f64 = known.dials.iter().map(|(at, _)| weight(at)).sum();
    let share = (DIALS_AGAINST_TESTS * dial.weight / flows).min(1.0);
    for (at, time) in known.dials.iter() {
        dial.add(weight(at) * share, time.as_secs_f64());
    }
    let unsteady = if body.count < 2 && dial.count < 3 {
        // One test says nothing of steadiness; half of what it took is a careful guess.
        (dial.mean() + body.mean()) / 2.0
    } else {
        (dial.variance() + body.variance()).sqrt()
    };
    let tau = (dial.mean() + body.mean() + settings.kappa * unsteady).max(1e-6);
    let terms = Terms {
        dial: dial.mean(),
        dial_deviation: dial.variance().sqrt(),
        body: body.mean(),
        body_deviation: body.variance().sqrt(),
        tau,
        availability: known.availability,
        tests: body.count,
        dials: dial.count - body.count,
    };
    Some((bytes.mean() / tau, terms))
}

/// The score of a rate.
pub(super) fn score(rate: f64, availability: f64, weight: u32, gamma: f64) -> f64 {
    rate * libm::pow(availability.clamp(0.0, 1.0), gamma) * f64::from(weight)
}

/// The share of successes after one more test: a fifth of the way towards its result.
pub(super) fn availability(before: f64, good: bool) -> f64 {
    before + 0.2 * (f64::from(u8::from(good)) - before)
}

/// A weighted mean and variance.
#[derive(Debug, Default)]
struct Spread {
    count: u32,
    weight: f64,
    mean: f64,
    /// Weighted squares of what differs from the mean.
    squares: f64,
}

impl Spread {
    fn add(&mut self, weight: f64, value: f64) {
        if weight <= 0.0 {
            return;
        }
        self.count += 1;
        self.weight += weight;
        let off = value - self.mean;
        self.mean += off * weight / self.weight;
        self.squares += weight * off * (value - self.mean);
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn variance(&self) -> f64 {
        if self.weight > 0.0 { (self.squares / self.weight).max(0.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Adaptive {
        Adaptive { window: 8, half_life: None, kappa: 1.0, gamma: 2.0, margin: 0.15, early: true }
    }

    fn tests(parts: impl IntoIterator<Item = (f64, f64, f64)>) -> Ring<Sample> {
        let mut ring = Ring::new(64);
        for (at, dial, body) in parts {
            let (dial, time) = (Duration::from_secs_f64(dial), Duration::from_secs_f64(dial + body));
            ring.push(at, Sample { bytes: 80_000, time, dial, status: 200 });
        }
        ring
    }

    fn rate_of(tests: &Ring<Sample>, dials: &Ring<Duration>) -> Option<(f64, Terms)> {
        let known = Known { tests, dials, availability: 1.0 };
        rate(known, &settings(), Duration::from_secs(900), Duration::from_secs(10))
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-3 * b.abs()
    }

    #[test]
    fn the_worked_example_of_12_3() {
        let steady = tests((0..8).map(|_| (0.0, 0.10, 0.40)));
        let (rate, terms) = rate_of(&steady, &Ring::new(64)).expect("eight tests");
        assert!(near(rate, 160_000.0) && near(terms.tau, 0.5), "{rate} {terms:?}");
        let shaky = tests((0..8).map(|n| (0.0, if n < 2 { 1.1 } else { 0.1 }, 0.40)));
        let (rate, terms) = rate_of(&shaky, &Ring::new(64)).expect("eight tests");
        assert!(near(terms.dial, 0.35) && near(terms.dial_deviation, 0.433) && near(terms.tau, 1.183), "{terms:?}");
        assert!(near(rate, 67_620.0), "{rate}");
        let (other, _) = rate_of(&tests((0..8).map(|_| (0.0, 0.20, 0.60))), &Ring::new(64)).expect("eight tests");
        assert!(near(other, 100_000.0) && near(other / rate, 1.479), "wins by 48 %: {}", other / rate);
    }

    #[test]
    fn one_test_is_a_careful_guess_and_none_is_no_score() {
        let (rate, terms) = rate_of(&tests([(0.0, 0.1, 0.4)]), &Ring::new(64)).expect("one test");
        assert!(near(terms.tau, 0.75) && near(rate, 80_000.0 / 0.75));
        assert!(rate_of(&tests([]), &Ring::new(64)).is_none());
    }

    #[test]
    fn dials_of_flows_count_at_most_twice_the_tests() {
        let mut dials = Ring::new(64);
        (0..64).for_each(|_| dials.push(0.0, Duration::from_secs(1)));
        let (_, terms) = rate_of(&tests([(0.0, 0.1, 0.4), (0.0, 0.1, 0.4)]), &dials).expect("tests");
        assert!(near(terms.dial, (0.1 + 2.0) / 3.0), "{terms:?}");
        assert_eq!((terms.tests, terms.dials), (2, 64));
        // A single one counts as itself.
        let mut one = Ring::new(64);
        one.push(0.0, Duration::from_secs(1));
        let (_, terms) = rate_of(&tests([(0.0, 0.1, 0.4), (0.0, 0.1, 0.4)]), &one).expect("tests");
        assert!(near(terms.dial, 1.2 / 3.0), "{terms:?}");
    }

    #[test]
    fn what_is_a_half_life_older_counts_half() {
        let (_, terms) = rate_of(&tests([(-900.0, 0.4, 0.4), (0.0, 0.1, 0.4)]), &Ring::new(64)).expect("tests");
        assert!(near(terms.dial, (0.4 + 2.0 * 0.1) / 3.0), "{terms:?}");
    }

    #[test]
    fn only_the_window_counts() {
        let old = (0..20).map(|_| (0.0, 4.0, 0.4)).chain((0..8).map(|_| (0.0, 0.1, 0.4)));
        let (_, terms) = rate_of(&tests(old), &Ring::new(64)).expect("tests");
        assert!(near(terms.dial, 0.1) && terms.tests == 8);
    }

    #[test]
    fn absurd_ages_and_times_stay_finite() {
        let odd = tests([(-1e18, 0.1, 0.4), (1e18, 0.1, 0.4)]);
        let (rate, terms) = rate_of(&odd, &Ring::new(64)).expect("tests");
        assert!(rate.is_finite() && terms.tau.is_finite());
        let (rate, _) = rate_of(&tests([(0.0, 0.0, 0.0)]), &Ring::new(64)).expect("tests");
        assert!(rate.is_finite() && score(rate, 1.0, u32::MAX, 2.0).is_finite());
    }

    #[test]
    fn failures_cost_by_their_share() {
        let a = availability(availability(1.0, false), true);
        assert!(near(a, 0.84));
        assert!(near(score(1000.0, 0.8, 100, 2.0), 64_000.0));
        assert_eq!(score(1000.0, 1.0, 0, 2.0), 0.0);
    }
}
