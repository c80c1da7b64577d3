use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::super::board::{Life, State};
use super::*;
use crate::addr::OutboundId;

fn members(n: u32) -> Vec<Member> {
    (0..n)
        .map(|id| Member { tag: format!("m{id}").into(), hop: OutboundId(10 + id).into(), udp: id > 0, weight: 100 })
        .collect()
}

fn pick(balancer: &Balancer, ask: Ask) -> Pick {
    balancer.pick(ask, &mut SmallRng::seed_from_u64(5))
}

fn dead(n: usize) -> Board {
    let members = vec![State { life: Life::Down, ..State::default() }; n].into();
    Board { members, ranking: (0..n).collect(), ..Board::default() }
}

#[test]
fn no_members_means_fallback_or_closed_and_never_the_default_outbound() {
    for strategy in Strategy::ALL {
        assert_eq!(pick(&Balancer::new("b".into(), vec![], strategy, Exit::None), Ask::TCP), Pick::Empty);
        assert_eq!(pick(&Balancer::new("b".into(), vec![], strategy, Exit::Fallback), Ask::TCP), Pick::Fallback);
    }
}

#[test]
fn all_dead_leaves_the_group_only_by_a_fallback() {
    for strategy in Strategy::ALL {
        let stay = Balancer::new("b".into(), members(3), strategy, Exit::None);
        stay.publish(dead(3));
        assert_eq!(pick(&stay, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
        let leave = Balancer::new("b".into(), members(3), strategy, Exit::Fallback);
        leave.publish(dead(3));
        assert_eq!(pick(&leave, Ask::TCP), Pick::Fallback, "{strategy:?}");
    }
}

#[test]
fn an_outage_leaves_the_group_only_by_a_fallback() {
    for strategy in Strategy::ALL {
        let board = || Board { outage: true, ..Board::weighted([100; 3]) };
        let stay = Balancer::new("b".into(), members(3), strategy, Exit::None);
        stay.publish(board());
        assert!(matches!(pick(&stay, Ask::TCP), Pick::Member(..)), "{strategy:?}");
        let leave = Balancer::new("b".into(), members(3), strategy, Exit::Fallback);
        leave.publish(board());
        assert_eq!(pick(&leave, Ask::TCP), Pick::Fallback, "{strategy:?}");
    }
}

#[test]
fn a_single_member_is_always_picked() {
    // Trap 1 of balancing.md: a single-member balancer that returned nothing.
    for strategy in Strategy::ALL {
        let one = Balancer::new("b".into(), members(1), strategy, Exit::None);
        one.publish(Board::weighted([100]));
        assert_eq!(pick(&one, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
        one.publish(dead(1));
        assert_eq!(pick(&one, Ask::TCP), Pick::Member(0, OutboundId(10).into()), "{strategy:?}");
    }
}

#[test]
fn datagrams_without_a_carrier_are_told_so() {
    for strategy in Strategy::ALL {
        let one = Balancer::new("b".into(), members(1), strategy, Exit::None);
        one.publish(Board::weighted([100]));
        assert_eq!(pick(&one, Ask::UDP), Pick::NoDatagrams, "{strategy:?}");
        let two = Balancer::new("b".into(), members(2), strategy, Exit::None);
        two.publish(Board::weighted([100, 100]));
        assert_eq!(pick(&two, Ask::UDP), Pick::Member(1, OutboundId(11).into()), "{strategy:?}");
    }
}

#[test]
fn o12_wait_holds_flows_until_released() {
    let b = Balancer::new("b".into(), members(2), Strategy::Optimal, Exit::None);
    b.hold();
    assert_eq!(pick(&b, Ask::TCP), Pick::Wait);
    b.release();
    assert_eq!(pick(&b, Ask::TCP), Pick::Member(0, OutboundId(10).into()));
}

fn board(lives: &[Life]) -> Board {
    let members = lives.iter().map(|&life| State { life, ..State::default() }).collect();
    Board { members, ranking: (0..lives.len()).collect(), taken: lives.len(), ..Board::default() }
}

fn pinned(lives: &[Life], member: usize, strict: bool) -> Board {
    Board { pin: Some(Pin { member, until: None, strict }), ..board(lives) }
}

const TO: fn(usize, u32) -> Pick = |at, id| Pick::Member(at, Hop::Outbound(OutboundId(id)));

#[test]
fn a_pinned_member_takes_all_flows_while_it_works() {
    for strategy in Strategy::ALL {
        let b = Balancer::new("b".into(), members(3), strategy, Exit::None);
        b.hold();
        b.publish(pinned(&[Life::Up; 3], 2, false));
        assert_eq!(pick(&b, Ask::TCP), TO(2, 12), "{strategy:?}: not even the wait for a result holds it up");
        b.release();
        let tried = Ask { tried: crate::balance::Tried::NONE.and(2), ..Ask::TCP };
        assert!(matches!(pick(&b, tried), Pick::Member(0 | 1, _)), "{strategy:?}");
    }
}

/// Trap 14: an override that names a dead or foreign member.
#[test]
fn trap_14_a_pin_to_a_dead_member_falls_through_unless_strict() {
    for strategy in Strategy::ALL {
        let b = Balancer::new("b".into(), members(3), strategy, Exit::Fallback);
        let lives = [Life::Up, Life::Down, Life::Down];
        b.publish(pinned(&lives, 1, false));
        assert_eq!(pick(&b, Ask::TCP), TO(0, 10), "{strategy:?}");
        b.publish(pinned(&lives, 1, true));
        assert_eq!(pick(&b, Ask::TCP), TO(1, 11), "{strategy:?}");
        let tried = Ask { tried: crate::balance::Tried::NONE.and(1), ..Ask::TCP };
        assert_eq!(pick(&b, tried), Pick::Spent, "{strategy:?}: nobody else was wanted");
        for strict in [false, true] {
            b.publish(pinned(&lives, 77, strict));
            assert_eq!(pick(&b, Ask::TCP), TO(0, 10), "{strategy:?}");
        }
        // Member 0 carries no datagrams.
        b.publish(pinned(&[Life::Up; 3], 0, true));
        assert_eq!(pick(&b, Ask::UDP), Pick::Spent, "{strategy:?}");
    }
}

#[test]
fn with_everybody_fenced_or_tried_the_flow_is_told_so() {
    for strategy in Strategy::ALL {
        let b = Balancer::new("b".into(), members(2), strategy, Exit::None);
        let mut fenced = board(&[Life::Up; 2]);
        fenced.members.iter_mut().for_each(|state| state.fenced = true);
        b.publish(fenced);
        assert_eq!(pick(&b, Ask::TCP), Pick::Spent, "{strategy:?}");
    }
}

/// Trap 15: a fallback must not need an observatory, and is not taken while nobody is known to be dead.
#[test]
fn trap_15_a_fallback_works_without_measurements() {
    for strategy in Strategy::ALL {
        let b = Balancer::new("b".into(), members(2), strategy, Exit::Fallback);
        assert!(matches!(pick(&b, Ask::TCP), Pick::Member(..)), "{strategy:?}");
    }
}

#[test]
fn datagrams_go_by_what_was_seen_of_datagrams() {
    for strategy in Strategy::ALL {
        let b = Balancer::new("b".into(), members(3), strategy, Exit::None);
        let mut seen = board(&[Life::Up, Life::Up, Life::Down]);
        (seen.members[1].life_udp, seen.members[2].life_udp) = (Life::Down, Life::Up);
        b.publish(seen);
        assert_eq!(pick(&b, Ask::UDP), TO(2, 12), "{strategy:?}");
    }
}

#[test]
fn a_balancer_goes_on_where_its_predecessor_stood() {
    let old = Arc::new(Balancer::new("b".into(), members(3), Strategy::RoundRobin, Exit::None));
    let flow = old.enter(1);
    drop(old.enter(1));
    for _ in 0..2 {
        pick(&old, Ask::TCP);
    }
    old.publish(board(&[Life::Up, Life::Up, Life::Down]));
    let new = Balancer::new("b".into(), members(3), Strategy::RoundRobin, Exit::None).resume(&old);
    assert_eq!((new.counted(1), new.counted(0)), ((2, 1), (0, 0)));
    assert_eq!((new.turn(), new.board().members[2].life), (2, Life::Down));
    drop(flow);
    assert_eq!(new.counted(1), (2, 0), "a flow that began before is counted to its end");
}

#[test]
fn counts_go_with_the_name_and_a_new_member_begins_at_zero() {
    let old = Arc::new(Balancer::new("b".into(), members(2), Strategy::Failover, Exit::None));
    drop(old.enter(0));
    let mut turned = members(3);
    turned.reverse();
    let new = Balancer::new("b".into(), turned, Strategy::Failover, Exit::None).resume(&old);
    assert_eq!([0, 1, 2].map(|at| new.counted(at).0), [0, 0, 1]);
    assert_eq!(new.board().members.len(), 3, "another list, another board");
}
