//! How a board becomes a choice. One short arm a strategy; the match is the list of what there is.
//!
//! The keeper ranks, this chooses: whoever wants to know why a member leads asks the board, and what is here is only who
//! of the leaders takes this flow.

use rand::{Rng, RngExt};

use super::ask::Ask;
use super::board::{Board, Life};
use super::hrw;
use super::member::Member;
use super::turn::Turn;
use crate::addr::Network;

/// How a balancer chooses among its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The head of the ranking: speed, steadiness and availability over several tests.
    Adaptive,
    /// The first member that works, in list order.
    Failover,
    /// The member that the flow's key belongs to.
    Hrw {
        /// Only so many of the best of the ranking compete; 0 is all.
        top: u32,
    },
    /// One of the first of the ranking, all alike: as many as the board says are taken.
    LeastLoad,
    /// The head of the ranking: who answered fastest.
    LeastPing,
    /// The head of the ranking: who won the last speed test.
    Optimal,
    /// Any member that works, by weight.
    Random,
    /// The members that work, one after the other, by weight.
    RoundRobin,
}

impl Strategy {
    /// All of them, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::Adaptive,
        Self::Failover,
        Self::Hrw { top: 0 },
        Self::LeastLoad,
        Self::LeastPing,
        Self::Optimal,
        Self::Random,
        Self::RoundRobin,
    ];

    /// The name used in logs and in TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Failover => "failover",
            Self::Hrw { .. } => "hrw",
            Self::LeastLoad => "least_load",
            Self::LeastPing => "least_ping",
            Self::Optimal => "optimal",
            Self::Random => "random",
            Self::RoundRobin => "round_robin",
        }
    }

    /// Chooses a member that works and fits; `None` when there is none.
    pub(super) fn pick(
        self,
        members: &[Member],
        board: &Board,
        ask: Ask,
        turn: &Turn,
        rng: &mut impl Rng,
    ) -> Option<usize> {
        let fit = |&at: &usize| ask.open(members, at) && board.usable(at, ask.network);
        match self {
            Self::Adaptive | Self::LeastPing | Self::Optimal => ranked(members, board).find(fit),
            Self::Failover => (0..members.len()).find(fit),
            Self::Hrw { top } => {
                let first = || (0..members.len()).find(fit);
                hrw::best(ask.key, members, competing(top, members, board, fit)).or_else(first)
            }
            Self::LeastLoad => least_load(members, board, fit, rng),
            Self::Random => random(members, fit, rng),
            // Members of weight 0 have no turn, but serve where nobody else can.
            Self::RoundRobin => turn.next(fit).or_else(|| (0..members.len()).find(fit)),
        }
    }

    /// The members among which flows of bytes are shared out now; none where a single one serves.
    pub(super) fn shared(self, members: &[Member], board: &Board) -> Vec<usize> {
        let usable = |at: &usize| board.usable(*at, Network::Tcp);
        let weighs = |at: &usize| usable(at) && members[*at].weight > 0;
        match self {
            Self::Adaptive | Self::Failover | Self::LeastPing | Self::Optimal => vec![],
            Self::Hrw { top } => competing(top, members, board, weighs).collect(),
            Self::LeastLoad => taken(board).iter().copied().filter(usable).collect(),
            Self::Random | Self::RoundRobin => (0..members.len()).filter(weighs).collect(),
        }
    }

    /// The choice when every member that fits is known to be dead, or the strategy would have none of them: the group is
    /// never left (DECISIONS 7). Fenced members take no flow even then.
    pub(super) fn last_resort(self, members: &[Member], board: &Board, ask: Ask) -> Option<usize> {
        let fenced = |at: usize| board.members.get(at).is_some_and(|state| state.fenced);
        let fits = |&at: &usize| ask.open(members, at) && !fenced(at);
        let last_up = || board.last_up.filter(fits);
        let first = || (0..members.len()).find(fits);
        match self {
            Self::Failover | Self::RoundRobin => first(),
            Self::Adaptive | Self::Optimal => ranked(members, board).find(fits),
            Self::LeastLoad => {
                let works = |&at: &usize| fits(&at) && board.usable(at, ask.network);
                ranked(members, board).find(works).or_else(last_up).or_else(|| ranked(members, board).find(fits))
            }
            Self::LeastPing => last_up().or_else(|| ranked(members, board).find(fits)),
            Self::Hrw { .. } => {
                let all = || (0..members.len()).filter(fits);
                last_up().or_else(|| hrw::best(ask.key, members, all())).or_else(first)
            }
            Self::Random => last_up().or_else(first),
        }
    }
}

/// The members by rank. A board without ranking is one from before the first result: list order.
fn ranked<'a>(members: &[Member], board: &'a Board) -> impl Iterator<Item = usize> + use<'a> {
    board.ranking.iter().copied().chain(0..members.len())
}

/// The head of the ranking that shares flows.
fn taken(board: &Board) -> &[usize] {
    board.ranking.get(..board.taken).unwrap_or(&board.ranking)
}

/// The best of those that fit, or all of them.
fn competing<'a>(
    top: u32,
    members: &[Member],
    board: &'a Board,
    fit: impl Fn(&usize) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    // Whoever ranks members ranks them all; before the first result nobody is ranked, and all compete.
    let (ranking, limit): (&[usize], usize) = if top == 0 { (&[], usize::MAX) } else { (&board.ranking, top as usize) };
    let (rest, limit) = if ranking.is_empty() { (members.len(), usize::MAX) } else { (0, limit) };
    ranking.iter().copied().chain(0..rest).filter(fit).take(limit)
}

/// One of those taken, by chance; where none of them works, the next of the ranking. Where members were measured and
/// nobody is taken, the strategy has no answer, so that a fallback gets the flow.
fn least_load(members: &[Member], board: &Board, fit: impl Fn(&usize) -> bool, rng: &mut impl Rng) -> Option<usize> {
    let taken = taken(board);
    let candidates = || taken.iter().copied().filter(&fit);
    match candidates().count() {
        0 if taken.is_empty() && board.members.iter().any(|state| state.life == Life::Up) => None,
        0 => ranked(members, board).find(fit),
        count => candidates().nth(rng.random_range(0..count)),
    }
}

/// A candidate by chance, by weight. Walked twice rather than collected: a pick allocates nothing.
fn random(members: &[Member], fit: impl Fn(&usize) -> bool, rng: &mut impl Rng) -> Option<usize> {
    let candidates = || (0..members.len()).filter(&fit);
    let weight = |at: usize| u64::from(members[at].weight);
    let total: u64 = candidates().map(weight).sum();
    if total == 0 {
        // Nothing but weights of 0, or nothing at all.
        return candidates().next();
    }
    let mut left = rng.random_range(0..total);
    candidates().find(|&at| match left.checked_sub(weight(at)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}

#[cfg(test)]
mod tests;
