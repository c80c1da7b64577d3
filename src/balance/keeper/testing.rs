//! Rounds of full tests, tests outside rounds, and what their ends mean.

use std::time::Duration;

use super::super::board::Life;
use super::super::chance::later;
use super::super::guard::patience;
use super::super::job::{Job, Outcome};
use super::super::moment::Moment;
use super::super::reason::Reason;
use super::super::rounds::{Ended, Rounds, Step};
use super::super::setup::{Plan, Rank};
use super::super::tally::Tally;
use super::{Act, Keeper, Purpose, Second};

impl Keeper {
    /// Something that succeeded so short ago shows that the network works.
    const RECENT: Duration = Duration::from_secs(30);
    /// The shortest pause between the starts of rounds that are begun for the sake of untested members.
    const EAGER: Duration = Duration::from_secs(5);
    /// The shortest pause before a round that trouble on real flows begins.
    const TROUBLED: Duration = Duration::from_secs(45);

    /// Makes the clock of rounds. What is remembered decides when the first one begins: members that nothing is known of
    /// are tested alone where others are known (O15).
    pub(super) fn open_rounds(&mut self, now: Moment) {
        let Plan::Rounds(plan) = &self.setup.plan else { return };
        let watched = || (0..self.health.len()).filter(|&subject| self.setup.subjects[subject].watched);
        let newest = watched().filter_map(|subject| self.health[subject].tests.newest()).reduce(f64::max);
        let passed = newest.map(|at| Duration::try_from_secs_f64(now.steady.as_secs_f64() - at).unwrap_or_default());
        let due = passed.map_or(now.steady, |passed| later(now.steady, plan.interval.saturating_sub(passed)));
        let known = due > now.steady;
        if known {
            self.fresh = watched().filter(|&at| self.health[at].tests.is_empty() && !self.ejected(at)).collect();
        }
        for roster in &mut self.rosters {
            roster.first = !known;
            roster.waiting &= !known;
            roster.began = roster.serving();
            roster.told = roster.serving().filter(|_| known);
        }
        self.rounds = Some(Rounds::new(plan.clone(), due, known));
    }

    /// Begins what is due of rounds and of tests alone.
    pub(super) fn wake_rounds(&mut self, now: Moment, acts: &mut Vec<Act>) {
        for subject in std::mem::take(&mut self.fresh) {
            self.test_alone(subject, acts);
        }
        if self.rounds.as_ref().and_then(Rounds::due).is_some_and(|due| due <= now.steady && !self.resting) {
            self.begin_round(now, acts);
        }
        self.start_attempts(now, acts);
    }

    /// Begins a round of all that are not out, unless one runs.
    pub(super) fn begin_round(&mut self, now: Moment, acts: &mut Vec<Act>) {
        let watched = |at: &usize| self.setup.subjects[*at].watched;
        let mut members: Vec<usize> = (0..self.health.len()).filter(|at| watched(at) && !self.ejected(*at)).collect();
        if members.is_empty() {
            members = (0..self.health.len()).filter(watched).collect();
        }
        let subjects = self.health.len();
        if let Some(rounds) = &mut self.rounds {
            rounds.begin(&members, subjects, now, &mut self.chance);
        }
        self.start_attempts(now, acts);
    }

    fn start_attempts(&mut self, now: Moment, acts: &mut Vec<Act>) {
        for subject in self.rounds.as_mut().map(|rounds| rounds.starts(now.steady)).unwrap_or_default() {
            self.start(Some(subject), Purpose::Round, 1, acts);
        }
    }

    /// Tests one member outside rounds.
    pub(super) fn test_alone(&mut self, subject: usize, acts: &mut Vec<Act>) {
        if self.rounds.is_some() && !self.alone.contains_key(&subject) {
            self.alone.insert(subject, Tally::default());
            self.start(Some(subject), Purpose::Alone, 1, acts);
        }
    }

    /// Whether real flows are reason enough for a round before its time: a member that no test has reached yet, or a
    /// serving one whose dials became slow.
    pub(super) fn early_round(&mut self, group: usize, seat: usize, now: Moment, acts: &mut Vec<Act>) {
        let Some(rounds) = self.rounds.as_ref().filter(|rounds| !rounds.running()) else { return };
        let Rank::Adaptive(settings) = &self.setup.groups[group].rank else { return };
        if !settings.early {
            return;
        }
        let passed = rounds.began().map_or(Duration::MAX, |began| now.steady.saturating_sub(began));
        let untested = |&at: &usize| {
            self.setup.subjects[at].watched
                && self.health[at].tests.is_empty()
                && !self.ejected(at)
                && !self.alone.contains_key(&at)
        };
        let eager = Self::EAGER.saturating_mul(1 << self.eager.min(10)).min(rounds.plan().interval);
        if passed > eager && (0..self.health.len()).any(|at| untested(&at)) {
            self.eager += 1;
            return self.begin_round(now, acts);
        }
        let subject = self.setup.groups[group].members[seat];
        let serves = self.rosters[group].serving() == Some(seat);
        if serves && passed > Self::TROUBLED && self.health[subject].dials_slowly(now.steady) {
            let (tag, member) = (&self.setup.groups[group].tag, &self.setup.subjects[subject].tag);
            self.note(&format!("balancer {tag}: dials of {member} became slow, a round begins early"), false, acts);
            self.begin_round(now, acts);
        }
    }

    /// An attempt of a round ended.
    pub(super) fn round_attempt(
        &mut self,
        job: Job,
        subject: usize,
        outcome: &Outcome,
        now: Moment,
        acts: &mut Vec<Act>,
    ) {
        let Some(rounds) = &mut self.rounds else { return };
        let step = rounds.record(job.round, subject, |tally| count(tally, outcome, now.steady));
        if step != Step::Foreign {
            self.early_word(subject, outcome.good(), now, acts);
        }
        match step {
            Step::Again(attempt) => self.start(Some(subject), Purpose::Round, attempt, acts),
            Step::Complete => self.close_round(now, acts),
            Step::Wait | Step::Foreign => {}
        }
    }

    /// Before the first round has ended a result can move who serves at once (O13).
    fn early_word(&mut self, subject: usize, good: bool, now: Moment, acts: &mut Vec<Act>) {
        let over = self.rounds.as_ref().is_some_and(|rounds| rounds.made(subject));
        let works = self.rounds.as_ref().and_then(|rounds| rounds.tally(subject)).is_some_and(Tally::works);
        for (group, seat) in self.places[subject].clone() {
            let patient = self.patient(group);
            let (roster, setup) = (&mut self.rosters[group], &self.setup.groups[group]);
            if !roster.first {
                continue;
            }
            if good || (over && !works && !(patient && roster.seats[seat].life == Life::Up)) {
                roster.seats[seat].life = if works { Life::Up } else { Life::Down };
                (roster.dirty, roster.urgent) = (true, true);
            }
            if roster.settled || !matches!(setup.rank, Rank::Rate | Rank::Adaptive(_)) {
                continue;
            }
            // A member of weight 0 serves only when nothing else does (O8), so its success settles nothing; nor does one of
            // a member that takes no new flow.
            let fit = |at: usize| {
                setup.weights.get(at).is_some_and(|weight| *weight > 0) && !roster.out(setup, &self.health, at)
            };
            if good && fit(seat) {
                roster.settled = true;
                self.serve(group, seat, Reason::FirstSuccess, now, acts);
                self.release(group);
            } else if !good && roster.serving() == Some(seat) {
                let failed = |at: usize| {
                    let tally = self.rounds.as_ref().and_then(|rounds| rounds.tally(setup.members[at]));
                    tally.is_some_and(|tally| tally.attempts() > 0 && !tally.works())
                };
                if let Some(next) = (0..setup.members.len()).find(|&at| !failed(at) && fit(at)) {
                    self.serve(group, next, Reason::FirstFailed, now, acts);
                }
            }
        }
    }

    fn close_round(&mut self, now: Moment, acts: &mut Vec<Act>) {
        let Some(rounds) = &mut self.rounds else { return };
        let Some(ended) = rounds.end(now) else { return };
        let number = rounds.number();
        if ended.doubtful {
            self.forget_round(now, acts);
            let line = format!(
                "round {number}: discarded, it took longer than it can: the machine slept, or its clock jumped"
            );
            return self.note(&line, false, acts);
        }
        if ended.tallies.iter().flatten().any(Tally::works) {
            return self.accept(ended, now, acts);
        }
        if self.rounds.as_ref().is_some_and(|rounds| rounds.plan().second) {
            let tested: Vec<usize> = (0..ended.tallies.len()).filter(|&at| ended.tallies[at].is_some()).collect();
            let (asked, serial) = (self.sample(&tested, None), self.number());
            self.second = Some(Second { serial, ended, waiting: asked.len() });
            for subject in asked {
                self.start(Some(subject), Purpose::Second(serial), 1, acts);
            }
            return;
        }
        self.judge(ended, now, acts);
    }

    /// The second address answered through a member, or did not (O17).
    pub(super) fn second_ended(&mut self, serial: u64, good: bool, now: Moment, acts: &mut Vec<Act>) {
        let Some(second) = self.second.as_mut().filter(|second| second.serial == serial) else { return };
        second.waiting -= 1;
        let over = second.waiting == 0;
        if good {
            self.second = None;
            self.target_dead(now, acts);
        } else if over && let Some(second) = self.second.take() {
            self.judge(second.ended, now, acts);
        }
    }

    /// A round in which everything failed: is it the members, the test target, or the network?
    fn judge(&mut self, ended: Ended, now: Moment, acts: &mut Vec<Act>) {
        if self.last_flow.is_some_and(|at| at >= ended.began) {
            // Real flows went well meanwhile (trap 17).
            return self.target_dead(now, acts);
        }
        let guarded = self.setup.groups.iter().any(|group| group.guards);
        let several = ended.tallies.iter().flatten().count() > 1;
        if guarded && several && !self.worked_within(Self::RECENT, now.steady) {
            self.forget_round(now, acts);
            self.fruitless += 1;
            if let Some(rounds) = &mut self.rounds {
                rounds.hurry(later(now.steady, patience(self.fruitless)));
            }
            return self.outage_begins(now, acts);
        }
        self.accept(ended, now, acts);
    }

    fn target_dead(&mut self, now: Moment, acts: &mut Vec<Act>) {
        self.forget_round(now, acts);
        self.note("test target unreachable: members work, scores stay as they are", true, acts);
    }

    /// The round counts for nothing: what its first results moved goes back.
    fn forget_round(&mut self, now: Moment, acts: &mut Vec<Act>) {
        for group in 0..self.rosters.len() {
            let roster = &mut self.rosters[group];
            if !roster.first || roster.settled {
                continue;
            }
            roster.seats.iter_mut().for_each(|seat| seat.life = Life::Untested);
            (roster.dirty, roster.urgent) = (true, true);
            if let Some(began) = roster.began.filter(|&began| roster.serving() != Some(began)) {
                self.serve(group, began, Reason::Discarded, now, acts);
            }
        }
        self.release_all();
    }

    /// A round counts.
    fn accept(&mut self, ended: Ended, now: Moment, acts: &mut Vec<Act>) {
        self.eager = if self.health.iter().any(|health| health.tests.is_empty()) { self.eager } else { 0 };
        for (subject, tally) in ended.tallies.iter().enumerate() {
            if let Some(tally) = tally.as_ref().filter(|_| !self.ejected(subject)) {
                self.learn(subject, tally);
            }
        }
        for group in 0..self.rosters.len() {
            let none = self.setup.groups[group]
                .members
                .iter()
                .all(|&at| ended.tallies.get(at).is_none_or(|tally| tally.as_ref().is_none_or(|tally| !tally.works())));
            let roster = &mut self.rosters[group];
            // Moves within the first round that no success stood behind were guesses: with all failed they count for
            // nothing.
            if let Some(began) = roster.began.filter(|_| roster.first && none) {
                roster.put_first(began);
            }
            self.end_of_round(group, now, acts);
        }
        // Only now, when of all is known who works: whoever is taken out must not give way to another that failed too.
        for (subject, tally) in ended.tallies.iter().enumerate() {
            if let Some(tally) = tally.as_ref().filter(|_| !self.ejected(subject)) {
                self.blame(subject, tally, 1, now, acts);
            }
        }
        self.release_all();
    }

    /// Whether failed tests take nobody out of a balancer: with guards `adaptive` goes by the share of successes, and
    /// ejects whom it must.
    fn patient(&self, group: usize) -> bool {
        let setup = &self.setup.groups[group];
        setup.guards && matches!(setup.rank, Rank::Adaptive(_))
    }

    /// Takes up a member's tests. One that never worked is down by the first that fails.
    fn learn(&mut self, subject: usize, tally: &Tally) {
        self.health[subject].test(tally);
        let works = tally.works();
        for (group, seat) in self.places[subject].clone() {
            let patient = self.patient(group);
            let life = &mut self.rosters[group].seats[seat].life;
            *life = match works {
                true => Life::Up,
                false if patient && *life == Life::Up => Life::Up,
                false => Life::Down,
            };
        }
        self.touch(subject, true);
    }

    /// Tests that failed speak against a member, and those that did not speak for it.
    fn blame(&mut self, subject: usize, tally: &Tally, by: u32, now: Moment, acts: &mut Vec<Act>) {
        if tally.works() {
            self.health[subject].guard.clear();
        } else if self.guarded(subject) {
            self.suspect(subject, by, now, acts);
        }
    }

    /// An attempt of a test outside rounds ended.
    pub(super) fn alone_attempt(&mut self, subject: usize, outcome: &Outcome, now: Moment, acts: &mut Vec<Act>) {
        let most = self.rounds.as_ref().map_or(1, |rounds| rounds.plan().count.max(1));
        let Some(tally) = self.alone.get_mut(&subject) else { return };
        count(tally, outcome, now.steady);
        let made = tally.attempts();
        if made < most {
            return self.start(Some(subject), Purpose::Alone, made + 1, acts);
        }
        if let Some(tally) = self.alone.remove(&subject).filter(|_| !self.ejected(subject)) {
            self.learn(subject, &tally);
            self.blame(subject, &tally, 2, now, acts);
            self.settle_all(subject, now, acts);
        }
    }
}

fn count(tally: &mut Tally, outcome: &Outcome, now: Duration) {
    match outcome {
        Outcome::Done(sample) => tally.done(*sample, now),
        Outcome::Failed { took, .. } => tally.failed(*took),
    }
}
