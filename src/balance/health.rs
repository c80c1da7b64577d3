//! What is known of one member, whichever balancers it belongs to.

use std::sync::Arc;
use std::time::Duration;

use super::adaptive::{Known, availability};
use super::board::{Life, Stats};
use super::guard::Guard;
use super::job::Fail;
use super::sample::Sample;
use super::tally::{Measured, Tally};
use super::window::{Ring, median, stats};

/// What is known of one member.
#[derive(Debug, Clone)]
pub(super) struct Health {
    /// Newest successful full tests.
    pub tests: Ring<Sample>,
    /// Newest results of light probes: time or failure.
    pub pings: Ring<Option<Duration>>,
    /// Newest dials of real flows.
    pub dials: Ring<Duration>,
    /// When dials of real flows ran into their limit that no success has followed yet.
    unanswered: Vec<Duration>,
    /// Newest ends of real flows: bytes and time.
    pub received: Ring<(u64, Duration)>,
    /// Smoothed share of successful tests.
    pub availability: f64,
    /// What the last round, or test alone, shows.
    pub measured: Option<Measured>,
    /// Successes in a row.
    pub streak: u32,
    /// What the last result of a light probe says.
    pub last_good: Option<bool>,
    /// Dial of the last successful test, or time of the last successful light probe.
    pub delay: Option<Duration>,
    /// Why the last thing failed.
    pub last_error: Option<Arc<str>>,
    /// When something last succeeded, in seconds on the keeper's clock.
    pub last_seen: Option<f64>,
    /// When something was last tried.
    pub last_tried: Option<f64>,
    /// Whether it works for datagrams.
    pub udp: Udp,
    /// What speaks against it.
    pub guard: Guard,
    /// What a balancer that is a member says of its own members.
    pub inner: Option<bool>,
    /// Counted up with everything a score goes by.
    pub version: u64,
}

/// What real flows of datagrams show.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Udp {
    /// Whether it works.
    pub life: Life,
    /// What speaks against it.
    pub suspicion: u32,
    /// When a flow last worked.
    pub seen: Option<Duration>,
    /// Until when it counts as dead.
    pub until: Option<Duration>,
}

impl Health {
    /// Dials and rates of real flows that are kept.
    const FLOWS: usize = 64;

    /// Nothing is known. So many tests and light results are kept.
    pub(super) fn new(tests: usize, pings: usize) -> Self {
        Self {
            tests: Ring::new(tests),
            pings: Ring::new(pings),
            dials: Ring::new(Self::FLOWS),
            unanswered: Vec::new(),
            received: Ring::new(Self::FLOWS),
            availability: 1.0,
            measured: None,
            streak: 0,
            last_good: None,
            delay: None,
            last_error: None,
            last_seen: None,
            last_tried: None,
            udp: Udp::default(),
            guard: Guard::default(),
            inner: None,
            version: 0,
        }
    }

    /// Something succeeded.
    pub(super) fn good(&mut self, now: Duration) {
        self.last_seen = Some(now.as_secs_f64());
        self.last_tried = self.last_seen;
        self.last_error = None;
    }

    /// Something failed.
    pub(super) fn bad(&mut self, why: Arc<str>, now: Duration) {
        self.last_tried = Some(now.as_secs_f64());
        self.last_error = Some(why);
    }

    /// A light probe of the plan ended.
    pub(super) fn ping(&mut self, time: Option<Duration>, now: Duration) {
        self.pings.push(now.as_secs_f64(), time);
        self.last_good = Some(time.is_some());
        self.streak = if time.is_some() { self.streak.saturating_add(1) } else { 0 };
        self.delay = time.or(self.delay);
    }

    /// A round, or a test alone, ended.
    pub(super) fn test(&mut self, tally: &Tally) {
        for (at, sample) in tally.samples() {
            self.tests.push(at, sample);
            self.delay = Some(sample.dial);
        }
        self.availability = availability(self.availability, tally.works());
        self.measured = Some(tally.result());
        self.last_good = Some(tally.works());
        self.version += 1;
    }

    /// A real flow was dialled. Dials that ran into their limit just before were slow ones: the member works, so it is
    /// its path that lost something. Each counts as what going to the next member costs.
    pub(super) fn dial(&mut self, time: Duration, now: Duration) {
        /// For how long a dial without end waits for one that shows whether the member works.
        const RECENT: Duration = Duration::from_secs(2);
        /// What the limit and the next member's dial cost, about; measured in the simulation.
        const LOST: Duration = Duration::from_millis(700);
        let usual = self.usual_dial();
        for at in std::mem::take(&mut self.unanswered) {
            if let Some(usual) = usual.filter(|_| now.saturating_sub(at) < RECENT) {
                self.dials.push(now.as_secs_f64(), usual.saturating_add(LOST));
            }
        }
        self.dials.push(now.as_secs_f64(), time);
        self.version += 1;
    }

    /// A real flow's dial ran into its limit: of a slow member, or of a dead one, which the next dial tells.
    pub(super) fn undialled(&mut self, now: Duration) {
        if self.unanswered.len() < Self::FLOWS {
            self.unanswered.push(now);
        }
    }

    /// It came back from an ejection: what it showed before and meanwhile does not speak against it any more (trap 20).
    pub(super) fn returned(&mut self) {
        self.dials.clear();
        self.unanswered.clear();
        self.pings.retain(|time| time.is_some());
        self.version += 1;
    }

    /// What `adaptive` goes by.
    pub(super) fn known(&self) -> Known<'_> {
        Known { tests: &self.tests, dials: &self.dials, availability: self.availability }
    }

    /// Statistics of light results that are not older than this.
    pub(super) fn stats(&self, oldest: Option<Duration>, now: Duration) -> Stats {
        let since = oldest.map_or(f64::NEG_INFINITY, |oldest| now.as_secs_f64() - oldest.as_secs_f64());
        stats(self.pings.iter().filter(|(at, _)| *at >= since).map(|(_, time)| time))
    }

    /// The usual dial: that of its tests; where there are none, that of real flows.
    pub(super) fn usual_dial(&self) -> Option<Duration> {
        /// Fewer dials of flows say too little.
        const LEAST: usize = 3;
        match self.tests.is_empty() {
            false => median(self.tests.iter().map(|(_, sample)| sample.dial)),
            true if self.dials.len() >= LEAST => median(self.dials.iter().map(|(_, time)| time)),
            true => None,
        }
    }

    /// How long a flow's dial may take before the next member is tried (balancing rule 12.4). It ends before a lost
    /// opening packet would be sent again: by then the next member has answered. The simulation shows what that saves.
    pub(super) fn dial_limit(&self) -> Option<Duration> {
        const LEAST: Duration = Duration::from_millis(400);
        const MOST: Duration = Duration::from_secs(5);
        const MORE: Duration = Duration::from_millis(200);
        self.usual_dial().map(|usual| usual.saturating_mul(2).saturating_add(MORE).clamp(LEAST, MOST))
    }

    /// Whether real flows are dialled much slower than tests were: over the last minute, by at least 8 of the newest 24.
    pub(super) fn dials_slowly(&self, now: Duration) -> bool {
        let since = now.as_secs_f64() - 60.0;
        let newest = self.dials.iter().rev().take(24).filter(|(at, _)| *at > since);
        let (count, sum) = newest.fold((0u32, 0.0), |(count, sum), (_, time)| (count + 1, sum + time.as_secs_f64()));
        let usual = (!self.tests.is_empty()).then(|| self.usual_dial()).flatten();
        count >= 8 && usual.is_some_and(|usual| sum / f64::from(count) > 1.8 * usual.as_secs_f64() + 0.05)
    }
}

impl Fail {
    /// The words of it, to be kept.
    pub(super) fn words(&self) -> Arc<str> {
        match self {
            Self::Refused(text) | Self::Answer(text) | Self::Other(text) => Arc::clone(text),
            Self::Timeout(_) => self.to_string().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn tested(dials: &[u64]) -> Health {
        let mut health = Health::new(8, 10);
        for &dial in dials {
            health.tests.push(0.0, Sample { bytes: 1, time: ms(dial + 100), dial: ms(dial), status: 200 });
        }
        health
    }

    #[test]
    fn the_dial_limit_follows_the_usual_dial() {
        assert_eq!(tested(&[]).dial_limit(), None, "nothing known: the usual limit");
        assert_eq!(tested(&[10]).dial_limit(), Some(ms(400)));
        assert_eq!(tested(&[400, 900, 500]).dial_limit(), Some(ms(1200)));
        assert_eq!(tested(&[4000]).dial_limit(), Some(ms(5000)));
        let mut flows = tested(&[]);
        flows.dial(ms(900), ms(0));
        assert_eq!(flows.dial_limit(), None);
        (0..2).for_each(|_| flows.dial(ms(900), ms(0)));
        assert_eq!(flows.dial_limit(), Some(ms(2000)));
    }

    #[test]
    fn a_dial_without_end_is_a_slow_one_if_the_member_answers_soon() {
        let mut health = tested(&[100]);
        (0..3).for_each(|_| health.undialled(ms(70_000)));
        health.dial(ms(100), ms(71_000));
        let dials: Vec<_> = health.dials.iter().map(|(_, time)| time).collect();
        assert_eq!(dials, [ms(800), ms(800), ms(800), ms(100)]);
        health.undialled(ms(72_000));
        health.dial(ms(100), ms(74_000));
        assert_eq!(health.dials.len(), 5, "it was dead meanwhile, not slow");
    }

    #[test]
    fn slow_dials_are_noticed_by_eight_of_the_last_minute() {
        let mut health = tested(&[100]);
        (0..7).for_each(|_| health.dial(ms(400), ms(70_000)));
        assert!(!health.dials_slowly(ms(70_000)));
        health.dial(ms(400), ms(70_000));
        assert!(health.dials_slowly(ms(70_000)) && !health.dials_slowly(ms(130_001)), "a minute later they are old");
        let mut usual = tested(&[100]);
        (0..20).for_each(|_| usual.dial(ms(229), ms(70_000)));
        assert!(!usual.dials_slowly(ms(70_000)), "under 1.8 times and 50 ms");
    }

    #[test]
    fn trap_20_a_member_that_returned_is_not_held_to_its_outage() {
        let mut health = Health::new(8, 10);
        for time in [Some(ms(5)), None, None, None] {
            health.ping(time, ms(1));
        }
        health.dial(ms(5000), ms(1));
        health.returned();
        assert_eq!((health.stats(None, ms(1)).failed, health.dials.len()), (0, 0));
    }

    #[test]
    fn old_light_results_do_not_count() {
        let mut health = Health::new(8, 10);
        health.ping(None, ms(1000));
        health.ping(Some(ms(3)), ms(50_000));
        assert_eq!(health.stats(Some(ms(20_000)), ms(60_000)).failed, 0);
        assert_eq!(health.stats(None, ms(60_000)).failed, 1);
    }
}
