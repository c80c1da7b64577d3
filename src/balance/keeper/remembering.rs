//! What outlives a keeper: written down as ages, read back with care, since a file may say anything.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::board::{Decision, Life, Pin};
use super::super::chance::{CENTURY, later};
use super::super::guard::Guard;
use super::super::health::Health;
use super::super::memory::{GroupMemory, Memory, SubjectMemory, Test};
use super::super::moment::Moment;
use super::super::sample::Sample;
use super::super::setup::Subject;
use super::super::tally::Measured;
use super::super::timers::Timer;
use super::Keeper;
use crate::addr::Tag;

impl Keeper {
    /// Writes down what is known.
    pub fn remember(&self, now: Moment, memory: &mut Memory) {
        let subjects = memory.subjects.entry(self.setup.print).or_default();
        for (at, (subject, health)) in self.setup.subjects.iter().zip(&self.health).enumerate() {
            let known = written(health, subject.print, now.steady);
            subjects.insert(subject.tag.to_string(), SubjectMemory { up: self.life(at), ..known });
        }
        for (at, (group, roster)) in self.setup.groups.iter().zip(&self.rosters).enumerate() {
            let entry: &mut GroupMemory = memory.groups.entry(group.tag.to_string()).or_default();
            let left = |until: Duration| until.saturating_sub(now.steady);
            entry.serving = roster.serving().map(|seat| self.tag(at, seat).to_string());
            entry.pin = roster.pin.map(|pin| (self.tag(at, pin.member).to_string(), pin.until.map(left), pin.strict));
            let fenced = |&seat: &usize| roster.seats[seat].fenced && !group.fenced.contains(&seat);
            entry.fenced = (0..roster.seats.len()).filter(fenced).map(|seat| self.tag(at, seat).to_string()).collect();
            let told = |decision: &Decision| (decision.wall_ms, decision.member.to_string(), decision.what.to_string());
            entry.decisions = roster.decisions.iter().map(told).collect();
        }
    }

    /// Whether a member works, as far as any balancer knows.
    fn life(&self, subject: usize) -> Option<bool> {
        let lives = self.places[subject].iter().map(|&(group, seat)| self.rosters[group].seats[seat].life);
        lives.filter(|life| *life != Life::Untested).map(Life::usable).reduce(|a, b| a || b)
    }

    /// Takes up what an earlier keeper knew of members whose definition is the same.
    pub(super) fn recall(&mut self, memory: &Memory, now: Moment) {
        for subject in 0..self.setup.subjects.len() {
            let setup = &self.setup.subjects[subject];
            let Some(known) = remembered(memory, self.setup.print, setup) else { continue };
            let known = &*known;
            read(&mut self.health[subject], known, now.steady);
            let life = match known.up {
                Some(true) => Life::Up,
                Some(false) => Life::Down,
                None => Life::Untested,
            };
            for &(group, seat) in &self.places[subject] {
                self.rosters[group].seats[seat].life = life;
            }
            if let Some(left) = known.quarantine {
                let until = later(now.steady, left.min(self.setup.guards.longest));
                let serial = self.number();
                self.health[subject].guard.resume(until, serial);
                let first = if self.has_lights() { later(now.steady, Guard::QUICK) } else { until };
                self.life_timer(subject, serial, first);
            }
        }
        for group in 0..self.rosters.len() {
            if let Some(known) = memory.groups.get(self.setup.groups[group].tag.as_str()) {
                self.recall_group(group, known, now);
            }
        }
        // Those that stayed may all be ejected, while those that worked are gone (O24).
        for subject in 0..self.health.len() {
            if self.ejected(subject) && !self.can_spare(subject) {
                self.health[subject].guard.back();
            }
        }
    }

    fn recall_group(&mut self, group: usize, known: &GroupMemory, now: Moment) {
        let seats = self.rosters[group].seats.len();
        let seat = |keeper: &Self, name: &str| (0..seats).find(|&seat| keeper.tag(group, seat).as_str() == name);
        if let Some(serving) = known.serving.as_deref().and_then(|name| seat(self, name)) {
            let ranked = !self.rosters[group].ranking.is_empty();
            if ranked {
                self.rosters[group].put_first(serving);
            }
        }
        if let Some((name, left, strict)) = &known.pin
            && let Some(member) = seat(self, name)
        {
            let until = left.map(|left| later(now.steady, left));
            self.rosters[group].pin = Some(Pin { member, until, strict: *strict });
            until.into_iter().for_each(|until| self.timers.set(until, Timer::Unpin(group)));
        }
        for at in 0..seats {
            if known.fenced.iter().any(|name| self.tag(group, at).as_str() == name) {
                self.rosters[group].seats[at].fenced = true;
            }
        }
        let decision = |(wall_ms, member, what): &(u64, String, String)| Decision {
            wall_ms: *wall_ms,
            member: Tag::new(member),
            what: Arc::from(what.as_str()),
        };
        self.rosters[group].recall(known.decisions.iter().map(decision));
    }
}

/// What is remembered of a member by the same measurements. Where it was measured in another way, only what does not hang
/// on that: whether it worked, its ejections, and the dials of real flows.
fn remembered<'m>(memory: &'m Memory, print: u64, subject: &Subject) -> Option<Cow<'m, SubjectMemory>> {
    let known = |subjects: &'m BTreeMap<String, SubjectMemory>| {
        subjects.get(subject.tag.as_str()).filter(|known| known.print == subject.print)
    };
    if let Some(same) = memory.subjects.get(&print).and_then(known) {
        return Some(Cow::Borrowed(same));
    }
    let other = memory.subjects.values().find_map(known)?;
    let measured = SubjectMemory { tests: vec![], pings: vec![], availability: None, rate: None, ..other.clone() };
    Some(Cow::Owned(measured))
}

/// What is known of a member, as ages.
fn written(health: &Health, print: u64, now: Duration) -> SubjectMemory {
    let age = |at: f64| Duration::try_from_secs_f64((now.as_secs_f64() - at).max(0.0)).unwrap_or(CENTURY);
    let test =
        |(at, sample): (f64, Sample)| Test { age: age(at), dial: sample.dial, time: sample.time, bytes: sample.bytes };
    SubjectMemory {
        print,
        up: None,
        up_udp: (health.udp.life != Life::Untested).then(|| health.udp.life.usable()),
        tests: health.tests.iter().map(test).collect(),
        pings: health.pings.iter().map(|(at, time)| (age(at), time)).collect(),
        dials: health.dials.iter().map(|(at, time)| (age(at), time)).collect(),
        availability: Some(health.availability),
        rate: health.measured.map(|measured| measured.rate),
        quarantine: health.guard.out().map(|out| out.until.saturating_sub(now)),
        ejections: health.guard.ejections().iter().map(|&at| age(at)).collect(),
    }
}

/// Takes it up again.
fn read(health: &mut Health, known: &SubjectMemory, now: Duration) {
    let at = |age: Duration| now.as_secs_f64() - age.min(CENTURY).as_secs_f64();
    for test in &known.tests {
        let (time, dial) = (test.time.min(CENTURY), test.dial.min(test.time).min(CENTURY));
        health.tests.push(at(test.age), Sample { bytes: test.bytes, time, dial, status: 200 });
        health.delay = Some(dial);
    }
    for &(age, time) in &known.pings {
        health.pings.push(at(age), time.map(|time| time.min(CENTURY)));
        health.delay = time.or(health.delay);
    }
    for &(age, time) in &known.dials {
        health.dials.push(at(age), time.min(CENTURY));
    }
    health.availability =
        known.availability.filter(|share| share.is_finite()).map_or(1.0, |share| share.clamp(0.0, 1.0));
    let rate = known.rate.filter(|rate| rate.is_finite() && *rate >= 0.0);
    health.measured = rate.map(|rate| Measured {
        rate,
        bytes: known.tests.last().map_or(0, |test| test.bytes),
        time: known.tests.last().map_or(Duration::ZERO, |test| test.time),
    });
    health.guard.remember(known.ejections.iter().take(64).map(|&age| at(age)).collect());
    health.udp.life = match known.up_udp {
        Some(true) => Life::Up,
        _ => Life::Untested,
    };
    health.version += 1;
}
