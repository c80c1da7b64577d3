//! Why a member serves, in the words of the log.

use std::fmt;
use std::sync::Arc;

/// Why a member serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Better than the one that served by more than the margin.
    Ahead,
    /// Every score is 0; the member that served goes on.
    AllZero,
    /// Nobody works; the first of the list takes what comes.
    AllDown,
    /// The round counts for nothing, so what its first results moved goes back.
    Discarded,
    /// The member that served failed before any success of the first round.
    FirstFailed,
    /// The first success of the first round.
    FirstSuccess,
    /// It works, and nobody before it in the list does.
    FirstUp,
    /// Its score is the highest.
    Highest,
    /// Every score is 0, but this member works (its weight is 0).
    LastAlive,
    /// Its cost is the lowest.
    LeastCost,
    /// Its delay is the shortest.
    LeastDelay,
    /// The one that served takes no new flow any more, and it is the best of the others.
    Next,
    /// There is no other.
    OnlyMember,
    /// Its score is the highest, shared with others; it comes first in the list.
    TieFirst,
    /// Its score is the highest, shared with others; it served already.
    TieKept,
    /// Nothing is known yet; the first of the list serves.
    Unknown,
    /// It serves, and nobody is better by more than the margin.
    WithinMargin,
}

impl Reason {
    /// The same words, to be kept.
    pub(super) fn words(self) -> Arc<str> {
        self.as_str().into()
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Ahead => "better by more than the margin",
            Self::AllZero => "every score is 0, the serving member stays",
            Self::AllDown => "nobody works, the first of the list takes what comes",
            Self::Discarded => "the round does not count, who served before it goes on",
            Self::FirstFailed => "first round, the member before it failed",
            Self::FirstSuccess => "first success of the first round",
            Self::FirstUp => "first of the list that works",
            Self::Highest => "highest score",
            Self::LastAlive => "every score is 0, but this member works",
            Self::LeastCost => "lowest cost",
            Self::LeastDelay => "shortest delay",
            Self::Next => "the member before it was taken out",
            Self::OnlyMember => "only member",
            Self::TieFirst => "highest score, first of equals",
            Self::TieKept => "highest score, the serving one of equals",
            Self::Unknown => "nothing is known yet",
            Self::WithinMargin => "nobody is better by more than the margin",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
