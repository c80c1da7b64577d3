use std::sync::Arc;

use super::super::balancer::Exit;
use super::super::member::Member;
use super::super::strategy::Strategy;
use super::*;
use crate::addr::OutboundId;

const NOW: Moment = Moment { steady: Duration::from_secs(100), wall: Duration::from_secs(1_700_000_000) };

fn balancer(strategy: Strategy, weights: &[u32], exit: Exit) -> Arc<Balancer> {
    let member = |(at, &weight): (usize, &u32)| {
        let id = u32::try_from(at).unwrap_or(u32::MAX);
        Member { tag: format!("m{at}").into(), hop: OutboundId(id).into(), udp: at == 0, weight }
    };
    Arc::new(Balancer::new("b".into(), weights.iter().enumerate().map(member).collect(), strategy, exit))
}

fn lives(lives: &[Life]) -> Board {
    let state = |&life: &Life| State { life, ..State::default() };
    Board { members: lives.iter().map(state).collect(), ranking: (0..lives.len()).rev().collect(), ..Board::default() }
}

fn report(balancer: &Balancer, board: Board) -> Report {
    balancer.publish(board);
    Report::of(balancer, Some("out"), NOW)
}

#[test]
fn distances_are_told_instead_of_moments() {
    let secs = Duration::from_secs;
    let b = balancer(Strategy::Optimal, &[100, 300], Exit::None);
    let (kept, ended) = (b.enter(1), b.enter(1));
    drop(ended);
    let mut board = Board::weighted([100, 300]);
    board.members[1] = State {
        life: Life::Down,
        stand: Stand::Ejected { until: secs(130), times: 2 },
        delay: Some(Duration::from_micros(1500)),
        rate: Some(2.5),
        last_error: Some("refused".into()),
        last_seen: Some(secs(40)),
        last_tried: Some(secs(101)),
        next: Some(secs(90)),
        stats: Stats { all: 3, failed: 1, average: Duration::from_micros(250), ..Stats::default() },
        ..board.members[1].clone()
    };
    (board.round, board.next_round, board.outage) = (7, Some(secs(160)), true);
    board.why = Some("highest score".into());
    board.decisions = vec![Decision { wall_ms: 5, member: "m0".into(), what: "first".into() }].into();
    let report = report(&b, board);
    drop(kept);
    assert_eq!((report.balancer.as_str(), report.strategy.as_str()), ("b", "optimal"));
    assert_eq!((report.wall_ms, report.round, report.next_round_ms), (1_700_000_000_000, 7, Some(60_000)));
    assert!(report.outage && report.fallback.as_deref() == Some("out"));
    assert_eq!(report.decisions, [DecisionReport { wall_ms: 5, member: "m0".into(), what: "first".into() }]);
    let bad = &report.members[1];
    assert_eq!(bad.ejected, Some(Ejected { left_ms: 30_000, times: 2 }));
    assert_eq!((bad.delay_ms, bad.rate, bad.weight), (Some(1.5), Some(2.5), 300));
    assert_eq!((bad.picks, bad.flows), (2, 1));
    // What lies on the wrong side of now, by a hair, is now.
    assert_eq!((bad.seen_ms, bad.tried_ms, bad.next_ms), (Some(60_000), Some(0), Some(0)));
    assert_eq!(bad.stats.map(|stats| (stats.all, stats.failed, stats.average_ms)), Some((3, 1, 0.25)));
    assert_eq!((report.members[0].udp, bad.udp, report.members[0].stats), (true, false, None));
    assert_eq!(report.serving, ["m0"]);
}

#[test]
fn who_serves_is_who_would_be_picked() {
    use Life::{Down, Up};
    let one = |strategy, board| report(&balancer(strategy, &[1, 1, 1], Exit::None), board).serving;
    assert_eq!(one(Strategy::Failover, lives(&[Down, Up, Up])), ["m1"]);
    assert_eq!(one(Strategy::Optimal, lives(&[Up, Up, Up])), ["m2"], "the head of the ranking");
    assert_eq!(one(Strategy::Random, lives(&[Up, Down, Up])), ["m0", "m2"]);
    assert_eq!(one(Strategy::RoundRobin, lives(&[Down, Down, Down])), ["m0"], "the group is not left");
}

#[test]
fn members_without_weight_serve_only_when_nobody_else_can() {
    let b = balancer(Strategy::Random, &[1, 0], Exit::None);
    assert_eq!(report(&b, lives(&[Life::Up, Life::Up])).serving, ["m0"]);
    assert_eq!(report(&b, lives(&[Life::Down, Life::Up])).serving, ["m1"]);
}

#[test]
fn looking_moves_no_rotation() {
    let b = balancer(Strategy::RoundRobin, &[1, 1], Exit::None);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut next = || b.pick(Ask::TCP, &mut rng);
    let first = next();
    for _ in 0..3 {
        let _ = Report::of(&b, None, NOW);
    }
    assert_ne!(first, next());
}

#[test]
fn a_dead_group_with_a_fallback_is_left() {
    let b = balancer(Strategy::Failover, &[1], Exit::Fallback);
    let report = report(&b, lives(&[Life::Down]));
    assert!(report.leaves && report.serving.is_empty());
    let empty = report_of_empty();
    assert!(!empty.leaves && empty.serving.is_empty() && empty.members.is_empty());
}

fn report_of_empty() -> Report {
    Report::of(&balancer(Strategy::Random, &[], Exit::None), None, NOW)
}

#[test]
fn a_pin_serves_while_it_can_or_must() {
    let b = balancer(Strategy::Random, &[1, 1], Exit::None);
    let pinned = |life, strict| {
        let pin = Some(Pin { member: 1, until: Some(Duration::from_secs(107)), strict });
        report(&b, Board { pin, ..lives(&[Life::Up, life]) })
    };
    let good = pinned(Life::Up, false);
    assert_eq!(good.pin, Some(PinReport { member: "m1".into(), left_ms: Some(7_000), strict: false }));
    assert!(good.members[1].pinned && !good.members[0].pinned);
    assert_eq!(good.serving, ["m1"]);
    assert_eq!(pinned(Life::Down, false).serving, ["m0"], "the strategy decides");
    assert_eq!(pinned(Life::Down, true).serving, ["m1"]);
}

#[test]
fn a_report_comes_back_from_json() {
    let mut board = lives(&[Life::Up, Life::Untested]);
    board.members[0].terms = Some(Terms { dial: 0.1, tests: 8, ..Terms::default() });
    board.members[0].score = Some(1.25);
    let report = report(&balancer(Strategy::Optimal, &[1, 1], Exit::None), board);
    let text = serde_json::to_string(&report).unwrap_or_default();
    assert!(text.contains(r#""life":"up""#) && text.contains(r#""dial":0.1"#), "{text}");
    assert_eq!(serde_json::from_str::<Report>(&text).ok(), Some(report));
}
