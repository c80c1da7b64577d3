//! What a keeper has to tell: the same words for the log, the journal and whoever asks why.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, Kind, Outcome};
use crate::addr::Tag;

/// One thing that happened, told about a member and, where it is a choice, a balancer.
#[derive(Debug, Clone, PartialEq)]
pub enum Story {
    /// A measurement ended.
    Measured {
        /// Whose.
        member: Tag,
        /// Which.
        job: Job,
        /// How it ended.
        outcome: Outcome,
    },
    /// A round ended: one line a member with every term of its score.
    Scored {
        /// The balancer.
        balancer: Tag,
        /// Which member.
        member: Tag,
        /// The whole line (DECISIONS 31).
        line: Arc<str>,
    },
    /// Who serves, after a round or in between.
    Serving {
        /// The balancer.
        balancer: Tag,
        /// Who.
        member: Tag,
        /// Whether that is a change, or the first word on it.
        changed: bool,
        /// The whole line (DECISIONS 31).
        line: Arc<str>,
    },
    /// A member turned: `balancer member <tag> is now up`, or down. People grep for it.
    Turned {
        /// Who.
        member: Tag,
        /// Up or down.
        up: bool,
    },
    /// A member was suspected, ejected or returned, or came under quarantine again.
    Guarded {
        /// Who.
        member: Tag,
        /// What happened and why.
        line: Arc<str>,
        /// Whether a person should read it.
        loud: bool,
    },
    /// Something about the whole: an outage began or ended, the test target does not answer, a round was discarded.
    Noted {
        /// What.
        line: Arc<str>,
        /// Whether it is a warning.
        warn: bool,
    },
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { member, job, outcome } => match (outcome, job.kind) {
                (Outcome::Done(sample), Kind::Test) => write!(
                    f,
                    "test of {member}: round {} attempt {} bytes={} time_ms={} dial_ms={} status={}",
                    job.round,
                    job.attempt,
                    sample.bytes,
                    sample.time.as_millis(),
                    sample.dial.as_millis(),
                    sample.status
                ),
                (Outcome::Done(sample), _) => write!(f, "{member} answered after {} ms", millis(sample.time)),
                (Outcome::Failed { took, why, .. }, _) => {
                    write!(f, "{member} failed after {} ms: {why}", millis(*took))
                }
            },
            Self::Scored { line, .. }
            | Self::Serving { line, .. }
            | Self::Guarded { line, .. }
            | Self::Noted { line, .. } => f.write_str(line),
            Self::Turned { member, up } => {
                write!(f, "balancer member {member} is now {}", if *up { "up" } else { "down" })
            }
        }
    }
}

/// Rounded, so that what happens in memory does not read as 0 ms without need.
pub(super) fn millis(time: Duration) -> u128 {
    (time.as_micros() + 500) / 1000
}
