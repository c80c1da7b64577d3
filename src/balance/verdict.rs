//! What a round decided, and the lines that tell it (DECISIONS 31).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::board::{Board, State};
use super::member::Member;
use super::reason::Reason;

/// The end of a round, or an early word of the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Who served before.
    pub was: Option<usize>,
    /// Why the head of the board's ranking serves now.
    pub reason: Reason,
    /// Whether no round had ended before.
    pub first: bool,
    /// What is known from now on.
    pub board: Arc<Board>,
}

impl Verdict {
    /// Whether another member serves than before.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.board.serving() != self.was
    }

    /// `optimal B round N: member M bytes=… time_ms=… rate=…B/s weight=… score=…`
    #[must_use]
    pub fn member_line<'a>(&'a self, balancer: &'a str, members: &'a [Member], at: usize) -> impl fmt::Display + 'a {
        struct Line<'a>(&'a Verdict, &'a str, &'a [Member], usize);
        impl fmt::Display for Line<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self(verdict, balancer, members, at) = self;
                let Some(state) = verdict.board.members.get(*at) else { return Ok(()) };
                let State { bytes, time, weight, .. } = state;
                write!(f, "optimal {balancer} round {}: member {} ", verdict.round(), tag(members, *at))?;
                write!(f, "bytes={bytes} time_ms={} rate={:.0}B/s ", millis(*time), state.rate.unwrap_or(0.0))?;
                write!(f, "weight={weight} score={:.0}", state.score.unwrap_or(0.0))
            }
        }
        Line(self, balancer, members, at)
    }

    /// `optimal B round N: serving M score=… (was K score=…): reason`; both scores are of this round.
    #[must_use]
    pub fn serving_line<'a>(&'a self, balancer: &'a str, members: &'a [Member]) -> impl fmt::Display + 'a {
        struct Line<'a>(&'a Verdict, &'a str, &'a [Member]);
        impl fmt::Display for Line<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self(verdict, balancer, members) = self;
                write!(f, "optimal {balancer} round {}: serving ", verdict.round())?;
                verdict.named(f, members, verdict.board.serving())?;
                f.write_str(" (was ")?;
                verdict.named(f, members, verdict.was)?;
                write!(f, "): {}", verdict.reason)
            }
        }
        Line(self, balancer, members)
    }

    /// The round this belongs to; an early word belongs to the round that still runs.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.board.round.max(1)
    }

    fn named(&self, f: &mut fmt::Formatter<'_>, members: &[Member], at: Option<usize>) -> fmt::Result {
        let Some(at) = at else { return f.write_str("none") };
        f.write_str(tag(members, at))?;
        match self.board.members.get(at).and_then(|state| state.score) {
            Some(score) => write!(f, " score={score:.0}"),
            None => f.write_str(" score=?"),
        }
    }
}

fn tag(members: &[Member], at: usize) -> &str {
    members.get(at).map_or("?", |member| member.tag.as_str())
}

fn millis(time: Duration) -> u128 {
    // Rounded, so that a test in memory does not read as 0 ms without need.
    (time.as_micros() + 500) / 1000
}
