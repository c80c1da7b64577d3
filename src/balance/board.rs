//! What is known of the members of one balancer at one moment.
//!
//! A board is made whole and then only read: whoever learns something makes the next one. So a pick sees one moment,
//! never half of an update.

use std::time::Duration;

/// Whether a member is known to work. What nobody has tested counts as working (DECISIONS 7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Life {
    /// Nobody has tested it yet.
    #[default]
    Untested,
    /// Its last test succeeded.
    Up,
    /// Its last test failed.
    Down,
}

impl Life {
    /// Whether picks may use it: all but those known to be dead.
    #[must_use]
    pub fn usable(self) -> bool {
        self != Self::Down
    }
}

/// What is known of one member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Whether it works.
    pub life: Life,
    /// How long its dial took in the last successful test.
    pub delay: Option<Duration>,
    /// Average speed in the last round, in bytes per second; 0 when no attempt succeeded.
    pub rate: Option<f64>,
    /// Body bytes of the successful attempts of the last round.
    pub bytes: u64,
    /// Time the attempts of the last round took together.
    pub time: Duration,
    /// What the rate is multiplied with.
    pub weight: u32,
    /// Rate times weight.
    pub score: Option<f64>,
}

/// What is known of all members; members are named by their place in the balancer's list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Board {
    /// The newest round whose results are shown, counted from 1; 0 before the first result.
    pub round: u64,
    /// One state a member, in list order.
    pub members: Box<[State]>,
    /// All members, the one that serves first. Empty when the strategy ranks nothing.
    pub ranking: Box<[usize]>,
    /// The member that was last seen working, for the moment when none works.
    pub last_up: Option<usize>,
}

impl Board {
    /// A board on which nothing is known of `members` members.
    #[must_use]
    pub fn blank(members: usize) -> Self {
        Self { members: vec![State::default(); members].into(), ..Self::default() }
    }

    /// A blank board that shows these weights and keeps list order as its ranking.
    #[must_use]
    pub fn weighted(weights: impl IntoIterator<Item = u32>) -> Self {
        let members: Box<[State]> = weights.into_iter().map(|weight| State { weight, ..State::default() }).collect();
        Self { ranking: (0..members.len()).collect(), members, ..Self::default() }
    }

    /// The member that serves, where the strategy ranks members.
    #[must_use]
    pub fn serving(&self) -> Option<usize> {
        self.ranking.first().copied()
    }

    /// Whether picks may use the member.
    #[must_use]
    pub fn usable(&self, member: usize) -> bool {
        self.members.get(member).is_none_or(|state| state.life.usable())
    }

    /// Whether every member is known to be dead.
    #[must_use]
    pub fn all_down(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|state| state.life == Life::Down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_known_means_usable() {
        let board = Board::blank(2);
        assert!(board.usable(0) && board.usable(1) && !board.all_down());
        assert_eq!(board.serving(), None);
        assert!(!Board::blank(0).all_down(), "an empty group is not a dead one");
    }
}
