//! The keeper of a group of members: what to measure when, what results and real flows mean, and who serves.
//!
//! Balancers with equal probe settings share one keeper, so that nothing is measured twice and all see one truth. The
//! keeper is sans-io: it asks for measurements and is told their ends; time is an argument. One owner drives it:
//!
//! 1. sleep until [`Keeper::next_wake`], then [`Keeper::wake`];
//! 2. for every [`Act::Start`] make the measurement and give its end to [`Keeper::done`];
//! 3. give what real flows show to [`Keeper::saw`], and orders of a person to [`Keeper::order`];
//! 4. do what every other [`Act`] says, in their order.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use super::memory::Memory;
use super::optimal::Sample;
use super::order::{Order, Refusal};
use super::seen::Seen;
use super::story::Story;
use crate::addr::{Hop, Tag};

/// A moment on both clocks. The monotonic one, counted from the keeper's making, schedules; the wall clock, counted from
/// 1970, alone shows that the machine was asleep, and dates decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Never jumps, may stand still while the machine sleeps.
    pub steady: Duration,
    /// May jump.
    pub wall: Duration,
}

/// What a keeper is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Who can be measured: every member once, whichever balancers it belongs to.
    pub subjects: Vec<Subject>,
    /// The balancers.
    pub groups: Vec<Group>,
    /// What is measured when.
    pub plan: Plan,
    /// Settings of guards; those of each group say whether it wants them.
    pub guards: Guards,
    /// Whether measuring rests while no flow uses the members.
    pub idle: Option<Duration>,
    /// Print of the probe settings, under which results are remembered.
    pub print: u64,
    /// Chance: where jitter and random moments come from, so that a simulation can repeat them.
    pub seed: u64,
}

/// Somebody who can be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its tag.
    pub tag: Tag,
    /// Where it leads.
    pub hop: Hop,
    /// Whether the plan measures it; members that no observatory selects are not.
    pub watched: bool,
    /// Print of its definition.
    pub print: u64,
}

/// A balancer, as its keeper sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its tag.
    pub tag: Tag,
    /// Its members in list order, as places among the subjects; one may stand twice.
    pub members: Vec<usize>,
    /// One weight a member.
    pub weights: Vec<u32>,
    /// How members are ranked.
    pub rank: Rank,
    /// Whether evidence of death may eject and return members.
    pub guards: bool,
    /// How long flows may wait for the first result.
    pub wait: Option<Duration>,
    /// Members fenced by the configuration, as places in the list.
    pub fenced: Vec<usize>,
}

/// How members of a group are ranked.
#[derive(Debug, Clone, PartialEq)]
pub enum Rank {
    /// List order; a dead member returns after so many successes in a row.
    List {
        /// At least 1.
        returns: u32,
    },
    /// The shortest delay first (`least_ping`).
    Delay,
    /// `least_load`.
    Load(Load),
    /// Rate times weight of the last round (`optimal`).
    Rate,
    /// Speed, steadiness and availability over several tests.
    Adaptive(Adaptive),
}

/// Settings of `least_load`, with one factor of cost a member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// What a member's cost is multiplied with (its square root), in list order.
    pub costs: Vec<f64>,
    /// Costs under which members are taken together.
    pub baselines: Vec<Duration>,
    /// How many members to take.
    pub expected: i32,
    /// Average delay from which a member is left out.
    pub max_rtt: Option<Duration>,
    /// Share of failures from which a member is left out; 0 is off.
    pub tolerance: f64,
}

/// Settings of `adaptive`.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptive {
    /// Tests that count.
    pub window: usize,
    /// Age at which a test counts half; absent: 1.5 intervals, at least 300 s.
    pub half_life: Option<Duration>,
    /// How much unsteadiness costs.
    pub kappa: f64,
    /// How much failures cost.
    pub gamma: f64,
    /// By how much another must be better.
    pub margin: f64,
    /// Whether trouble on real flows starts a round early.
    pub early: bool,
}

/// What is measured when.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing; only what real flows show counts.
    Nothing,
    /// Full tests of all members together.
    Rounds(Rounds),
    /// Light probes, each member on its own rhythm: the next one `interval` after the end of the last.
    Beats {
        /// The pause.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// Whether first probes are spread over a part of the interval, and later ones jittered; the TCP check of the
        /// seed begins at once.
        spread: bool,
    },
    /// As Xray's `observatory`: one member after another with a pause after each, or all at once.
    Sweep {
        /// The pause.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// All at once.
        concurrent: bool,
    },
    /// As Xray's `burstObservatory`: random moments in a window of `interval` times `sampling`.
    Burst {
        /// Mean pause of a member.
        interval: Duration,
        /// Bound of one probe.
        timeout: Duration,
        /// Results kept, and probes a window.
        sampling: u32,
        /// Whether a failure is checked against a direct request before it counts.
        connectivity: bool,
    },
}

/// Rounds of full tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// From the end of a round to the start of the next.
    pub interval: Duration,
    /// Bound of one attempt.
    pub timeout: Duration,
    /// Attempts a member and round.
    pub count: u32,
    /// Extra rounds after the start.
    pub warmup: Vec<Duration>,
    /// Most of the start of a round that is spread over its members; 0: all start together (O1).
    pub stagger: Duration,
    /// Whether a second address can tell a dead test target from dead members (O17).
    pub second: bool,
}

/// Settings of guards (balancing rule 12.4).
#[derive(Debug, Clone, PartialEq)]
pub struct Guards {
    /// Whether light probes can be made, to confirm a suspicion and to return.
    pub probes: bool,
    /// Bound of one light probe.
    pub timeout: Duration,
    /// Quarantine of the first ejection; it doubles with each.
    pub quarantine: Duration,
    /// Longest quarantine.
    pub longest: Duration,
}

impl Default for Guards {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { probes: true, timeout: secs(5), quarantine: secs(30), longest: secs(600) }
    }
}

/// A measurement to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Its number; each has its own.
    pub id: u64,
    /// Of whom; of no one where the network itself is asked.
    pub subject: Option<usize>,
    /// What is done.
    pub kind: Kind,
    /// The round it belongs to, counted from 1; 0 outside rounds.
    pub round: u64,
    /// Which attempt of the round, counted from 1.
    pub attempt: u32,
    /// Bound of all of it.
    pub timeout: Duration,
}

/// What a measurement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The full test: a body through the member.
    Test,
    /// The plan's own light probe.
    Light,
    /// A light probe of the guards, where the plan itself makes none.
    Life,
    /// A light probe to the second address (O17).
    Second,
    /// A request that goes by no member, to see whether there is a network at all.
    Direct,
}

/// How a measurement ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Well. A light probe has no bytes, and its delay is `time`.
    Done(Sample),
    /// Not well.
    Failed {
        /// After how long.
        took: Duration,
        /// Why.
        why: Fail,
    },
}

impl Outcome {
    /// Whether it ended well.
    #[must_use]
    pub fn good(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// Why a measurement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fail {
    /// The member refused at once.
    Refused(Arc<str>),
    /// Not finished in time.
    Timeout(Duration),
    /// Something answered, but not well: a status, a broken body, a bad redirect.
    Answer(Arc<str>),
    /// Anything else.
    Other(Arc<str>),
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::Answer(text) | Self::Other(text) => f.write_str(text),
            Self::Timeout(limit) => write!(f, "not finished within {} ms", limit.as_millis()),
        }
    }
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
