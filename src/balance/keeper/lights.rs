//! Light probes of the plan, and the lives that follow them.

use std::sync::Arc;

use super::super::board::{Decision, Life};
use super::super::job::Outcome;
use super::super::moment::Moment;
use super::super::setup::{Plan, Rank};
use super::super::story::Story;
use super::{Act, Keeper, Purpose};

impl Keeper {
    /// Begins the light probes that are due.
    pub(super) fn wake_lights(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if self.resting || self.rhythm.next().is_none_or(|due| due > now.steady) {
            return;
        }
        for subject in self.rhythm.due(now.steady, &mut self.chance) {
            self.start(Some(subject), Purpose::Light, 1, acts);
        }
    }

    /// A light probe of the plan ended.
    pub(super) fn light_ended(&mut self, subject: usize, outcome: &Outcome, now: Moment, acts: &mut Vec<Act>) {
        self.rhythm.done(subject, now.steady, &mut self.chance);
        if !outcome.good() && matches!(self.setup.plan, Plan::Burst { connectivity: true, .. }) {
            return self.start(None, Purpose::Direct(subject), 1, acts);
        }
        self.light_counts(subject, outcome, now, acts);
    }

    /// Whether there is a network at all: a failure without one is thrown away.
    pub(super) fn direct_ended(&mut self, subject: usize, good: bool, now: Moment, acts: &mut Vec<Act>) {
        if good {
            self.light_result(subject, None, now, acts);
        }
    }

    /// A light result counts.
    pub(super) fn light_counts(&mut self, subject: usize, outcome: &Outcome, now: Moment, acts: &mut Vec<Act>) {
        let time = match outcome {
            Outcome::Done(sample) => Some(sample.time),
            Outcome::Failed { .. } => None,
        };
        self.light_result(subject, time, now, acts);
    }

    fn light_result(&mut self, subject: usize, time: Option<std::time::Duration>, now: Moment, acts: &mut Vec<Act>) {
        self.health[subject].ping(time, now.steady);
        self.touch(subject, false);
        let good = time.is_some();
        if good {
            self.health[subject].guard.clear();
        }
        self.life_sign(subject, good, now, acts);
        let stats = self.health[subject].stats(self.oldest(), now.steady);
        let burst = matches!(self.setup.plan, Plan::Burst { .. });
        for (group, seat) in self.places[subject].clone() {
            let life = self.rosters[group].seats[seat].life;
            let returns = match self.setup.groups[group].rank {
                Rank::List { returns } | Rank::None { returns } => returns.max(1),
                _ => 1,
            };
            let next = match good {
                true if life.usable() || self.health[subject].streak >= returns => Life::Up,
                // As Xray has it one success among the newest is life; guards go by what real flows show.
                false if burst && stats.all != stats.failed => life,
                false if self.outage.is_some() && self.may_freeze(group) => life,
                true | false => Life::Down,
            };
            self.turn(group, seat, next, now, acts);
        }
        if !good {
            self.freeze_if_all_fail(now, acts);
        }
    }

    /// Changes the life of a member of a balancer.
    pub(super) fn turn(&mut self, group: usize, seat: usize, next: Life, now: Moment, acts: &mut Vec<Act>) {
        let successes = self.successes;
        let entry = &mut self.rosters[group].seats[seat];
        let before = entry.life;
        if before == next {
            return;
        }
        entry.life = next;
        if before.usable() != next.usable() {
            entry.before = (before, successes);
            self.rosters[group].urgent = true;
            let subject = self.setup.groups[group].members[seat];
            self.tell_turned(subject, next.usable(), now, acts);
        }
        self.rosters[group].dirty = true;
    }

    /// Tells that a member turned, once however many balancers it belongs to.
    pub(super) fn tell_turned(&mut self, subject: usize, up: bool, now: Moment, acts: &mut Vec<Act>) {
        let member = self.setup.subjects[subject].tag.clone();
        let story = Act::Tell(Story::Turned { member: member.clone(), up });
        if acts.contains(&story) {
            return;
        }
        let what: Arc<str> = Arc::from(if up { "is now up" } else { "is now down" });
        for (group, _) in self.places[subject].clone() {
            let decision = Decision { wall_ms: wall_ms(now), member: member.clone(), what: Arc::clone(&what) };
            self.rosters[group].decided(decision);
        }
        acts.push(story);
    }

    /// Whether an outage of the network may freeze the balancer's lives. The seed's TCP check, which goes by no member,
    /// never does: it says `is now down` of each.
    fn may_freeze(&self, group: usize) -> bool {
        let through = !matches!(self.setup.plan, Plan::Beats { spread: false, .. });
        through && self.setup.groups[group].guards
    }

    /// When the last results of all members are failures, with no success in between, it is the network: lives stay as
    /// they were.
    fn freeze_if_all_fail(&mut self, now: Moment, acts: &mut Vec<Act>) {
        let watched = |at: &usize| self.setup.subjects[*at].watched;
        let several = self.health.len() > 1;
        let all = || (0..self.health.len()).filter(watched).all(|at| self.health[at].last_good == Some(false));
        if !several || self.outage.is_some() || !(0..self.rosters.len()).any(|group| self.may_freeze(group)) || !all() {
            return;
        }
        let successes = self.successes;
        for group in (0..self.rosters.len()).filter(|&group| self.may_freeze(group)).collect::<Vec<_>>() {
            let roster = &mut self.rosters[group];
            for seat in roster.seats.iter_mut().filter(|seat| seat.life == Life::Down && seat.before.1 == successes) {
                seat.life = seat.before.0;
            }
            (roster.dirty, roster.urgent) = (true, true);
        }
        self.outage_begins(now, acts);
    }
}

/// The wall clock in milliseconds.
pub(super) fn wall_ms(now: Moment) -> u64 {
    u64::try_from(now.wall.as_millis()).unwrap_or(u64::MAX)
}
