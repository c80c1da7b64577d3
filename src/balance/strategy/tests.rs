//! Promises of balancing parts 2 and 12, and traps of part 11, that a single pick must keep.

#![allow(clippy::unwrap_used)]

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::super::board::{Life, State};
use super::*;
use crate::addr::OutboundId;

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
    for strategy in Strategy::ALL {
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
    for strategy in Strategy::ALL {
        for _ in 0..20 {
            assert_ne!(strategy.pick(&m, &board, Ask::UDP, &turn, &mut rng), Some(0), "{strategy:?}");
        }
    }
    m.iter_mut().for_each(|member| member.udp = false);
    for strategy in Strategy::ALL {
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
