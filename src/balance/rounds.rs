//! Rounds of full tests: everybody starts together, nobody starts twice, and the next round follows the end of the last.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::{Chance, later};
use super::moment::Moment;
use super::setup;
use super::tally::Tally;

/// The clock of rounds, and the attempts of the one that runs.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
    plan: setup::Rounds,
    number: u64,
    /// When the next one begins, while none runs.
    due: Option<Duration>,
    open: Option<Open>,
    /// When the last one began.
    began: Option<Duration>,
    /// Rounds that ended well or badly, for the extra ones after the start.
    ended: usize,
    /// Whether the last round was not believed; a second one in a row is, so that a slow machine still gets verdicts.
    doubted: bool,
}

/// A round that runs.
#[derive(Debug, Clone)]
struct Open {
    since: Moment,
    /// The first attempts that did not begin yet, soonest first.
    starts: VecDeque<(Duration, usize)>,
    /// One a subject that takes part.
    tallies: Vec<Option<Tally>>,
    /// Members that have attempts to make.
    left: usize,
    /// When the next one had been due, for a round that came early.
    kept: Option<Duration>,
}

/// What an attempt leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The member's next attempt.
    Again(u32),
    /// Others still run.
    Wait,
    /// The round is complete.
    Complete,
    /// It belongs to no round that runs.
    Foreign,
}

/// A round that ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// One a subject that took part.
    pub tallies: Vec<Option<Tally>>,
    /// When it began.
    pub began: Duration,
    /// Whether it took longer than it can, so that the machine slept meanwhile or its clock jumped.
    pub doubtful: bool,
}

impl Rounds {
    /// The shortest pause between rounds, so that an interval of 0 with members that refuse at once does not spin.
    const LEAST_PAUSE: Duration = Duration::from_millis(100);
    /// How much longer than its attempts a round may take before it is not believed.
    const SLACK: Duration = Duration::from_secs(1);

    /// A clock whose first round is due at this moment. What is known already needs no extra rounds.
    pub(super) fn new(plan: setup::Rounds, due: Duration, known: bool) -> Self {
        let ended = if known { plan.warmup.len() } else { 0 };
        Self { plan, number: 0, due: Some(due), open: None, began: None, ended, doubted: false }
    }

    /// What it goes by.
    pub(super) fn plan(&self) -> &setup::Rounds {
        &self.plan
    }

    /// The number of the round that runs, or ran last; counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a round runs.
    pub(super) fn running(&self) -> bool {
        self.open.is_some()
    }

    /// When the last round began.
    pub(super) fn began(&self) -> Option<Duration> {
        self.began
    }

    /// When the next round begins, while none runs.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// When it has something to do.
    pub(super) fn next(&self) -> Option<Duration> {
        self.due.or_else(|| self.open.as_ref().and_then(|open| open.starts.front()).map(|(at, _)| *at))
    }

    /// Lets the next round begin no later than this.
    pub(super) fn hurry(&mut self, at: Duration) {
        self.due = self.due.map(|due| due.min(at));
    }

    /// Begins a round of these members, unless one runs. One that comes before its time does not move the next.
    pub(super) fn begin(&mut self, members: &[usize], subjects: usize, now: Moment, chance: &mut Chance) {
        if self.running() {
            return;
        }
        if members.is_empty() {
            self.due = None;
            return;
        }
        let mut tallies = vec![None; subjects];
        let mut starts = VecDeque::new();
        for (place, &member) in members.iter().enumerate() {
            tallies[member] = Some(Tally::default());
            starts.push_back((later(now.steady, chance.share(self.plan.stagger, place, members.len())), member));
        }
        let kept = self.due.take().filter(|due| *due > now.steady);
        self.number += 1;
        self.began = Some(now.steady);
        self.open = Some(Open { since: now, starts, tallies, left: members.len(), kept });
    }

    /// Members whose first attempt is due.
    pub(super) fn starts(&mut self, now: Duration) -> Vec<usize> {
        let mut due = Vec::new();
        if let Some(open) = &mut self.open {
            while let Some((_, member)) = open.starts.pop_front_if(|(at, _)| *at <= now) {
                due.push(member);
            }
        }
        due
    }

    /// The attempts of a member in the round that runs.
    pub(super) fn tally(&self, member: usize) -> Option<&Tally> {
        self.open.as_ref()?.tallies.get(member)?.as_ref()
    }

    /// Whether a member has made all its attempts of the round that runs.
    pub(super) fn made(&self, member: usize) -> bool {
        self.tally(member).is_some_and(|tally| tally.attempts() >= self.count())
    }

    fn count(&self) -> u32 {
        self.plan.count.max(1)
    }

    /// Takes the end of an attempt of a round.
    pub(super) fn record(&mut self, round: u64, member: usize, attempt: impl FnOnce(&mut Tally)) -> Step {
        let (number, count) = (self.number, self.count());
        let Some(open) = self.open.as_mut().filter(|_| round == number) else { return Step::Foreign };
        let Some(tally) = open.tallies.get_mut(member).and_then(Option::as_mut) else { return Step::Foreign };
        if tally.attempts() >= count {
            return Step::Foreign;
        }
        attempt(tally);
        if tally.attempts() < count {
            return Step::Again(tally.attempts() + 1);
        }
        open.left -= 1;
        if open.left == 0 { Step::Complete } else { Step::Wait }
    }

    /// Ends the round that runs, and says when the next one begins.
    pub(super) fn end(&mut self, now: Moment) -> Option<Ended> {
        let Open { since, tallies, kept, .. } = self.open.take()?;
        let took = now.steady.saturating_sub(since.steady).max(now.wall.saturating_sub(since.wall));
        let attempts = self.plan.timeout.saturating_mul(self.count());
        let limit = attempts.saturating_add(self.plan.stagger).saturating_add(Self::SLACK);
        let doubtful = took > limit && !self.doubted;
        self.doubted = doubtful;
        let interval = self.plan.interval.max(Self::LEAST_PAUSE);
        let pause = if doubtful {
            interval.min(self.plan.timeout).max(Self::LEAST_PAUSE)
        } else {
            self.ended += 1;
            self.plan.warmup.get(self.ended - 1).copied().unwrap_or(interval).min(interval)
        };
        let regular = later(now.steady, pause);
        self.due = Some(kept.filter(|due| *due > now.steady).map_or(regular, |due| due.min(regular)));
        Some(Ended { tallies, began: since.steady, doubtful })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan(count: u32) -> setup::Rounds {
        setup::Rounds {
            interval: 600 * SECOND,
            timeout: 5 * SECOND,
            count,
            warmup: vec![],
            stagger: Duration::ZERO,
            second: false,
        }
    }

    fn at(secs: u32) -> Moment {
        Moment { steady: secs * SECOND, wall: secs * SECOND }
    }

    fn ok(tally: &mut Tally) {
        tally.done(Sample { bytes: 1000, time: SECOND, dial: SECOND / 10, status: 200 }, 9 * SECOND);
    }

    fn begin(rounds: &mut Rounds, now: Moment) -> Vec<usize> {
        rounds.begin(&[0, 1], 2, now, &mut Chance::new(1));
        rounds.starts(now.steady)
    }

    #[test]
    fn o1_all_start_together_and_the_next_round_follows_the_end_of_the_last() {
        let mut rounds = Rounds::new(plan(2), Duration::ZERO, false);
        assert_eq!(rounds.next(), Some(Duration::ZERO), "the first round is due at the start");
        assert_eq!(begin(&mut rounds, at(0)), [0, 1]);
        assert_eq!(rounds.next(), None);
        assert!(begin(&mut rounds, at(1)).is_empty(), "rounds never overlap");
        assert_eq!(rounds.record(1, 0, ok), Step::Again(2));
        assert_eq!(rounds.record(1, 0, ok), Step::Wait);
        assert_eq!(rounds.record(1, 0, ok), Step::Foreign, "more attempts than asked for");
        assert_eq!(rounds.record(1, 1, ok), Step::Again(2));
        assert_eq!(rounds.record(1, 1, ok), Step::Complete);
        assert!(rounds.end(at(8)).is_some_and(|ended| !ended.doubtful && ended.tallies.len() == 2));
        assert_eq!(rounds.next(), Some(608 * SECOND));
    }

    #[test]
    fn o1_starts_can_be_spread() {
        let mut rounds = Rounds::new(setup::Rounds { stagger: 10 * SECOND, ..plan(1) }, Duration::ZERO, false);
        rounds.begin(&[0, 1], 2, at(0), &mut Chance::new(1));
        assert_eq!(rounds.starts(5 * SECOND), [0]);
        let next = rounds.next().expect("the second one's start");
        assert!((5 * SECOND..10 * SECOND).contains(&next));
        assert_eq!(rounds.starts(next), [1]);
        rounds.record(1, 0, ok);
        rounds.record(1, 1, ok);
        assert!(rounds.end(at(14)).is_some_and(|ended| !ended.doubtful), "what is spread may take that longer");
    }

    #[test]
    fn trap_23_a_round_during_which_the_machine_slept_is_doubted_once() {
        let mut rounds = Rounds::new(plan(1), Duration::ZERO, false);
        for doubtful in [true, false, true] {
            let start = Moment { steady: rounds.next().expect("waiting"), wall: Duration::ZERO };
            begin(&mut rounds, start);
            rounds.record(rounds.number(), 0, ok);
            rounds.record(rounds.number(), 1, ok);
            // The steady clock stood still, the wall clock did not.
            let ended = rounds.end(Moment { wall: 3600 * SECOND, ..start }).expect("it ran");
            assert_eq!(ended.doubtful, doubtful);
            let pause = if doubtful { 5 * SECOND } else { 600 * SECOND };
            assert_eq!(rounds.next(), Some(start.steady + pause));
        }
    }

    #[test]
    fn a_late_result_of_an_older_round_is_ignored() {
        let mut rounds = Rounds::new(plan(1), Duration::ZERO, false);
        begin(&mut rounds, at(0));
        assert_eq!(rounds.record(9, 0, ok), Step::Foreign);
        assert_eq!(rounds.record(1, 7, ok), Step::Foreign);
        rounds.record(1, 0, ok);
        rounds.record(1, 1, ok);
        rounds.end(at(1));
        assert_eq!(rounds.record(1, 1, ok), Step::Foreign);
    }

    #[test]
    fn warm_up_rounds_come_first_and_early_ones_do_not_move_the_next() {
        let warm = setup::Rounds { warmup: [20, 60, 180].map(|secs| secs * SECOND).into(), ..plan(1) };
        let mut rounds = Rounds::new(warm.clone(), Duration::ZERO, false);
        let run = |rounds: &mut Rounds, now: Moment| {
            begin(rounds, now);
            rounds.record(rounds.number(), 0, ok);
            rounds.record(rounds.number(), 1, ok);
            rounds.end(now);
            rounds.next().map(|at| at.as_secs())
        };
        let dues: Vec<_> = [0, 20, 80, 260].map(|secs| run(&mut rounds, at(secs))).into_iter().flatten().collect();
        assert_eq!(dues, [20, 80, 260, 860]);
        assert_eq!(run(&mut rounds, at(500)), Some(860), "early, on top");
        assert_eq!(run(&mut rounds, at(860)), Some(1460));
        rounds.hurry(900 * SECOND);
        assert_eq!(rounds.next(), Some(900 * SECOND));
        let mut known = Rounds::new(warm, Duration::ZERO, true);
        assert_eq!(run(&mut known, at(0)), Some(600), "what is known needs no warm-up");
    }

    #[test]
    fn an_interval_of_zero_does_not_spin() {
        let mut rounds = Rounds::new(setup::Rounds { interval: Duration::ZERO, ..plan(1) }, Duration::ZERO, false);
        begin(&mut rounds, at(0));
        rounds.record(1, 0, |tally| tally.failed(Duration::ZERO));
        rounds.record(1, 1, |tally| tally.failed(Duration::ZERO));
        rounds.end(at(0));
        assert_eq!(rounds.next(), Some(Rounds::LEAST_PAUSE));
    }
}
