use super::super::super::board::{Life, Stand};
use super::super::super::job::Kind;
use super::super::super::memory::{GroupMemory, Memory, SubjectMemory, Test};
use super::super::super::order::{Order, Refusal};
use super::super::super::seen::Evidence;
use super::super::super::setup::{Plan, Rank, Setup};
use super::world::*;
use std::time::Duration;

fn rated(members: usize) -> Setup {
    setup(&vec![100; members], Rank::Rate, Plan::Rounds(rounds(1)), false)
}

fn pin(member: &str, lasts: Option<u32>, strict: bool) -> Order {
    Order::Pin { member: member.into(), lasts: lasts.map(|secs| secs * SECOND), strict }
}

#[test]
fn a_pin_is_shown_and_ends_by_its_time() {
    let mut world = World::new(rated(2), |_, _| done(9, 1.0));
    world.until(10 * SECOND);
    world.order(&pin("b", Some(60), false)).expect("a member");
    let shown = world.board().pin.expect("pinned");
    assert_eq!((shown.member, shown.until, shown.strict), (1, Some(70 * SECOND), false));
    world.until(71 * SECOND);
    assert_eq!(world.board().pin, None);
    assert_eq!(world.count("the pin to b ended"), 1);
    world.order(&pin("b", Some(60), true)).expect("a member");
    world.order(&pin("a", None, true)).expect("a member");
    world.until(1000 * SECOND);
    assert_eq!(world.board().pin.map(|pin| pin.member), Some(0), "a newer pin outlives the older one's time");
    world.order(&Order::Unpin).expect("always");
    assert_eq!(world.board().pin, None);
}

#[test]
fn trap_14_a_pin_to_nobody_is_refused_and_one_to_the_dead_is_warned_of() {
    let mut world = World::new(rated(2), |job, _| if job.subject == Some(1) { failed(1.0) } else { done(9, 1.0) });
    world.until(10 * SECOND);
    let refused = world.order(&pin("x", None, false)).expect_err("nobody");
    assert_eq!(refused.to_string(), "balancer pool has no member x; its members are a, b");
    assert_eq!(world.board().pin, None);
    world.order(&pin("b", None, false)).expect("a member");
    assert_eq!(world.count("b was pinned but is down; the strategy decides while it is"), 1);
}

#[test]
fn a_fenced_member_serves_no_more_and_returns() {
    let mut world = World::new(rated(2), |job, _| done(if job.subject == Some(0) { 90 } else { 9 }, 1.0));
    world.until(10 * SECOND);
    assert_eq!(world.serving(), Some(0));
    world.order(&Order::Fence("a".into())).expect("a member");
    assert_eq!((world.serving(), world.board().members[0].fenced), (Some(1), true));
    world.order(&Order::Fence("b".into())).expect("a member");
    assert_eq!(world.statuses, [(0, false)], "nobody takes flows");
    world.order(&Order::Unfence("a".into())).expect("a member");
    assert_eq!(world.serving(), Some(0));
    assert_eq!(world.statuses, [(0, false), (0, true)]);
    assert!(world.board().decisions.iter().any(|decision| &*decision.what == "was fenced by a person"));
}

#[test]
fn tests_can_be_asked_for() {
    let mut world = World::new(rated(2), |_, _| done(9, 1.0));
    world.until(100 * SECOND);
    world.order(&Order::Test(Some("b".into()))).expect("probed");
    assert_eq!((world.starts(0).len(), world.starts(1)), (1, vec![0.0, 100.0]));
    world.until(200 * SECOND);
    world.order(&Order::Test(None)).expect("probed");
    world.until(300 * SECOND);
    assert_eq!((world.starts(0), world.starts(1).len()), (vec![0.0, 200.0], 3));
    let mut bare = setup(&[1], Rank::None { returns: 1 }, Plan::Nothing, true);
    let mut light = World::new(bare.clone(), |_, _| alive(0.1));
    light.order(&Order::Test(None)).expect("guards can");
    assert_eq!(light.started[0].1.kind, Kind::Life);
    bare.guards.probes = false;
    let refused = World::new(bare, |_, _| alive(0.1)).order(&Order::Test(None));
    assert_eq!(refused, Err(Refusal::NoProbe("pool".into())));
}

#[test]
fn the_last_32_decisions_are_kept() {
    let mut world = World::new(rated(2), |_, _| done(9, 1.0));
    for _ in 0..20 {
        world.order(&Order::Fence("a".into())).expect("a member");
        world.order(&Order::Unfence("a".into())).expect("a member");
    }
    let decisions = &world.board().decisions;
    assert_eq!(decisions.len(), 32);
    assert_eq!(decisions.last().map(|last| last.wall_ms), Some(1_700_000_000_000));
}

#[test]
fn trap_18_orders_ejections_and_samples_survive() {
    let mut world = World::new(setup(&[100; 3], Rank::Rate, Plan::Rounds(rounds(1)), true), |job, _| {
        done(10 * (1 + job.subject.unwrap_or(0) as u64), 1.0)
    });
    world.until(50 * SECOND);
    world.order(&pin("b", Some(100), true)).expect("a member");
    world.order(&Order::Fence("a".into())).expect("a member");
    world.answer(|job, _| if job.subject == Some(2) { failed(0.1) } else { alive(0.1) });
    world.saw(2, Evidence::Refused);
    world.until(60 * SECOND);
    assert!(matches!(world.board().members[2].stand, Stand::Ejected { times: 1, .. }), "{:?}", world.lines());
    let text = serde_json::to_string(&world.remember()).expect("plain data");
    let memory: Memory = serde_json::from_str(&text).expect("what was written");
    let same = setup(&[100; 3], Rank::Rate, Plan::Rounds(rounds(1)), true);
    let mut next = World::with(same, &memory, |_, _| alive(0.1));
    let board = next.board();
    assert_eq!(board.pin.and_then(|pin| pin.until), Some(90 * SECOND));
    assert!(board.members[0].fenced && board.decisions.len() > 3);
    assert!(matches!(board.members[2].stand, Stand::Ejected { times: 1, .. }));
    assert_eq!(next.scores(), [1000.0, 2000.0, 3000.0]);
    next.until(45 * SECOND);
    assert_eq!(next.board().members[2].stand, Stand::In, "two signs of life after what was left of its quarantine");
}

#[test]
fn an_absurd_memory_is_harmless() {
    let test = Test { age: Duration::MAX, dial: Duration::MAX, time: Duration::ZERO, bytes: u64::MAX };
    let subject = SubjectMemory {
        print: 7,
        up: Some(true),
        up_udp: Some(false),
        tests: vec![test; 1000],
        pings: vec![(Duration::MAX, Some(Duration::MAX)); 1000],
        dials: vec![(Duration::MAX, Duration::MAX); 1000],
        availability: Some(f64::NAN),
        rate: Some(f64::INFINITY),
        quarantine: Some(Duration::MAX),
        ejections: vec![Duration::MAX; 1000],
    };
    let group = GroupMemory {
        serving: Some("nobody".into()),
        pin: Some(("a".into(), Some(Duration::MAX), true)),
        fenced: vec!["nobody".into()],
        turn: usize::MAX,
        decisions: vec![(u64::MAX, String::new(), String::new()); 1000],
    };
    let mut memory = Memory::default();
    memory.subjects.entry(1).or_default().insert("a".into(), subject);
    memory.groups.insert("pool".into(), group);
    let settings = setup(&[100; 2], Rank::Adaptive(adaptive()), Plan::Rounds(rounds(1)), true);
    let mut world = World::with(settings, &memory, |_, _| done(9, 1.0));
    assert!(world.board().decisions.len() <= 32);
    world.until(2000 * SECOND);
    assert!(world.scores().iter().all(|score| score.is_finite()), "{:?}", world.scores());
    assert_eq!(world.board().members[1].life, Life::Up);
    assert_eq!(world.board().members[0].stand, Stand::In, "no quarantine is longer than the longest");
}
