//! What is known of the members of one balancer at one moment.
//!
//! A board is made whole and then only read: whoever learns something makes the next one. So a pick sees one moment,
//! never half of an update.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::addr::{Network, Tag};

/// Whether a member is known to work. What nobody has tested counts as working (DECISIONS 7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Whether a member takes part, beside being alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stand {
    /// It does.
    #[default]
    In,
    /// Guards took it out; it returns after its quarantine and two signs of life.
    Ejected {
        /// The end of its quarantine, on the keeper's clock.
        until: Duration,
        /// How often it was ejected in the last half hour.
        times: u32,
    },
}

/// The terms of a member's score, for whoever wants to see why. Seconds, except where a name says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Weighted mean of the dial.
    pub dial: f64,
    /// Its weighted deviation.
    pub dial_deviation: f64,
    /// Weighted mean of the rest of a test.
    pub body: f64,
    /// Its weighted deviation.
    pub body_deviation: f64,
    /// What a test costs in effect: both means and what unsteadiness adds.
    pub tau: f64,
    /// Share of tests that succeed, smoothed; 0 to 1.
    pub availability: f64,
    /// Tests behind these numbers.
    pub tests: u32,
    /// Dials of real flows behind them.
    pub dials: u32,
}

/// Plain statistics of a member's newest results. Times are of successes only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Results.
    pub all: u32,
    /// Failures among them.
    pub failed: u32,
    /// Mean time.
    pub average: Duration,
    /// Population deviation.
    pub deviation: Duration,
    /// Shortest.
    pub least: Duration,
    /// Longest.
    pub most: Duration,
}

/// What is known of one member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Whether it works.
    pub life: Life,
    /// Whether it works for datagrams, where that was seen apart from streams.
    pub life_udp: Life,
    /// Whether it takes part.
    pub stand: Stand,
    /// Whether it was fenced: it takes no new flow, running ones go on.
    pub fenced: bool,
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
    /// Rate times weight, or what else the strategy goes by.
    pub score: Option<f64>,
    /// The terms of the score, where it has several.
    pub terms: Option<Terms>,
    /// Statistics of its results, where something keeps them.
    pub stats: Stats,
    /// How long a flow's dial may take before the next member is tried; absent: the usual limit.
    pub dial_limit: Option<Duration>,
    /// Why its last test or dial failed.
    pub last_error: Option<Arc<str>>,
    /// When something last succeeded, on the keeper's clock.
    pub last_seen: Option<Duration>,
    /// When something was last tried.
    pub last_tried: Option<Duration>,
    /// When it is tested next.
    pub next: Option<Duration>,
}

impl State {
    /// Whether new flows of this kind may use it.
    #[must_use]
    pub fn usable(&self, network: Network) -> bool {
        let life = match (network, self.life_udp) {
            (Network::Udp, known @ (Life::Up | Life::Down)) => known,
            _ => self.life,
        };
        life.usable() && self.stand == Stand::In && !self.fenced
    }
}

/// A member that a person chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Who.
    pub member: usize,
    /// Until when, on the keeper's clock.
    pub until: Option<Duration>,
    /// Even when it is dead.
    pub strict: bool,
}

/// One change of who serves, or of who takes part, with its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// When, on the wall clock, in milliseconds since 1970.
    pub wall_ms: u64,
    /// Who it is about: who serves now, or who was ejected, returned, died, revived.
    pub member: Tag,
    /// What was decided and why, as the log says it.
    pub what: Arc<str>,
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
    /// How many of the ranking share new flows alike (`least_load`); 0 where its head serves alone.
    pub taken: usize,
    /// The member that was last seen working, for the moment when none works.
    pub last_up: Option<usize>,
    /// Who was pinned.
    pub pin: Option<Pin>,
    /// The last decisions, oldest first, at most [`Board::DECISIONS`].
    pub decisions: Arc<[Decision]>,
    /// Why who serves does so, as the log says it.
    pub why: Option<Arc<str>>,
    /// When the next round begins, on the keeper's clock.
    pub next_round: Option<Duration>,
    /// Whether nothing answers at all, so that nothing is changed until something does.
    pub outage: bool,
    /// When this board was made, on the keeper's clock.
    pub made: Duration,
}

impl Board {
    /// How many decisions are remembered.
    pub const DECISIONS: usize = 32;

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
    pub fn usable(&self, member: usize, network: Network) -> bool {
        self.members.get(member).is_none_or(|state| state.usable(network))
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
        assert!(board.usable(0, Network::Tcp) && board.usable(1, Network::Udp) && !board.all_down());
        assert_eq!(board.serving(), None);
        assert!(!Board::blank(0).all_down(), "an empty group is not a dead one");
    }
}
