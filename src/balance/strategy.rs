//! How a board becomes a choice. One short arm a strategy; the match is the list of what is built.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{Rng, RngExt};

use super::ask::Ask;
use super::board::Board;
use super::member::{Member, rotation};
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
        turn: &Turn,
        rng: &mut impl Rng,
    ) -> Option<usize> {
        let fit = |&at: &usize| ask.open(members, at) && board.usable(at, ask.network);
        match self {
            Self::Failover => (0..members.len()).find(fit),
            // A board without ranking is one from before the first round: list order.
            Self::Optimal => board.ranking.iter().copied().chain(0..members.len()).find(fit),
            Self::Random => random(members, fit, rng),
            // Members of weight 0 have no turn, but serve where nobody else can.
            Self::RoundRobin => turn.next(fit).or_else(|| (0..members.len()).find(fit)),
        }
    }

    /// The choice when every member that fits is known to be dead: the group is never left (DECISIONS 7).
    pub(super) fn last_resort(self, members: &[Member], board: &Board, ask: Ask) -> Option<usize> {
        let fits = |&at: &usize| ask.open(members, at);
        let first = || (0..members.len()).find(fits);
        match self {
            Self::Failover | Self::RoundRobin => first(),
            Self::Optimal => board.ranking.iter().copied().find(fits).or_else(first),
            Self::Random => board.last_up.filter(fits).or_else(first),
        }
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

/// The rotation of round robin with its shared cursor. The cursor is a place in the rotation, not a count of picks, so
/// shares stay even while members drop out and return.
#[derive(Debug)]
pub(super) struct Turn {
    rotation: Box<[u32]>,
    cursor: AtomicUsize,
}

impl Turn {
    pub(super) fn new(members: &[Member]) -> Self {
        let weights: Vec<u32> = members.iter().map(|member| member.weight).collect();
        Self { rotation: rotation(&weights), cursor: AtomicUsize::new(0) }
    }

    /// The first candidate at or behind the cursor.
    fn next(&self, fit: impl Fn(&usize) -> bool) -> Option<usize> {
        let len = self.rotation.len();
        let mut from = self.cursor.load(Ordering::Relaxed);
        loop {
            let place = (from..len).chain(0..from).find(|&place| fit(&self.at(place)))?;
            match self.cursor.compare_exchange_weak(from, (place + 1) % len, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(self.at(place)),
                Err(now) => from = now,
            }
        }
    }

    fn at(&self, place: usize) -> usize {
        self.rotation[place] as usize
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
        (0..n)
            .map(|id| Member { tag: format!("m{id}").into(), hop: OutboundId(id).into(), udp: true, weight: 100 })
            .collect()
    }

    fn board(lives: &[Life]) -> Board {
        Board {
            members: lives.iter().map(|&life| State { life, ..State::default() }).collect(),
            ranking: (0..lives.len()).collect(),
            ..Board::default()
        }
    }

    fn picks(strategy: Strategy, members: &[Member], board: &Board, n: usize) -> Vec<usize> {
        let (turn, mut rng) = (Turn::new(members), SmallRng::seed_from_u64(7));
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
        let (turn, mut rng) = (Turn::new(&m), SmallRng::seed_from_u64(1));
        let mut served = [0u32; 4];
        for step in 0..4000 {
            // Member 3 flaps; the other three must still share alike.
            let life = if step % 7 < 3 { Life::Down } else { Life::Up };
            let board = board(&[Life::Up, Life::Up, Life::Up, life]);
            served[Strategy::RoundRobin.pick(&m, &board, Ask::TCP, &turn, &mut rng).unwrap()] += 1;
        }
        // The flapping one takes turns of its own, never those of another.
        let (least, most) = (served[..3].iter().min().unwrap(), served[..3].iter().max().unwrap());
        assert!(most - least <= 1, "{served:?}");
    }

    #[test]
    fn round_robin_and_random_go_by_weights() {
        let mut m = members(3);
        (m[0].weight, m[1].weight, m[2].weight) = (200, 100, 0);
        let board = board(&[Life::Up; 3]);
        assert_eq!(picks(Strategy::RoundRobin, &m, &board, 6), [0, 1, 0, 0, 1, 0]);
        let first = picks(Strategy::Random, &m, &board, 30_000).iter().filter(|&&at| at == 0).count();
        assert!((19_600..20_400).contains(&first), "{first}");
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
        let (turn, mut rng) = (Turn::new(&m), SmallRng::seed_from_u64(1));
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
        let (turn, mut rng) = (Turn::new(&m), SmallRng::seed_from_u64(3));
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

    #[test]
    fn members_of_weight_0_serve_where_nobody_else_can() {
        let mut m = members(3);
        (m[1].weight, m[2].weight) = (0, 0);
        for strategy in [Strategy::Random, Strategy::RoundRobin] {
            assert_eq!(picks(strategy, &m, &board(&[Life::Down, Life::Up, Life::Up]), 2), [1, 1], "{strategy:?}");
        }
        m[0].weight = 0;
        assert_eq!(picks(Strategy::RoundRobin, &m, &board(&[Life::Up; 3]), 1), [0]);
    }
}
