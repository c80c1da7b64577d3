//! The keeper of a group of members: what to measure when, what results and real flows mean, and who serves.
//!
//! Balancers with equal probe settings share one keeper, so that nothing is measured twice and all see one truth. The
//! keeper is sans-io: it asks for measurements and is told their ends; time is an argument. One owner drives it:
//!
//! 1. sleep until [`Keeper::next_wake`], then [`Keeper::wake`];
//! 2. for every [`Act::Start`] make the measurement and give its end to [`Keeper::done`];
//! 3. give what real flows show to [`Keeper::saw`], and orders of a person to [`Keeper::order`];
//! 4. do what every other [`Act`] says, in their order.
//!
//! Each concern has a file of its own below: starting and ending measurements, rounds, light probes, guards, real flows,
//! orders, memory, and what is shown. What they compute stands beside this file, each alone.

mod flows;
mod guarding;
mod lights;
mod measuring;
mod orders;
mod remembering;
mod showing;
mod testing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use super::chance::{Chance, later};
use super::guard::Confirm;
use super::health::Health;
use super::job::Job;
use super::memory::Memory;
use super::moment::Moment;
use super::rhythm::Rhythm;
use super::roster::Roster;
use super::rounds::{Ended, Rounds};
use super::setup::{Group, Plan, Setup};
use super::story::Story;
use super::tally::Tally;
use super::timers::{Timer, Timers};

/// What whoever drives a keeper must do.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Make this measurement and report its end.
    Start(Job),
    /// Give the group's balancer this board.
    Publish(usize, Arc<Board>),
    /// Let the group's waiting flows go.
    Release(usize),
    /// Tell balancers that have this group as a member whether at least one of its members is up.
    Status(usize, bool),
    /// Tell the log and the journal.
    Tell(Story),
}

/// See the module.
#[derive(Debug)]
pub struct Keeper {
    setup: Setup,
    /// One a subject.
    health: Vec<Health>,
    /// Where each subject sits: group and place in its list.
    places: Vec<Vec<(usize, usize)>>,
    /// One a group.
    rosters: Vec<Roster>,
    rounds: Option<Rounds>,
    rhythm: Rhythm,
    chance: Chance,
    timers: Timers,
    /// What each measurement that runs is for.
    jobs: BTreeMap<u64, Purpose>,
    /// The number of the last measurement, question or outage.
    serial: u64,
    /// Members to be tested outside a round as soon as possible.
    fresh: Vec<usize>,
    /// Members that are tested outside a round, with their attempts.
    alone: BTreeMap<usize, Tally>,
    confirm: Option<Confirm>,
    second: Option<Second>,
    outage: Option<Outage>,
    /// How many rounds in a row were discarded because nothing answered.
    fruitless: u32,
    /// Early rounds in a row that were begun for the sake of untested members.
    eager: u32,
    /// When anything last succeeded, and how often it did.
    last_good: Option<Duration>,
    successes: u64,
    /// When a real flow last succeeded.
    last_flow: Option<Duration>,
    /// When a real flow last used a member.
    used: Duration,
    /// Whether measuring rests until a flow comes.
    resting: bool,
    /// Ejected members whose probes rest too.
    parked: Vec<usize>,
    /// Groups whose flows need not wait any more, once their board is out.
    released: Vec<usize>,
}

/// What a measurement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// An attempt of a round.
    Round,
    /// An attempt of a test outside rounds.
    Alone,
    /// A light probe of the plan.
    Light,
    /// A light probe that a person asked for.
    Asked,
    /// A question about a suspect.
    Confirm(u64),
    /// A sign of life of an ejected member.
    Life,
    /// A look whether the network is back.
    Look(u64),
    /// Whether the test target is dead rather than the members.
    Second(u64),
    /// Whether a failure of this member is one of the network.
    Direct(usize),
}

/// A round in which everything failed, while the second address is asked.
#[derive(Debug)]
struct Second {
    serial: u64,
    ended: Ended,
    waiting: usize,
}

/// Nothing answers.
#[derive(Debug, Clone, Copy)]
struct Outage {
    serial: u64,
    waiting: usize,
    /// Looks in a row that saw nothing.
    tries: u32,
}

impl Keeper {
    /// Boards are made no more often than this, unless somebody died, returned or began to serve.
    const CALM: Duration = Duration::from_millis(50);

    /// A keeper that begins now, with what is remembered of members whose definition is the same.
    #[must_use]
    pub fn new(setup: Setup, memory: &Memory, now: Moment) -> Self {
        let tests = setup.groups.iter().map(tests_kept).max().unwrap_or(1);
        let pings = match setup.plan {
            Plan::Burst { sampling, .. } => (sampling as usize).clamp(1, 1000),
            _ => 10,
        };
        let mut places = vec![Vec::new(); setup.subjects.len()];
        for (group, seats) in setup.groups.iter().enumerate() {
            for (seat, &subject) in seats.members.iter().enumerate() {
                if let Some(places) = places.get_mut(subject) {
                    places.push((group, seat));
                }
            }
        }
        let mut chance = Chance::new(setup.seed);
        let rhythm = Rhythm::new(&setup.plan, &setup.subjects, now.steady, &mut chance);
        let mut keeper = Self {
            health: setup.subjects.iter().map(|_| Health::new(tests, pings)).collect(),
            rosters: setup.groups.iter().map(Roster::new).collect(),
            places,
            rounds: None,
            rhythm,
            chance,
            timers: Timers::default(),
            jobs: BTreeMap::new(),
            serial: 0,
            fresh: Vec::new(),
            alone: BTreeMap::new(),
            confirm: None,
            second: None,
            outage: None,
            fruitless: 0,
            eager: 0,
            last_good: None,
            successes: 0,
            last_flow: None,
            used: now.steady,
            resting: false,
            parked: Vec::new(),
            released: Vec::new(),
            setup,
        };
        keeper.recall(memory, now);
        keeper.open_rounds(now);
        for (group, roster) in keeper.rosters.iter_mut().enumerate() {
            let wait = keeper.setup.groups[group].wait.filter(|_| roster.waiting);
            roster.waiting = wait.is_some();
            if let Some(wait) = wait {
                keeper.timers.set(later(now.steady, wait), Timer::Open(group));
            }
        }
        keeper
    }

    /// What it is made of.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// When [`Self::wake`] has something to do next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let rounds = self.rounds.as_ref().filter(|rounds| rounds.running() || !self.resting).and_then(Rounds::next);
        let rhythm = self.rhythm.next().filter(|_| !self.resting);
        let boards = self.rosters.iter().filter_map(|roster| match roster.published {
            None => Some(Duration::ZERO),
            Some(at) => (roster.dirty || roster.urgent).then(|| later(at, Self::CALM)),
        });
        [rounds, rhythm, self.timers.next()].into_iter().flatten().chain(boards).min()
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Moment, acts: &mut Vec<Act>) {
        while let Some(timer) = self.timers.due(now.steady) {
            match timer {
                Timer::Late(serial) => self.late(serial, now, acts),
                Timer::Life(subject, serial) => self.ask_life(subject, serial, now, acts),
                Timer::Look(serial) => self.look(serial, now, acts),
                Timer::Unpin(group) => self.unpin_if_due(group, now, acts),
                Timer::Open(group) => self.release(group),
                Timer::Udp(subject) => self.udp_again(subject, now.steady),
            }
        }
        self.rest_if_idle(now.steady);
        self.wake_rounds(now, acts);
        self.wake_lights(now, acts);
        self.show(now, acts);
    }

    /// Takes the word of a balancer that is a member: whether at least one of its own members is up.
    pub fn status(&mut self, subject: usize, up: bool, now: Moment, acts: &mut Vec<Act>) {
        if let Some(health) = self.health.get_mut(subject).filter(|health| health.inner != Some(up)) {
            let before = health.inner.replace(up);
            self.touch(subject, true);
            if before.is_some() || !up {
                self.tell_turned(subject, up, now, acts);
                self.settle_all(subject, now, acts);
            }
        }
        self.show(now, acts);
    }

    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Whether any balancer that the member belongs to wants guards.
    fn guarded(&self, subject: usize) -> bool {
        self.places[subject].iter().any(|&(group, _)| self.setup.groups[group].guards)
    }

    /// Whether a member is out.
    fn ejected(&self, subject: usize) -> bool {
        self.health[subject].guard.out().is_some()
    }

    /// Measuring rests when no flow came for long enough.
    fn rest_if_idle(&mut self, now: Duration) {
        self.resting = self.setup.idle.is_some_and(|idle| now.saturating_sub(self.used) >= idle);
    }
}

/// How many full tests a balancer looks at.
fn tests_kept(group: &Group) -> usize {
    match &group.rank {
        super::setup::Rank::Adaptive(settings) => settings.window.clamp(1, 1000),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
