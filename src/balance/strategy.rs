//! How a board becomes a choice. One short arm a strategy; the match is the list of what is built.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{Rng, RngExt};

use super::board::Board;
use super::member::Member;
use crate::addr::Network;

/// What a strategy may know of the flow that asks.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// What the flow carries; members that cannot carry it are no candidates.
    pub network: Network,
}

impl Ask {
    /// A flow of bytes.
    pub const TCP: Self = Self { network: Network::Tcp };
    /// A flow of datagrams.
    pub const UDP: Self = Self { network: Network::Udp };

    /// Whether the member can carry this flow at all.
    #[must_use]
    pub fn fits(self, member: &Member) -> bool {
        self.network != Network::Udp || member.udp
    }
}

/// How a balancer chooses among its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The first member that works, in list order.
    Failover,
    /// The head of the board's ranking: who won the last speed test.
    Optimal,
    /// Any member that works, all alike.
    Random,
    /// The members that work, one after the other.
    RoundRobin,
}

impl Strategy {
    /// The name used in logs and in TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failover => "failover",
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
        turn: &AtomicUsize,
        rng: &mut impl Rng,
    ) -> Option<usize> {
        let fit = |&at: &usize| members.get(at).is_some_and(|member| ask.fits(member)) && board.usable(at);
        match self {
            Self::Failover => (0..members.len()).find(fit),
            // A board without ranking is one from before the first round: list order.
            Self::Optimal => board.ranking.iter().copied().chain(0..members.len()).find(fit),
            Self::Random => random(members.len(), fit, rng),
            Self::RoundRobin => next_in_turn(members.len(), fit, turn),
        }
    }

    /// The choice when every member that fits is known to be dead: the group is never left (DECISIONS 7).
    pub(super) fn last_resort(self, members: &[Member], board: &Board, ask: Ask) -> Option<usize> {
        let fits = |&at: &usize| members.get(at).is_some_and(|member| ask.fits(member));
        let first = || (0..members.len()).find(fits);
        match self {
            Self::Failover | Self::RoundRobin => first(),
            Self::Optimal => board.ranking.iter().copied().find(fits).or_else(first),
            Self::Random => board.last_up.filter(fits).or_else(first),
        }
    }
}

fn random(members: usize, fit: impl Fn(&usize) -> bool, rng: &mut impl Rng) -> Option<usize> {
    // Counted and walked twice rather than collected: a pick allocates nothing.
    let candidates = (0..members).filter(&fit).count();
    if candidates == 0 {
        return None;
    }
    (0..members).filter(fit).nth(rng.random_range(0..candidates))
}

/// The first candidate at or behind the shared cursor. The cursor is a place in the list, not a count, so the rotation
/// stays even when a member drops out or returns.
fn next_in_turn(members: usize, fit: impl Fn(&usize) -> bool, turn: &AtomicUsize) -> Option<usize> {
    let mut from = turn.load(Ordering::Relaxed);
    loop {
        let chosen = (from..members).chain(0..from.min(members)).find(&fit)?;
        match turn.compare_exchange_weak(from, (chosen + 1) % members, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(chosen),
            Err(now) => from = now,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::super::board::{Life, State};
    use super::*;
    use crate::addr::OutboundId;

    const STRATEGIES: [Strategy; 4] = [Strategy::Failover, Strategy::Optimal, Strategy::Random, Strategy::RoundRobin];

    fn members(n: u32) -> Vec<Member> {
        (0..n).map(|id| Member { tag: format!("m{id}").into(), id: OutboundId(id), udp: true }).collect()
    }

    fn board(lives: &[Life]) -> Board {
        Board {
            members: lives.iter().map(|&life| State { life, ..State::default() }).collect(),
            ranking: (0..lives.len()).collect(),
            ..Board::default()
        }
    }

    fn picks(strategy: Strategy, members: &[Member], board: &Board, n: usize) -> Vec<usize> {
        let (turn, mut rng) = (AtomicUsize::new(0), SmallRng::seed_from_u64(7));
        (0..n).map(|_| strategy.pick(members, board, Ask::TCP, &turn, &mut rng).unwrap()).collect()
    }

    #[test]
    fn failover_takes_the_first_that_works() {
        let m = members(3);
        assert_eq!(picks(Strategy::Failover, &m, &board(&[Life::Untested; 3]), 2), [0, 0]);
        assert_eq!(picks(Strategy::Failover, &m, &board(&[Life::Down, Life::Untested, Life::Up]), 1), [1]);
    }

    #[test]
    fn round_robin_rotates_in_list_order_over_those_that_work() {
        let m = members(3);
        assert_eq!(picks(Strategy::RoundRobin, &m, &board(&[Life::Untested; 3]), 5), [0, 1, 2, 0, 1]);
        assert_eq!(picks(Strategy::RoundRobin, &m, &board(&[Life::Up, Life::Down, Life::Up]), 4), [0, 2, 0, 2]);
    }

    #[test]
    fn round_robin_stays_even_while_members_come_and_go() {
        let m = members(4);
        let (turn, mut rng) = (AtomicUsize::new(0), SmallRng::seed_from_u64(1));
        let mut served = [0u32; 4];
        for step in 0..4000 {
            // Member 3 flaps; the other three must still share alike.
            let life = if step % 7 < 3 { Life::Down } else { Life::Up };
            let board = board(&[Life::Up, Life::Up, Life::Up, life]);
            served[Strategy::RoundRobin.pick(&m, &board, Ask::TCP, &turn, &mut rng).unwrap()] += 1;
        }
        let (least, most) = (served[..3].iter().min().unwrap(), served[..3].iter().max().unwrap());
        assert!(most - least <= 1, "{served:?}");
    }

    #[test]
    fn round_robin_survives_a_cursor_from_a_longer_list() {
        let m = members(2);
        let turn = AtomicUsize::new(9);
        let mut rng = SmallRng::seed_from_u64(1);
        let board = Board::blank(2);
        assert_eq!(Strategy::RoundRobin.pick(&m, &board, Ask::TCP, &turn, &mut rng), Some(0));
        assert_eq!(Strategy::RoundRobin.pick(&m, &board, Ask::TCP, &turn, &mut rng), Some(1));
    }

    #[test]
    fn random_is_even_and_skips_the_dead() {
        let m = members(4);
        let mut served = [0u32; 4];
        for at in picks(Strategy::Random, &m, &board(&[Life::Up, Life::Down, Life::Untested, Life::Up]), 30_000) {
            served[at] += 1;
        }
        assert_eq!(served[1], 0);
        for at in [0, 2, 3] {
            assert!((9_600..10_400).contains(&served[at]), "{served:?}");
        }
    }

    #[test]
    fn with_all_dead_the_group_is_not_left() {
        let m = members(3);
        let mut dead = board(&[Life::Down; 3]);
        dead.last_up = Some(2);
        dead.ranking = [1, 0, 2].into();
        let (turn, mut rng) = (AtomicUsize::new(0), SmallRng::seed_from_u64(1));
        for strategy in STRATEGIES {
            assert_eq!(strategy.pick(&m, &dead, Ask::TCP, &turn, &mut rng), None, "{strategy:?}");
        }
        let last = |strategy: Strategy| strategy.last_resort(&m, &dead, Ask::TCP);
        assert_eq!(last(Strategy::Failover), Some(0));
        assert_eq!(last(Strategy::RoundRobin), Some(0));
        assert_eq!(last(Strategy::Optimal), Some(1), "the one that served");
        assert_eq!(last(Strategy::Random), Some(2), "the one last seen alive");
    }

    #[test]
    fn datagrams_go_only_to_members_that_carry_them() {
        let mut m = members(3);
        m[0].udp = false;
        let board = board(&[Life::Up; 3]);
        let (turn, mut rng) = (AtomicUsize::new(0), SmallRng::seed_from_u64(3));
        for strategy in STRATEGIES {
            for _ in 0..20 {
                assert_ne!(strategy.pick(&m, &board, Ask::UDP, &turn, &mut rng), Some(0), "{strategy:?}");
            }
        }
        m.iter_mut().for_each(|member| member.udp = false);
        for strategy in STRATEGIES {
            assert_eq!(strategy.pick(&m, &board, Ask::UDP, &turn, &mut rng), None);
            assert_eq!(strategy.last_resort(&m, &board, Ask::UDP), None);
        }
    }
}
