//! Starting measurements and taking their ends.

use std::sync::Arc;
use std::time::Duration;

use super::super::job::{Job, Kind, Outcome};
use super::super::moment::Moment;
use super::super::setup::Plan;
use super::super::story::Story;
use super::{Act, Keeper, Purpose};

impl Keeper {
    /// Takes the end of a measurement.
    pub fn done(&mut self, job: Job, outcome: Outcome, now: Moment, acts: &mut Vec<Act>) {
        let Some(purpose) = self.jobs.remove(&job.id) else { return };
        if let Some(subject) = job.subject.and_then(|subject| self.setup.subjects.get(subject)) {
            acts.push(Act::Tell(Story::Measured { member: subject.tag.clone(), job, outcome: outcome.clone() }));
        }
        if let Some(subject) = job.subject {
            match &outcome {
                Outcome::Done(_) => self.worked(subject, now, acts),
                Outcome::Failed { why, .. } => {
                    self.health[subject].bad(why.words(), now.steady);
                    self.touch(subject, false);
                }
            }
        }
        match (purpose, job.subject) {
            (Purpose::Round, Some(subject)) => self.round_attempt(job, subject, &outcome, now, acts),
            (Purpose::Alone, Some(subject)) => self.alone_attempt(subject, &outcome, now, acts),
            (Purpose::Light, Some(subject)) => self.light_ended(subject, &outcome, now, acts),
            (Purpose::Asked, Some(subject)) => self.light_counts(subject, &outcome, now, acts),
            (Purpose::Confirm(serial), Some(subject)) => self.heard(serial, subject, outcome.good(), now, acts),
            (Purpose::Life, Some(subject)) => self.life_ended(subject, &outcome, now, acts),
            (Purpose::Look(serial), Some(_)) => self.looked(serial, now, acts),
            (Purpose::Second(serial), Some(_)) => self.second_ended(serial, outcome.good(), now, acts),
            (Purpose::Direct(subject), _) => self.direct_ended(subject, outcome.good(), now, acts),
            (_, None) => {}
        }
        self.show(now, acts);
    }

    /// Starts a measurement.
    pub(super) fn start(&mut self, subject: Option<usize>, purpose: Purpose, attempt: u32, acts: &mut Vec<Act>) {
        let id = self.number();
        let rounds = self.rounds.as_ref();
        let (kind, timeout) = match purpose {
            Purpose::Round | Purpose::Alone => (Kind::Test, rounds.map(|rounds| rounds.plan().timeout)),
            Purpose::Second(_) => (Kind::Second, None),
            Purpose::Direct(_) => (Kind::Direct, self.light_timeout()),
            _ if self.light_timeout().is_some() => (Kind::Light, self.light_timeout()),
            _ => (Kind::Life, None),
        };
        let round = match (purpose, rounds) {
            (Purpose::Round, Some(rounds)) => rounds.number(),
            _ => 0,
        };
        self.jobs.insert(id, purpose);
        let timeout = timeout.unwrap_or(self.setup.guards.timeout);
        acts.push(Act::Start(Job { id, subject, kind, round, attempt, timeout }));
    }

    /// The bound of a light probe of the plan; absent where the plan makes none.
    fn light_timeout(&self) -> Option<Duration> {
        match self.setup.plan {
            Plan::Nothing | Plan::Rounds(_) => None,
            Plan::Beats { timeout, .. } | Plan::Sweep { timeout, .. } | Plan::Burst { timeout, .. } => Some(timeout),
        }
    }

    /// Whether light probes can be made.
    pub(super) fn has_lights(&self) -> bool {
        self.setup.guards.probes || self.light_timeout().is_some()
    }

    /// Something succeeded: that ends an outage.
    pub(super) fn worked(&mut self, subject: usize, now: Moment, acts: &mut Vec<Act>) {
        self.health[subject].good(now.steady);
        (self.last_good, self.successes) = (Some(now.steady), self.successes + 1);
        for &(group, seat) in &self.places[subject] {
            self.rosters[group].worked(seat);
        }
        self.touch(subject, false);
        self.fruitless = 0;
        if self.outage.take().is_some() {
            let tag = self.setup.subjects[subject].tag.clone();
            self.note(&format!("{tag} answers again: the outage is over"), false, acts);
            self.rosters.iter_mut().for_each(|roster| roster.urgent = true);
            self.confirm_next(now, acts);
        }
    }

    /// Whether anything succeeded within the last so many seconds.
    pub(super) fn worked_within(&self, span: Duration, now: Duration) -> bool {
        self.last_good.is_some_and(|at| now.saturating_sub(at) < span)
    }

    /// Tells something about the whole.
    pub(super) fn note(&self, line: &str, warn: bool, acts: &mut Vec<Act>) {
        acts.push(Act::Tell(Story::Noted { line: Arc::from(line), warn }));
    }
}
