//! Whatever happens, in any order.

use proptest::prelude::*;

use super::super::super::board::Stand;
use super::super::super::order::Order;
use super::super::super::seen::Evidence;
use super::super::super::setup::{Load, Plan, Rank, Setup};
use super::world::*;
use crate::addr::Network;

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    Pass(u16),
    Jump(u32),
    Answer(u64),
    Saw(usize, Evidence, bool),
    Order(Order),
    Status(usize, bool),
    Reload(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tag = (0..7usize).prop_map(|at| ["a", "b", "c", "d", "e", "f", "nobody"][at].into());
    let evidence = prop_oneof![
        (0u64..4000).prop_map(|ms| Evidence::Dialed(std::time::Duration::from_millis(ms))),
        Just(Evidence::Refused),
        Just(Evidence::TimedOut),
        Just(Evidence::Silent),
        Just(Evidence::Received { bytes: u64::MAX, time: std::time::Duration::ZERO }),
    ];
    let order = prop_oneof![
        (tag.clone(), any::<Option<u16>>(), any::<bool>()).prop_map(|(member, lasts, strict)| Order::Pin {
            member,
            lasts: lasts.map(|secs| u32::from(secs) * SECOND),
            strict
        }),
        Just(Order::Unpin),
        tag.clone().prop_map(Order::Fence),
        tag.clone().prop_map(Order::Unfence),
        proptest::option::of(tag).prop_map(Order::Test),
    ];
    let step = prop_oneof![
        4 => (0u16..900).prop_map(Step::Pass),
        1 => any::<u32>().prop_map(Step::Jump),
        3 => any::<u64>().prop_map(Step::Answer),
        6 => (0..7usize, evidence, any::<bool>()).prop_map(|(at, what, udp)| Step::Saw(at, what, udp)),
        1 => order.prop_map(Step::Order),
        1 => (0..6usize, any::<bool>()).prop_map(|(at, up)| Step::Status(at, up)),
        1 => (1..6usize).prop_map(Step::Reload),
    ];
    proptest::collection::vec(step, 1..60)
}

fn made(members: usize, kind: u8, guards: bool) -> Setup {
    let mut full = rounds(1 + u32::from(kind % 3));
    (full.second, full.warmup) = (kind.is_multiple_of(2), vec![20 * SECOND]);
    let beats = Plan::Beats { interval: 30 * SECOND, timeout: 5 * SECOND, spread: kind.is_multiple_of(2) };
    let burst =
        Plan::Burst { interval: 30 * SECOND, timeout: 5 * SECOND, sampling: 4, connectivity: kind.is_multiple_of(2) };
    let sweep = Plan::Sweep { interval: 10 * SECOND, timeout: 5 * SECOND, concurrent: kind.is_multiple_of(2) };
    let (rank, plan) = match kind % 6 {
        0 => (Rank::Rate, Plan::Rounds(full)),
        1 => (Rank::Adaptive(adaptive()), Plan::Rounds(full)),
        2 => (Rank::List { returns: 2 }, beats),
        3 => (Rank::Delay, sweep),
        4 => (Rank::Load(Load { expected: 2, ..Load::default() }), burst),
        _ => (Rank::None { returns: 1 }, Plan::Nothing),
    };
    let weights: Vec<u32> = (0..members).map(|at| [100, 0, u32::MAX][at % 3]).collect();
    let mut setup = setup(&weights, rank, plan, guards);
    // The last one is listed twice.
    setup.groups[0].members.push(members - 1);
    setup.groups[0].weights.push(100);
    setup.idle = (kind >= 128).then_some(300 * SECOND);
    setup.guards.probes = !kind.is_multiple_of(5);
    setup
}

/// Answers by chance; some masks let all fail, or all succeed.
fn by(
    mask: u64,
) -> impl FnMut(&super::super::super::job::Job, std::time::Duration) -> super::super::super::job::Outcome {
    let mut dice = mask;
    move |job, _| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let dead = mask >> (job.subject.unwrap_or(0) % 8) & 1 == 1;
        let took = f64::from((dice >> 40) as u32 % 5000) / 1000.0;
        if dead { failed(took) } else { done(dice >> 50, took) }
    }
}

fn holds(world: &World, setup: &Setup) -> Result<(), TestCaseError> {
    let board = world.board();
    let (seats, group) = (setup.groups[0].members.len(), &setup.groups[0]);
    prop_assert_eq!(board.members.len(), seats);
    let mut ranked = board.ranking.to_vec();
    ranked.sort_unstable();
    let all: Vec<usize> = if matches!(group.rank, Rank::None { .. }) { vec![] } else { (0..seats).collect() };
    prop_assert_eq!(ranked, all);
    prop_assert!(board.taken <= seats && board.decisions.len() <= 32);
    prop_assert!(board.members.iter().all(|state| state.score.is_none_or(f64::is_finite)));
    let ejected = board.members.iter().filter(|state| state.stand != Stand::In).count();
    prop_assert!(ejected < seats, "never the last one: {:?}", world.lines());
    prop_assert!(group.guards || ejected == 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_course_of_events_leaves_a_board_in_order(
        members in 1..6usize,
        kind: u8,
        guards: bool,
        steps in steps(),
    ) {
        let mut setup = made(members, kind, guards);
        let mut world = World::new(setup.clone(), by(0));
        for step in steps {
            match step {
                Step::Pass(secs) => world.pass(u32::from(secs) * SECOND),
                Step::Jump(secs) => world.jump = secs * SECOND,
                Step::Answer(mask) => world.answer(by(mask)),
                Step::Saw(at, what, udp) => world.saw_on(at, if udp { Network::Udp } else { Network::Tcp }, what),
                // A refusal changes nothing, which the board shows.
                Step::Order(order) => drop(world.order(&order)),
                Step::Status(at, up) => world.status(at, up),
                Step::Reload(members) => {
                    setup = made(members, kind, guards);
                    world = World::with(setup.clone(), &world.remember(), by(kind.into()));
                }
            }
            holds(&world, &setup)?;
        }
        // A healthy world heals.
        world.answer(by(0));
        (0..members).for_each(|at| world.status(at, true));
        for _ in 0..40 {
            world.saw(0, Evidence::Dialed(SECOND / 10));
            world.pass(60 * SECOND);
        }
        holds(&world, &setup)?;
        prop_assert!(!world.board().outage);
        prop_assert!(world.board().members.iter().all(|state| state.stand == Stand::In), "{:?}", world.lines());
        if setup.plan != Plan::Nothing {
            let down = |at: usize| !world.board().members[at].life.usable();
            prop_assert!((0..members.min(setup.subjects.len())).all(|at| !down(at) || !setup.subjects[at].watched), "{:?}", world.lines());
        }
    }
}
