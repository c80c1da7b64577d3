//! A world in virtual time: it drives a keeper and answers its measurements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::super::board::Board;
use super::super::super::job::{Fail, Job, Outcome};
use super::super::super::memory::Memory;
use super::super::super::moment::Moment;
use super::super::super::order::{Order, Refusal};
use super::super::super::sample::Sample;
use super::super::super::seen::{Evidence, Seen};
use super::super::super::setup::{Adaptive, Group, Guards, Plan, Rank, Rounds, Setup, Subject};
use super::super::super::story::Story;
use super::super::{Act, Keeper};
use crate::addr::{Network, OutboundId};

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) fn secs(secs: f64) -> Duration {
    Duration::from_secs_f64(secs)
}

/// A test that succeeds after so long, with a dial of a fifth of it.
pub(super) fn done(bytes: u64, seconds: f64) -> Outcome {
    Outcome::Done(Sample { bytes, time: secs(seconds), dial: secs(seconds / 5.0), status: 200 })
}

/// A light probe that succeeds.
pub(super) fn alive(seconds: f64) -> Outcome {
    Outcome::Done(Sample { bytes: 0, time: secs(seconds), dial: secs(seconds), status: 204 })
}

pub(super) fn failed(seconds: f64) -> Outcome {
    Outcome::Failed { took: secs(seconds), why: Fail::Other(Arc::from("broken")) }
}

pub(super) fn rounds(count: u32) -> Rounds {
    let interval = 600 * SECOND;
    Rounds { interval, timeout: 5 * SECOND, count, warmup: vec![], stagger: Duration::ZERO, second: false }
}

pub(super) fn adaptive() -> Adaptive {
    Adaptive { window: 8, half_life: None, kappa: 1.0, gamma: 2.0, margin: 0.15, early: true }
}

/// One balancer named `pool` of members `a`, `b`, …
pub(super) fn setup(weights: &[u32], rank: Rank, plan: Plan, guards: bool) -> Setup {
    let tag = |at: usize| char::from(b'a' + u8::try_from(at % 26).unwrap_or(0)).to_string();
    let name = |at: usize| if at < 26 { tag(at) } else { format!("{}{}", tag(at), at / 26) };
    let subject = |at: usize| Subject {
        tag: name(at).into(),
        hop: OutboundId(u32::try_from(at).unwrap_or(0)).into(),
        watched: true,
        print: 7 + at as u64,
    };
    let group = Group {
        tag: "pool".into(),
        members: (0..weights.len()).collect(),
        weights: weights.to_vec(),
        rank,
        guards,
        wait: None,
        fenced: vec![],
    };
    Setup {
        subjects: (0..weights.len()).map(subject).collect(),
        groups: vec![group],
        plan,
        guards: Guards::default(),
        idle: None,
        print: 1,
        seed: 5,
    }
}

type Answer = Box<dyn FnMut(&Job, Duration) -> Outcome>;

/// See the module.
pub(super) struct World {
    pub keeper: Keeper,
    pub now: Duration,
    /// How far the wall clock is ahead.
    pub jump: Duration,
    pub boards: Vec<Arc<Board>>,
    pub published: usize,
    /// What was started, and when.
    pub started: Vec<(Duration, Job)>,
    /// What was told, and when.
    pub told: Vec<(Duration, Story)>,
    pub released: Vec<(Duration, usize)>,
    pub statuses: Vec<(usize, bool)>,
    answer: Answer,
    ends: BTreeMap<(Duration, u64), (Job, Outcome)>,
}

impl World {
    pub fn new(setup: Setup, answer: impl FnMut(&Job, Duration) -> Outcome + 'static) -> Self {
        Self::with(setup, &Memory::default(), answer)
    }

    pub fn with(setup: Setup, memory: &Memory, answer: impl FnMut(&Job, Duration) -> Outcome + 'static) -> Self {
        let boards = setup.groups.iter().map(|group| Arc::new(Board::blank(group.members.len()))).collect();
        let mut world = Self {
            keeper: Keeper::new(setup, memory, Moment::default()),
            now: Duration::ZERO,
            jump: Duration::ZERO,
            boards,
            published: 0,
            started: Vec::new(),
            told: Vec::new(),
            released: Vec::new(),
            statuses: Vec::new(),
            answer: Box::new(answer),
            ends: BTreeMap::new(),
        };
        world.until(Duration::ZERO);
        world
    }

    pub fn moment(&self) -> Moment {
        Moment { steady: self.now, wall: 1_700_000_000 * SECOND + self.now + self.jump }
    }

    /// Answers differently from now on; what runs already ends as it would have.
    pub fn answer(&mut self, answer: impl FnMut(&Job, Duration) -> Outcome + 'static) {
        self.answer = Box::new(answer);
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.until(self.now + time);
    }

    /// Lets time pass until this moment.
    pub fn until(&mut self, end: Duration) {
        let mut turns = 0;
        loop {
            let wake = self.keeper.next_wake().map(|at| at.max(self.now));
            let done = self.ends.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = [wake, done].into_iter().flatten().min().filter(|at| *at <= end) else { break };
            turns = if next == self.now { turns + 1 } else { 0 };
            assert!(turns < 10_000, "the keeper spins at {next:?}: {:?}", self.lines());
            self.now = next;
            let mut acts = Vec::new();
            if done == Some(next) {
                if let Some((_, (job, outcome))) = self.ends.pop_first() {
                    self.keeper.done(job, outcome, self.moment(), &mut acts);
                }
            } else {
                self.keeper.wake(self.moment(), &mut acts);
            }
            self.perform(acts);
        }
        self.now = end;
    }

    pub fn saw(&mut self, member: usize, what: Evidence) {
        self.saw_on(member, Network::Tcp, what);
    }

    pub fn saw_on(&mut self, member: usize, network: Network, what: Evidence) {
        let mut acts = Vec::new();
        self.keeper.saw(0, Seen { member, network, what }, self.moment(), &mut acts);
        self.perform(acts);
    }

    pub fn order(&mut self, order: &Order) -> Result<(), Refusal> {
        let mut acts = Vec::new();
        let result = self.keeper.order(0, order, self.moment(), &mut acts);
        self.perform(acts);
        result
    }

    pub fn status(&mut self, subject: usize, up: bool) {
        let mut acts = Vec::new();
        self.keeper.status(subject, up, self.moment(), &mut acts);
        self.perform(acts);
    }

    pub fn remember(&self) -> Memory {
        let mut memory = Memory::default();
        self.keeper.remember(self.moment(), &mut memory);
        memory
    }

    fn perform(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Start(job) => {
                    let outcome = (self.answer)(&job, self.now);
                    let took = match &outcome {
                        Outcome::Done(sample) => sample.time,
                        Outcome::Failed { took, .. } => *took,
                    };
                    self.started.push((self.now, job));
                    self.ends.insert((self.now + took, job.id), (job, outcome));
                }
                Act::Publish(group, board) => {
                    self.published += 1;
                    self.boards[group] = board;
                }
                Act::Release(group) => self.released.push((self.now, group)),
                Act::Status(group, up) => self.statuses.push((group, up)),
                Act::Tell(story) => self.told.push((self.now, story)),
            }
        }
    }

    pub fn board(&self) -> &Board {
        &self.boards[0]
    }

    pub fn serving(&self) -> Option<usize> {
        self.board().serving()
    }

    pub fn scores(&self) -> Vec<f64> {
        self.board().members.iter().filter_map(|state| state.score).collect()
    }

    /// Lines that were told, measurements left out.
    pub fn lines(&self) -> Vec<String> {
        let told = self.told.iter().filter(|(_, story)| !matches!(story, Story::Measured { .. }));
        told.map(|(_, story)| story.to_string()).collect()
    }

    /// How many lines hold these words.
    pub fn count(&self, words: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(words)).count()
    }

    /// Starts of measurements of a member, in seconds.
    pub fn starts(&self, subject: usize) -> Vec<f64> {
        let of = self.started.iter().filter(|(_, job)| job.subject == Some(subject));
        of.map(|(at, _)| (at.as_secs_f64() * 100.0).round() / 100.0).collect()
    }
}
