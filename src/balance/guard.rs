//! Guards (balancing rule 12.4): from a suspicion to an ejection and back.
//!
//! One [`Guard`] a member counts what speaks against it and keeps its quarantine. A [`Confirm`] is the question put to
//! all who live when a member is suspected: is it this one, or is it the network?

use std::time::Duration;

use super::setup::Guards;

/// What speaks against a member, and its quarantine.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    suspicion: u32,
    /// Since when something speaks against it and nothing for it.
    doubted: Option<Duration>,
    out: Option<Out>,
    /// When it was ejected, in seconds on the keeper's clock.
    ejections: Vec<f64>,
}

/// A member that is out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Out {
    /// The end of its quarantine.
    pub until: Duration,
    /// Signs of life in a row.
    pub passes: u32,
    /// Tells this ejection from others of the member.
    pub serial: u64,
    /// When it is asked next.
    pub next: Option<Duration>,
}

/// What a light probe of an ejected member leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Light {
    /// It returns.
    Back,
    /// It is asked again after this pause.
    Again(Duration),
}

impl Guard {
    /// Suspicion at which a member is confirmed.
    pub(super) const ENOUGH: u32 = 2;
    /// Signs of life in a row with which a member returns.
    const PASSES: u32 = 2;
    /// Pause between light probes of an ejected member.
    const SLOW: Duration = Duration::from_secs(20);
    /// Pause before the first of them, and where the quarantine is over and the last one passed.
    pub(super) const QUICK: Duration = Duration::from_secs(5);
    /// For how long an ejection lengthens the next one.
    const MEMORY: f64 = 1800.0;

    /// Ejections of the last half hour with which a member is one that flaps.
    const FLAPS: u32 = 2;
    /// For how long one that flaps must be dead before it is taken out again.
    const SHORT: Duration = Duration::from_secs(60);

    /// Something speaks against the member: whether that is enough to ask.
    pub(super) fn suspect(&mut self, by: u32, now: Duration) -> bool {
        self.doubted.get_or_insert(now);
        self.suspicion = self.suspicion.saturating_add(by);
        self.suspected()
    }

    /// Whether enough speaks against it.
    pub(super) fn suspected(&self) -> bool {
        self.suspicion >= Self::ENOUGH && self.out.is_none()
    }

    /// Something speaks for it.
    pub(super) fn clear(&mut self) {
        (self.suspicion, self.doubted) = (0, None);
    }

    /// It was found dead: whether it may stay for now. The outages of a member that flaps are shorter than a quarantine
    /// would be, and flows that meet one lose only the short limit of a dial before the next member has them.
    pub(super) fn spare(&mut self, now: Duration) -> bool {
        self.suspicion = 0;
        let short = self.doubted.is_some_and(|since| now.saturating_sub(since) < Self::SHORT);
        short && self.times(now) >= Self::FLAPS
    }

    /// Its ejection, while it is out.
    pub(super) fn out(&self) -> Option<Out> {
        self.out
    }

    /// Says when it is asked next.
    pub(super) fn ask_at(&mut self, at: Option<Duration>) {
        if let Some(out) = &mut self.out {
            out.next = at;
        }
    }

    /// Takes the member out: how long for at least. Each ejection of the last half hour doubles that.
    pub(super) fn eject(&mut self, now: Duration, guards: &Guards, serial: u64) -> Duration {
        self.ejections.retain(|at| now.as_secs_f64() - at < Self::MEMORY);
        let doubled = u32::try_from(self.ejections.len()).unwrap_or(u32::MAX).min(30);
        self.ejections.push(now.as_secs_f64());
        let quarantine = guards.quarantine.saturating_mul(1 << doubled).min(guards.longest);
        self.out = Some(Out { until: now.saturating_add(quarantine), passes: 0, serial, next: None });
        quarantine
    }

    /// Keeps it out for what is left of an older quarantine.
    pub(super) fn resume(&mut self, until: Duration, serial: u64) {
        self.out = Some(Out { until, passes: 0, serial, next: None });
    }

    /// Takes the end of a light probe of an ejected member.
    pub(super) fn light(&mut self, good: bool, now: Duration) -> Option<Light> {
        let out = self.out.as_mut()?;
        out.passes = if good { out.passes + 1 } else { 0 };
        if out.passes >= Self::PASSES && now >= out.until {
            self.back();
            return Some(Light::Back);
        }
        let slow = out.passes == 0 || now < out.until;
        Some(Light::Again(if slow { Self::SLOW } else { Self::QUICK }))
    }

    /// Ends the ejection.
    pub(super) fn back(&mut self) {
        self.out = None;
        self.clear();
    }

    /// How often it was ejected in the last half hour.
    pub(super) fn times(&self, now: Duration) -> u32 {
        let recent = self.ejections.iter().filter(|at| now.as_secs_f64() - **at < Self::MEMORY).count();
        u32::try_from(recent).unwrap_or(u32::MAX)
    }

    /// Moments of its ejections, in seconds on the keeper's clock.
    pub(super) fn ejections(&self) -> &[f64] {
        &self.ejections
    }

    /// Remembers older ejections.
    pub(super) fn remember(&mut self, ejections: Vec<f64>) {
        self.ejections = ejections;
    }
}

/// A question put to a suspected member and to witnesses, all at once.
#[derive(Debug, Clone)]
pub(super) struct Confirm {
    /// Who is suspected.
    pub suspect: usize,
    /// Tells it from other questions.
    pub serial: u64,
    since: Duration,
    waiting: usize,
    passed: bool,
    failed: bool,
    witness: bool,
}

/// What is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing yet.
    Open,
    /// The suspect lives.
    Alive,
    /// Others live, the suspect does not.
    Dead,
    /// Nobody answers: it is the network.
    Outage,
}

impl Confirm {
    /// For how long a suspect may be silent when another has answered.
    pub(super) const LATE: Duration = Duration::from_millis(1500);

    /// Asks `asked` members, the suspect among them.
    pub(super) fn new(suspect: usize, asked: usize, now: Duration, serial: u64) -> Self {
        Self { suspect, serial, since: now, waiting: asked, passed: false, failed: false, witness: false }
    }

    /// Takes an answer, or its absence.
    pub(super) fn heard(&mut self, member: usize, good: bool, now: Duration) -> Finding {
        self.waiting = self.waiting.saturating_sub(1);
        match (member == self.suspect, good) {
            (true, true) => self.passed = true,
            (true, false) => self.failed = true,
            (false, true) => self.witness = true,
            (false, false) => {}
        }
        self.finding(now)
    }

    /// What is found by now.
    pub(super) fn finding(&self, now: Duration) -> Finding {
        if self.passed {
            Finding::Alive
        } else if self.witness && (self.failed || now.saturating_sub(self.since) >= Self::LATE) {
            Finding::Dead
        } else if self.waiting == 0 {
            Finding::Outage
        } else {
            Finding::Open
        }
    }
}

/// The pause before the next look at an outage: 10 s, 20 s, 40 s, then 60 s.
pub(super) fn patience(tries: u32) -> Duration {
    Duration::from_secs((5u64 << tries.clamp(1, 4)).min(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn o20_two_points_are_enough_and_a_success_clears_them() {
        let mut guard = Guard::default();
        assert!(!guard.suspect(1, SECOND));
        guard.clear();
        assert!(!guard.suspect(1, SECOND) && guard.suspect(1, SECOND));
        assert!(Guard::default().suspect(2, SECOND), "refused counts two");
    }

    #[test]
    fn o21_quarantine_doubles_and_is_forgotten_after_half_an_hour() {
        let (mut guard, guards) = (Guard::default(), Guards::default());
        let at = |secs| Duration::from_secs(secs);
        let quarantines = [0, 100, 200, 300, 400, 500].map(|secs| guard.eject(at(secs), &guards, 1).as_secs());
        assert_eq!(quarantines, [30, 60, 120, 240, 480, 600]);
        assert_eq!(guard.eject(at(2250), &guards, 1).as_secs(), 60, "only the last one is young");
        assert_eq!(guard.times(at(2250)), 2);
    }

    #[test]
    fn one_that_flaps_is_taken_out_again_only_when_it_stays_dead() {
        let (mut guard, guards) = (Guard::default(), Guards::default());
        for turn in 0..3 {
            let now = 120 * turn * SECOND;
            guard.suspect(2, now);
            assert_eq!(guard.spare(now + SECOND), turn == 2, "it flaps from its second ejection on");
            guard.eject(now + SECOND, &guards, 1);
            guard.back();
        }
        guard.suspect(2, 400 * SECOND);
        guard.clear();
        guard.suspect(2, 430 * SECOND);
        assert!(guard.spare(489 * SECOND), "it worked in between");
        assert!(!guard.spare(490 * SECOND), "it has been dead for a minute");
        guard.suspect(2, 4000 * SECOND);
        assert!(!guard.spare(4001 * SECOND), "ejections are forgotten");
    }

    #[test]
    fn o22_it_returns_after_its_quarantine_and_two_signs_of_life_in_a_row() {
        let mut guard = Guard::default();
        guard.eject(Duration::ZERO, &Guards::default(), 1);
        assert_eq!(guard.light(true, 5 * SECOND), Some(Light::Again(20 * SECOND)));
        assert_eq!(guard.light(true, 25 * SECOND), Some(Light::Again(20 * SECOND)), "its quarantine runs");
        assert_eq!(guard.light(false, 45 * SECOND), Some(Light::Again(20 * SECOND)));
        assert_eq!(guard.light(true, 65 * SECOND), Some(Light::Again(5 * SECOND)));
        assert_eq!(guard.light(true, 70 * SECOND), Some(Light::Back));
        assert!(guard.out().is_none() && guard.light(true, 71 * SECOND).is_none());
    }

    #[test]
    fn o20_the_suspect_is_dead_only_when_another_lives() {
        let ask = || Confirm::new(1, 3, Duration::ZERO, 1);
        let mut fast = ask();
        assert_eq!(fast.heard(1, false, SECOND), Finding::Open);
        assert_eq!(fast.heard(0, true, SECOND), Finding::Dead);
        let mut silent = ask();
        assert_eq!(silent.heard(0, true, SECOND), Finding::Open);
        assert_eq!(silent.finding(Confirm::LATE), Finding::Dead, "silent for too long");
        let mut alive = ask();
        assert_eq!(alive.heard(0, true, SECOND), Finding::Open);
        assert_eq!(alive.heard(1, true, SECOND), Finding::Alive);
    }

    #[test]
    fn o23_nobody_answers_means_the_network() {
        let mut all = Confirm::new(1, 2, Duration::ZERO, 1);
        assert_eq!(all.heard(1, false, SECOND), Finding::Open);
        assert_eq!(all.finding(2 * SECOND), Finding::Open);
        assert_eq!(all.heard(0, false, 5 * SECOND), Finding::Outage);
        assert_eq!([1, 2, 3, 4, 9].map(|tries| patience(tries).as_secs()), [10, 20, 40, 60, 60]);
    }
}
