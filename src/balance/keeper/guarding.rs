//! Guards at work: suspicion, the question to all, ejection, return, and the outage in which nothing is changed.

use std::sync::Arc;

use super::super::board::{Decision, Life};
use super::super::chance::later;
use super::super::guard::{Confirm, Finding, Guard, Light, patience};
use super::super::job::Outcome;
use super::super::moment::Moment;
use super::super::story::Story;
use super::super::timers::Timer;
use super::lights::wall_ms;
use super::{Act, Keeper, Outage, Purpose};

impl Keeper {
    /// Most members that are asked at once besides a suspect: one that answers is enough.
    const WITNESSES: usize = 15;

    /// Something speaks against a member.
    pub(super) fn suspect(&mut self, subject: usize, by: u32, now: Moment, acts: &mut Vec<Act>) {
        if self.guarded(subject) && !self.ejected(subject) && self.can_spare(subject) {
            self.health[subject].guard.suspect(by, now.steady);
            self.confirm_next(now, acts);
        }
    }

    /// Asks about the next suspect. One question at a time, and none while nothing answers.
    pub(super) fn confirm_next(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if self.confirm.is_some() || self.outage.is_some() {
            return;
        }
        let suspected = |at: &usize| self.health[*at].guard.suspected();
        let suspects: Vec<usize> = (0..self.health.len()).filter(suspected).collect();
        for suspect in suspects {
            if !self.can_spare(suspect) {
                self.health[suspect].guard.clear();
            } else if self.has_lights() {
                return self.confirm(suspect, now, acts);
            } else {
                self.eject_unasked(suspect, now, acts);
            }
        }
    }

    fn confirm(&mut self, suspect: usize, now: Moment, acts: &mut Vec<Act>) {
        let peers = self.peers(suspect);
        let asked = self.sample(&peers, Some(suspect));
        let serial = self.number();
        self.confirm = Some(Confirm::new(suspect, asked.len(), now.steady, serial));
        self.timers.set(later(now.steady, Confirm::LATE), Timer::Late(serial));
        self.guarded_line(suspect, "is suspected, all are asked for a sign of life", false, now, acts);
        for subject in asked {
            self.start(Some(subject), Purpose::Confirm(serial), 1, acts);
        }
    }

    /// Nobody can be asked: a member is taken out when another worked just now.
    fn eject_unasked(&mut self, suspect: usize, now: Moment, acts: &mut Vec<Act>) {
        let recent = |at: &usize| {
            let seen = self.health[*at].last_seen;
            *at != suspect && seen.is_some_and(|at| now.steady.as_secs_f64() - at < 30.0)
        };
        let other = self.peers(suspect).iter().any(recent);
        self.health[suspect].guard.clear();
        if other {
            self.eject(suspect, now, acts);
        }
    }

    /// Members that are in, of balancers with guards which the member belongs to.
    fn peers(&self, subject: usize) -> Vec<usize> {
        let groups = self.places[subject].iter().map(|&(group, _)| &self.setup.groups[group]);
        let mut peers: Vec<usize> =
            groups.filter(|group| group.guards).flat_map(|group| group.members.iter().copied()).collect();
        peers.sort_unstable();
        peers.dedup();
        peers.retain(|&at| !self.ejected(at));
        peers
    }

    /// At most as many of these as are asked at once, evenly over the list, and one of them surely.
    pub(super) fn sample(&self, of: &[usize], surely: Option<usize>) -> Vec<usize> {
        let step = of.len().div_ceil(Self::WITNESSES).max(1);
        let mut asked: Vec<usize> = of.iter().copied().step_by(step).collect();
        if let Some(one) = surely.filter(|one| !asked.contains(one)) {
            asked.push(one);
        }
        asked
    }

    /// A member answered the question about a suspect, or did not.
    pub(super) fn heard(&mut self, serial: u64, subject: usize, good: bool, now: Moment, acts: &mut Vec<Act>) {
        let Some(confirm) = self.confirm.as_mut().filter(|confirm| confirm.serial == serial) else { return };
        let (suspect, finding) = (confirm.suspect, confirm.heard(subject, good, now.steady));
        self.found(suspect, finding, now, acts);
    }

    /// The suspect was silent for long enough.
    pub(super) fn late(&mut self, serial: u64, now: Moment, acts: &mut Vec<Act>) {
        let Some(confirm) = self.confirm.as_ref().filter(|confirm| confirm.serial == serial) else { return };
        let (suspect, finding) = (confirm.suspect, confirm.finding(now.steady));
        self.found(suspect, finding, now, acts);
    }

    fn found(&mut self, suspect: usize, finding: Finding, now: Moment, acts: &mut Vec<Act>) {
        if finding == Finding::Open {
            return;
        }
        self.confirm = None;
        let guard = &mut self.health[suspect].guard;
        let spared = finding == Finding::Dead && guard.spare(now.steady);
        if finding != Finding::Dead {
            guard.clear();
        }
        match finding {
            Finding::Dead if spared => {
                self.guarded_line(
                    suspect,
                    "gives no sign of life, but it flaps and stays for a minute",
                    false,
                    now,
                    acts,
                );
            }
            Finding::Dead => self.eject(suspect, now, acts),
            Finding::Alive => self.guarded_line(suspect, "gave a sign of life and stays", false, now, acts),
            Finding::Outage | Finding::Open => self.outage_begins(now, acts),
        }
        self.confirm_next(now, acts);
    }

    /// Whether every balancer with guards keeps somebody without the member (O24).
    pub(super) fn can_spare(&self, subject: usize) -> bool {
        self.places[subject].iter().all(|&(group, _)| {
            let setup = &self.setup.groups[group];
            let other =
                |(seat, &at): (usize, &usize)| at != subject && self.rosters[group].usable(setup, &self.health, seat);
            !setup.guards || setup.members.iter().enumerate().any(other)
        })
    }

    /// Takes a member out (O21).
    fn eject(&mut self, subject: usize, now: Moment, acts: &mut Vec<Act>) {
        if self.ejected(subject) || !self.can_spare(subject) {
            return;
        }
        let serial = self.number();
        let quarantine = self.health[subject].guard.eject(now.steady, &self.setup.guards, serial);
        let first = if self.has_lights() { Guard::QUICK } else { quarantine };
        self.life_timer(subject, serial, later(now.steady, first));
        let times = self.health[subject].guard.times(now.steady);
        let line = format!("is out for {} s at least, ejection {times} in half an hour", quarantine.as_secs());
        self.guarded_line(subject, &line, true, now, acts);
        self.settle_all(subject, now, acts);
    }

    /// Says when an ejected member is asked next.
    pub(super) fn life_timer(&mut self, subject: usize, serial: u64, at: std::time::Duration) {
        self.health[subject].guard.ask_at(Some(at));
        self.timers.set(at, Timer::Life(subject, serial));
        self.touch(subject, true);
    }

    /// An ejected member is due to be asked.
    pub(super) fn ask_life(&mut self, subject: usize, serial: u64, now: Moment, acts: &mut Vec<Act>) {
        if self.health[subject].guard.out().is_none_or(|out| out.serial != serial) {
            return;
        }
        if self.resting {
            self.parked.push(subject);
        } else if self.has_lights() {
            self.health[subject].guard.ask_at(None);
            self.start(Some(subject), Purpose::Life, 1, acts);
        } else {
            self.back(subject, now, acts);
        }
    }

    /// A sign of life of an ejected member, or its absence.
    pub(super) fn life_ended(&mut self, subject: usize, outcome: &Outcome, now: Moment, acts: &mut Vec<Act>) {
        let Some(serial) = self.health[subject].guard.out().map(|out| out.serial) else { return };
        match self.health[subject].guard.light(outcome.good(), now.steady) {
            Some(Light::Back) => self.back(subject, now, acts),
            Some(Light::Again(pause)) => self.life_timer(subject, serial, later(now.steady, pause)),
            None => {}
        }
    }

    /// A light probe of the plan is a sign of life too.
    pub(super) fn life_sign(&mut self, subject: usize, good: bool, now: Moment, acts: &mut Vec<Act>) {
        if self.health[subject].guard.light(good, now.steady) == Some(Light::Back) {
            self.back(subject, now, acts);
        }
    }

    /// An ejected member returns, and is tested at once (O22).
    fn back(&mut self, subject: usize, now: Moment, acts: &mut Vec<Act>) {
        self.health[subject].guard.back();
        self.health[subject].returned();
        if self.rounds.is_none() {
            for (group, seat) in self.places[subject].clone() {
                self.turn(group, seat, Life::Up, now, acts);
            }
        }
        self.guarded_line(subject, "is back", true, now, acts);
        self.touch(subject, true);
        self.test_alone(subject, acts);
    }

    /// Nothing answers: nothing is changed until something does (O23).
    pub(super) fn outage_begins(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if self.outage.is_none() {
            let serial = self.number();
            self.outage = Some(Outage { serial, waiting: 0, tries: 1 });
            self.note("no member answers: an outage of the network is suspected, nothing is changed", true, acts);
            self.rosters.iter_mut().for_each(|roster| (roster.dirty, roster.urgent) = (true, true));
            self.look_later(now);
        }
    }

    fn look_later(&mut self, now: Moment) {
        if let Some(outage) = self.outage.filter(|_| self.has_lights()) {
            self.timers.set(later(now.steady, patience(outage.tries)), Timer::Look(outage.serial));
        }
    }

    /// Looks whether the network is back.
    pub(super) fn look(&mut self, serial: u64, now: Moment, acts: &mut Vec<Act>) {
        let Some(outage) = self.outage.filter(|outage| outage.serial == serial) else { return };
        if self.resting {
            return self.look_later(now);
        }
        let all: Vec<usize> = (0..self.health.len()).filter(|&at| !self.ejected(at)).collect();
        let asked = self.sample(&all, None);
        self.outage = Some(Outage { waiting: asked.len(), ..outage });
        for subject in asked {
            self.start(Some(subject), Purpose::Look(serial), 1, acts);
        }
    }

    /// One of those looks ended; a success has ended the outage already.
    pub(super) fn looked(&mut self, serial: u64, now: Moment, _acts: &mut [Act]) {
        let Some(outage) = self.outage.as_mut().filter(|outage| outage.serial == serial) else { return };
        outage.waiting = outage.waiting.saturating_sub(1);
        if outage.waiting == 0 {
            outage.tries = outage.tries.saturating_add(1);
            self.look_later(now);
        }
    }

    /// Tells what guards did with a member, and keeps it among the decisions where it is more than a suspicion.
    fn guarded_line(&mut self, subject: usize, what: &str, loud: bool, now: Moment, acts: &mut Vec<Act>) {
        let member = self.setup.subjects[subject].tag.clone();
        let line: Arc<str> = format!("balancer member {member} {what}").into();
        acts.push(Act::Tell(Story::Guarded { member: member.clone(), line, loud }));
        if loud {
            let what: Arc<str> = Arc::from(what);
            for (group, _) in self.places[subject].clone() {
                let decision = Decision { wall_ms: wall_ms(now), member: member.clone(), what: Arc::clone(&what) };
                self.rosters[group].decided(decision);
            }
        }
    }
}
