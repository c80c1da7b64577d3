//! Promises of balancing parts 2 and 12, and traps of part 11, that a single pick must keep.

#![allow(clippy::unwrap_used)]

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::super::board::{Life, Stand, State};
use super::super::key::Key;
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
        taken: lives.len(),
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

fn one(strategy: Strategy, members: &[Member], board: &Board, ask: Ask) -> Option<usize> {
    strategy.pick(members, board, ask, &Turn::new(members), &mut SmallRng::seed_from_u64(11))
}

const RANKED: [Strategy; 3] = [Strategy::Adaptive, Strategy::LeastPing, Strategy::Optimal];

#[test]
fn the_head_of_the_ranking_serves_and_the_next_when_it_cannot() {
    let m = members(3);
    for strategy in RANKED {
        let mut board = board(&[Life::Up, Life::Untested, Life::Up]);
        board.ranking = [2, 0, 1].into();
        assert_eq!(picks(strategy, &m, &board, 3), [2, 2, 2], "{strategy:?}");
        board.members[2].life = Life::Down;
        assert_eq!(picks(strategy, &m, &board, 1), [0], "{strategy:?}");
    }
}

/// Trap 13: no data must not mean the default outbound. O12: before any result the first of the list serves.
#[test]
fn trap_13_without_data_the_first_of_the_list_serves() {
    let m = members(3);
    for strategy in RANKED {
        assert_eq!(one(strategy, &m, &Board::blank(3), Ask::TCP), Some(0), "{strategy:?}");
    }
    for strategy in Strategy::ALL {
        assert!(one(strategy, &m, &Board::blank(3), Ask::TCP).is_some(), "{strategy:?}");
    }
}

/// Trap 7: a dial that failed must lead to another pick, not to the same one.
#[test]
fn trap_7_whoever_was_tried_is_not_picked_again() {
    let m = members(3);
    for strategy in Strategy::ALL {
        let (board, mut ask) = (board(&[Life::Up; 3]), Ask::TCP);
        for tried in 0..3 {
            let at = one(strategy, &m, &board, ask).unwrap();
            assert!(!ask.tried.contains(at), "{strategy:?} after {tried}");
            ask.tried = ask.tried.and(at);
        }
        assert_eq!(one(strategy, &m, &board, ask), None, "{strategy:?}");
        assert_eq!(strategy.last_resort(&m, &board, ask), None, "{strategy:?}");
    }
}

#[test]
fn fenced_and_ejected_members_take_no_new_flow() {
    let m = members(3);
    for strategy in Strategy::ALL {
        let mut board = board(&[Life::Up; 3]);
        board.members[0].fenced = true;
        board.members[1].stand = Stand::Ejected { until: std::time::Duration::MAX, times: 1 };
        assert_eq!(picks(strategy, &m, &board, 5), [2; 5], "{strategy:?}");
        board.members[2].life = Life::Down;
        let last = strategy.last_resort(&m, &board, Ask::TCP);
        assert!(last.is_some_and(|at| at != 0), "{strategy:?}: {last:?}, and the fenced one not even then");
    }
}

#[test]
fn least_load_shares_flows_among_those_taken() {
    let m = members(5);
    let mut board = board(&[Life::Up; 5]);
    (board.ranking, board.taken) = ([3, 1, 4, 0, 2].into(), 3);
    let mut served = [0u32; 5];
    picks(Strategy::LeastLoad, &m, &board, 30_000).into_iter().for_each(|at| served[at] += 1);
    assert_eq!((served[0], served[2]), (0, 0));
    assert!([1, 3, 4].iter().all(|&at| (9_600..10_400).contains(&served[at])), "{served:?}");
    // Where all of them fail the next of the ranking serves, although it was not taken.
    for at in [1, 3, 4] {
        board.members[at].life = Life::Down;
    }
    assert_eq!(picks(Strategy::LeastLoad, &m, &board, 3), [0, 0, 0]);
}

/// Xray: with baselines and `expected` 0 nobody may be good enough, and the flow goes to the fallback. Without one the
/// group is not left (DECISIONS 7).
#[test]
fn least_load_that_takes_nobody_has_no_answer_of_its_own() {
    let m = members(2);
    let mut board = board(&[Life::Up; 2]);
    (board.ranking, board.taken) = ([1, 0].into(), 0);
    assert_eq!(one(Strategy::LeastLoad, &m, &board, Ask::TCP), None);
    assert_eq!(Strategy::LeastLoad.last_resort(&m, &board, Ask::TCP), Some(1));
    board.members.iter_mut().for_each(|state| state.life = Life::Untested);
    assert_eq!(one(Strategy::LeastLoad, &m, &board, Ask::TCP), Some(1), "nobody was measured yet");
}

fn keys() -> impl Iterator<Item = Ask> {
    (0..500).map(|n| Ask { key: Key::EMPTY.show(n), ..Ask::TCP })
}

#[test]
fn hrw_keeps_a_key_while_its_member_is_a_candidate() {
    let (m, all) = (members(4), board(&[Life::Up; 4]));
    let hrw = Strategy::Hrw { top: 0 };
    let mut without = all.clone();
    without.members[2].life = Life::Down;
    let mut moved = 0;
    for ask in keys() {
        let (before, after) = (one(hrw, &m, &all, ask).unwrap(), one(hrw, &m, &without, ask).unwrap());
        assert!(before == after || before == 2);
        assert_ne!(after, 2);
        moved += u32::from(before == 2);
    }
    assert!((80..170).contains(&moved), "{moved}: about its share");
}

#[test]
fn hrw_with_top_lets_only_the_best_compete() {
    let (m, mut board) = (members(5), board(&[Life::Up; 5]));
    board.ranking = [4, 2, 0, 1, 3].into();
    let hrw = Strategy::Hrw { top: 2 };
    assert!(keys().all(|ask| [2, 4].contains(&one(hrw, &m, &board, ask).unwrap())));
    board.members[4].life = Life::Down;
    assert!(keys().all(|ask| [0, 2].contains(&one(hrw, &m, &board, ask).unwrap())), "the next best takes its place");
    assert_eq!(hrw.shared(&m, &board), [2, 0]);
    // Before the first result nobody is best.
    let winners: std::collections::BTreeSet<_> = keys().filter_map(|ask| one(hrw, &m, &Board::blank(5), ask)).collect();
    assert_eq!(winners.len(), 5);
}

/// DECISIONS 7: the one last known alive; when that was tried, each key has a member of its own again.
#[test]
fn hrw_with_all_dead_takes_the_last_known_alive() {
    let (m, mut dead) = (members(4), board(&[Life::Down; 4]));
    dead.last_up = Some(3);
    let hrw = Strategy::Hrw { top: 0 };
    assert!(keys().all(|ask| hrw.last_resort(&m, &dead, ask) == Some(3)));
    let tried = |ask: Ask| Ask { tried: ask.tried.and(3), ..ask };
    let next: std::collections::BTreeSet<_> = keys().filter_map(|ask| hrw.last_resort(&m, &dead, tried(ask))).collect();
    assert_eq!(next, [0, 1, 2].into());
}

#[test]
fn a_member_listed_twice_counts_twice_where_turns_are_taken() {
    let mut m = members(3);
    m[2] = m[0].clone();
    let board = board(&[Life::Up; 3]);
    assert_eq!(picks(Strategy::RoundRobin, &m, &board, 6), [0, 1, 2, 0, 1, 2]);
    let twice = picks(Strategy::Random, &m, &board, 30_000).iter().filter(|&&at| at != 1).count();
    assert!((19_600..20_400).contains(&twice), "{twice}");
    assert!(keys().all(|ask| one(Strategy::Hrw { top: 0 }, &m, &board, ask) != Some(2)), "once, as its first entry");
}

/// A board that belongs to fewer or more members than there are (a member that was just added or removed).
#[test]
fn boards_of_another_length_break_nothing() {
    let m = members(3);
    for lives in [&[Life::Up][..], &[Life::Up; 3], &[]] {
        let mut board = board(lives);
        (board.taken, board.last_up) = (7, Some(9));
        for strategy in Strategy::ALL {
            assert!(one(strategy, &m, &board, Ask::TCP).is_some_and(|at| at < 3), "{strategy:?} {lives:?}");
        }
    }
    for strategy in Strategy::ALL {
        let mut long = board(&[Life::Down; 6]);
        (long.ranking, long.last_up) = ([5, 4, 3, 2, 1, 0].into(), Some(5));
        assert!(strategy.last_resort(&m, &long, Ask::TCP).is_some_and(|at| at < 3), "{strategy:?}");
    }
}

#[test]
fn a_thousand_members_are_no_special_case() {
    let m = members(1000);
    let mut board = board(&[Life::Up; 1000]);
    board.taken = 500;
    for strategy in Strategy::ALL {
        assert!(one(strategy, &m, &board, Ask::TCP).is_some(), "{strategy:?}");
    }
}
