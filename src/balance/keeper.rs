//! The keeper of a group of members: what to measure when, what results and real flows mean, and who serves.
//!
//! Balancers with equal probe settings share one keeper, so that nothing is measured twice and all see one truth. The
//! keeper is sans-io: it asks for measurements and is told their ends; time is an argument. One owner drives it:
//!
//! 1. sleep until [`Keeper::next_wake`], then [`Keeper::wake`];
//! 2. for every [`Act::Start`] make the measurement and give its end to [`Keeper::done`];
//! 3. give what real flows show to [`Keeper::saw`], and orders of a person to [`Keeper::order`];
//! 4. do what every other [`Act`] says, in their order.

use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use super::job::{Job, Outcome};
use super::memory::Memory;
use super::order::{Order, Refusal};
use super::seen::Seen;
use super::setup::Setup;
use super::story::Story;

/// A moment on both clocks. The monotonic one, counted from the keeper's making, schedules; the wall clock, counted from
/// 1970, alone shows that the machine was asleep, and dates decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Never jumps, may stand still while the machine sleeps.
    pub steady: Duration,
    /// May jump.
    pub wall: Duration,
}

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
}

impl Keeper {
    /// A keeper that begins now, with what is remembered of members whose definition is the same.
    #[must_use]
    pub fn new(setup: Setup, _memory: &Memory, _now: Moment) -> Self {
        Self { setup }
    }

    /// What it is made of.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// When [`Self::wake`] has something to do next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        None
    }

    /// Does what is due.
    pub fn wake(&mut self, _now: Moment, _acts: &mut Vec<Act>) {}

    /// Takes the end of a measurement.
    pub fn done(&mut self, _job: Job, _outcome: Outcome, _now: Moment, _acts: &mut Vec<Act>) {}

    /// Takes what a real flow of a group shows.
    pub fn saw(&mut self, _group: usize, _seen: Seen, _now: Moment, _acts: &mut Vec<Act>) {}

    /// Takes the word of a balancer that is a member: whether at least one of its own members is up.
    pub fn status(&mut self, _subject: usize, _up: bool, _now: Moment, _acts: &mut Vec<Act>) {}

    /// Follows an order of a person.
    ///
    /// # Errors
    /// [`Refusal`] where it cannot be followed; nothing was changed then.
    pub fn order(&mut self, _group: usize, _order: &Order, _now: Moment, _acts: &mut Vec<Act>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Writes down what is known.
    pub fn remember(&self, _now: Moment, _memory: &mut Memory) {}
}
