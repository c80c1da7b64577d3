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
