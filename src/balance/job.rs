//! A measurement: what is asked for, and how it ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::sample::Sample;

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
