use super::super::super::board::Life;
use super::super::super::job::{Job, Kind, Outcome};
use super::super::super::seen::Evidence;
use super::super::super::setup::{Plan, Rank, Setup};
use super::world::*;

fn plain(weights: &[u32], count: u32) -> Setup {
    setup(weights, Rank::Rate, Plan::Rounds(rounds(count)), false)
}

/// One answer a member, the same for ever.
fn always(answers: Vec<Outcome>) -> impl FnMut(&Job, std::time::Duration) -> Outcome {
    move |job, _| answers[job.subject.unwrap_or(0)].clone()
}

/// One list of answers a member, one an attempt.
fn script(answers: Vec<Vec<Outcome>>) -> impl FnMut(&Job, std::time::Duration) -> Outcome {
    let mut left = answers;
    move |job, _| {
        let rest = &mut left[job.subject.unwrap_or(0)];
        if rest.len() > 1 { rest.remove(0) } else { rest[0].clone() }
    }
}

#[test]
fn o1_all_start_together_and_the_next_round_follows_the_end_of_the_last() {
    let mut world = World::new(plain(&[100, 100, 100], 1), always(vec![done(9, 1.0), done(9, 2.0), failed(5.0)]));
    world.pass(2000 * SECOND);
    for member in 0..3 {
        assert_eq!(world.starts(member), [0.0, 605.0, 1210.0, 1815.0], "interval after the slowest ended");
    }
    let job = world.started[3].1;
    assert_eq!((job.kind, job.round, job.attempt, job.timeout), (Kind::Test, 2, 1, 5 * SECOND));
}

#[test]
fn o5_weight_decides_between_rates() {
    let bodies = vec![done(81_920, 0.8), done(81_920, 0.4), done(81_920, 1.6)];
    let mut equal = World::new(plain(&[100, 100, 100], 1), always(bodies.clone()));
    equal.pass(10 * SECOND);
    assert_eq!(equal.scores(), [10_240_000.0, 20_480_000.0, 5_120_000.0]);
    assert_eq!((equal.serving(), equal.board().round), (Some(1), 1));
    let mut weighted = World::new(plain(&[300, 100, 100], 1), always(bodies));
    weighted.pass(10 * SECOND);
    assert_eq!(weighted.scores(), [30_720_000.0, 20_480_000.0, 5_120_000.0]);
    assert_eq!(&*weighted.board().ranking, [0, 1, 2]);
}

#[test]
fn o4_o6_o7_attempts_of_a_round_are_averaged() {
    let five = [1.0, 1.0, 1.0, 1.0, 5.0].map(|seconds| done(80_000, seconds)).to_vec();
    let mut world = World::new(plain(&[100], 5), script(vec![five]));
    world.pass(20 * SECOND);
    assert_eq!(world.scores(), [8_000_000.0]);
    assert_eq!(world.starts(0), [0.0, 1.0, 2.0, 3.0, 4.0], "one after another");
    let mut half = World::new(plain(&[100], 2), script(vec![vec![done(80_000, 1.0), failed(1.0)]]));
    half.pass(20 * SECOND);
    assert_eq!(half.scores(), [4_000_000.0]);
}

#[test]
fn o8_weight_zero_serves_only_when_all_others_are_zero() {
    let fast = done(1_000_000, 0.1);
    let answers = vec![vec![fast], vec![done(10, 4.0), failed(1.0), done(10, 4.0)]];
    let mut world = World::new(plain(&[0, 100], 1), script(answers));
    world.pass(10 * SECOND);
    assert_eq!((world.serving(), world.scores()[0]), (Some(1), 0.0));
    world.until(700 * SECOND);
    assert_eq!(world.serving(), Some(0));
    world.until(1300 * SECOND);
    assert_eq!(world.serving(), Some(1));
}

#[test]
fn o9_the_top_score_serves_until_the_next_round_ends() {
    let answers = vec![vec![done(10, 1.0), done(10, 4.0)], vec![done(20, 1.0), failed(1.0)]];
    let mut world = World::new(plain(&[100, 100], 1), script(answers));
    world.until(602 * SECOND + SECOND / 2);
    assert_eq!(world.serving(), Some(1), "nothing moves inside a later round");
    assert_eq!(world.board().round, 1);
    world.pass(5 * SECOND);
    assert_eq!((world.serving(), world.board().round), (Some(0), 2));
    assert_eq!(world.board().members[1].life, Life::Down);
}

#[test]
fn o10_equal_top_scores_keep_the_serving_member_else_list_order() {
    let (slow, fast) = (done(5, 1.0), done(10, 1.0));
    let answers = vec![vec![slow.clone(), fast.clone()], vec![slow.clone(), fast.clone()], vec![fast.clone()]];
    let mut world = World::new(plain(&[100; 3], 1), script(answers));
    world.until(700 * SECOND);
    assert_eq!(world.serving(), Some(2));
    let answers = vec![vec![slow.clone(), fast.clone()], vec![slow.clone(), fast.clone()], vec![fast, slow]];
    let mut world = World::new(plain(&[100; 3], 1), script(answers));
    world.until(700 * SECOND);
    assert_eq!(world.serving(), Some(0), "the one that serves is not among the best");
    assert_eq!(world.board().why.as_deref(), Some("highest score, first of equals"));
}

#[test]
fn o11_all_zero_keeps_the_serving_member_and_is_told_once() {
    let answers = [5, 50, 10].map(|bytes| vec![done(bytes, 1.0), failed(1.0)]).to_vec();
    let mut world = World::new(plain(&[100; 3], 1), script(answers));
    world.until(3000 * SECOND);
    assert_eq!(world.serving(), Some(1), "trap 2: an all-failed round moves nothing");
    assert!(world.board().all_down() && world.board().round > 3);
    assert_eq!(world.count("balancer pool: every score is 0"), 1);
    // Also when every weight is 0 and all work.
    let mut zero = World::new(plain(&[0, 0], 1), script(vec![vec![failed(1.0), done(5, 1.0)], vec![done(5, 1.0)]]));
    zero.until(10 * SECOND);
    assert_eq!(zero.serving(), Some(1));
    zero.until(1000 * SECOND);
    assert_eq!(zero.serving(), Some(1));
}

#[test]
fn o12_before_any_result_the_first_of_the_list_serves() {
    let mut world = World::new(plain(&[100, 900, 100], 1), always(vec![failed(1.0), failed(3.0), failed(5.0)]));
    assert_eq!((world.serving(), world.board().round), (Some(0), 0));
    world.until(2 * SECOND);
    assert_eq!(world.serving(), Some(1), "known to have failed, it waits for the round's end");
    world.until(10 * SECOND);
    assert_eq!(world.serving(), Some(0), "with all failed nobody has earned the place of the first");
}

#[test]
fn o12_waiting_flows_go_with_the_first_success_or_after_their_time() {
    let waits = |answers| {
        let mut setup = plain(&[100, 100], 1);
        setup.groups[0].wait = Some(2 * SECOND);
        let mut world = World::new(setup, always(answers));
        world.until(20 * SECOND);
        world.released.clone()
    };
    assert_eq!(waits(vec![done(9, 4.0), done(9, 0.5)]), [(SECOND / 2, 0)]);
    assert_eq!(waits(vec![done(9, 4.0), done(9, 3.0)]), [(2 * SECOND, 0)]);
    assert_eq!(waits(vec![failed(1.0), failed(1.5)]), [(SECOND * 3 / 2, 0)], "a round that ends is a result too");
}

#[test]
fn o13_the_first_success_of_the_first_round_serves_until_it_ends() {
    let mut world = World::new(plain(&[100; 3], 1), always(vec![done(9000, 3.0), failed(5.0), done(1, 1.0)]));
    world.until(2 * SECOND);
    assert_eq!((world.serving(), world.board().round), (Some(2), 0));
    world.until(4 * SECOND);
    assert_eq!(world.serving(), Some(2), "later and faster, but the round runs");
    world.until(6 * SECOND);
    assert_eq!((world.serving(), world.board().round), (Some(0), 1));
    // A success of weight 0 settles nothing.
    let mut zero = World::new(plain(&[100, 0], 1), always(vec![done(1, 2.0), done(1, 0.1)]));
    zero.until(SECOND);
    assert_eq!(zero.serving(), Some(0));
}

#[test]
fn o14_a_single_member_serves_and_is_still_scored() {
    let mut world = World::new(plain(&[100], 1), script(vec![vec![done(1_000, 0.5), failed(1.0)]]));
    world.until(10 * SECOND);
    assert_eq!((world.serving(), world.scores()), (Some(0), vec![200_000.0]));
    assert_eq!(world.board().why.as_deref(), Some("only member"));
    world.until(700 * SECOND);
    assert_eq!(world.serving(), Some(0));
}

#[test]
fn o15_a_new_member_is_tested_at_once_alone_and_competes() {
    let mut world = World::new(plain(&[100, 100], 1), always(vec![done(10, 1.0), done(20, 1.0)]));
    world.until(100 * SECOND);
    let mut added = World::with(plain(&[100; 3], 1), &world.remember(), always(vec![done(1, 1.0); 3].to_vec()));
    assert_eq!(added.serving(), Some(1), "who served serves on");
    assert_eq!(added.scores(), [1000.0, 2000.0]);
    added.answer(always(vec![done(1, 1.0), done(1, 1.0), done(90, 1.0)]));
    added.until(2 * SECOND);
    assert_eq!((added.starts(0), added.starts(2)), (vec![], vec![0.0]));
    // The answers of the first moment were those of the world's making.
    assert_eq!(added.serving(), Some(1));
    added.until(600 * SECOND);
    assert_eq!(added.starts(0), [500.0], "the round comes when it would have come");
    assert_eq!(added.serving(), Some(2));
}

#[test]
fn o15_a_member_is_gone_and_who_served_with_it() {
    let mut world = World::new(plain(&[100; 3], 1), always(vec![done(10, 1.0), done(20, 1.0), done(30, 1.0)]));
    world.until(100 * SECOND);
    assert_eq!(world.serving(), Some(2));
    let left = World::with(plain(&[100, 100], 1), &world.remember(), always(vec![done(1, 1.0); 2]));
    assert_eq!(left.scores(), [1000.0, 2000.0]);
    let mut changed = plain(&[100; 3], 1);
    changed.subjects[2].print = 99;
    let changed = World::with(changed, &world.remember(), always(vec![done(1, 1.0); 3]));
    assert_eq!((changed.board().members[2].score, changed.starts(2)), (None, vec![0.0]), "another definition");
}

#[test]
fn o17_a_dead_test_target_is_told_from_dead_members() {
    let mut plan = rounds(1);
    plan.second = true;
    let setup = setup(&[100, 100], Rank::Rate, Plan::Rounds(plan), true);
    let mut world = World::new(setup, always(vec![done(10, 1.0), done(20, 1.0)]));
    world.until(100 * SECOND);
    let scores = world.scores();
    world.answer(|job, _| match (job.kind, job.subject) {
        (Kind::Second, Some(1)) => alive(0.2),
        _ => failed(1.0),
    });
    world.until(700 * SECOND);
    assert_eq!((world.scores(), world.serving()), (scores, Some(1)), "trap 17");
    assert_eq!(world.count("test target unreachable"), 1);
    assert!(!world.board().members.iter().any(|state| state.life == Life::Down));
    // When the second address is silent too, it is the network.
    world.answer(|_, _| failed(1.0));
    world.until(1400 * SECOND);
    assert_eq!(world.count("an outage of the network is suspected"), 1);
    assert!(world.board().outage);
}

#[test]
fn o17_real_flows_that_work_speak_against_the_test_target_too() {
    let mut world = World::new(plain(&[100, 100], 1), always(vec![done(10, 1.0), done(20, 1.0)]));
    world.until(100 * SECOND);
    world.answer(|_, _| failed(5.0));
    world.until(603 * SECOND);
    world.saw(1, Evidence::Dialed(SECOND / 10));
    world.until(620 * SECOND);
    assert_eq!((world.scores(), world.count("test target unreachable")), (vec![1000.0, 2000.0], 1));
}

#[test]
fn o18_lines_show_every_term_and_both_scores() {
    let answers = vec![vec![done(81_920, 0.8), failed(1.0)], vec![done(81_920, 0.5), done(81_920, 0.8)]];
    let mut world = World::new(plain(&[200, 100], 1), script(answers));
    world.until(700 * SECOND);
    let lines = world.lines();
    for line in [
        "optimal pool round 1: serving b score=? (was a score=?): first success of the first round",
        "optimal pool round 1: member a bytes=81920 time_ms=800 rate=102400B/s weight=200 score=20480000",
        "optimal pool round 1: serving a score=20480000 (was b score=16384000): highest score",
        "optimal pool round 2: member a bytes=0 time_ms=1000 rate=0B/s weight=200 score=0",
        "optimal pool round 2: serving b score=10240000 (was a score=0): highest score",
    ] {
        assert!(lines.iter().any(|told| told == line), "{line}\n{lines:#?}");
    }
    let decisions: Vec<_> = world.board().decisions.iter().map(|decision| decision.what.to_string()).collect();
    assert_eq!(decisions.last().map(String::as_str), Some("serving b score=10240000 (was a score=0): highest score"));
}

#[test]
fn trap_22_a_busy_line_lowers_all_scores_and_moves_nobody() {
    let slow = |bytes| vec![done(bytes, 1.0), done(bytes / 10, 1.0), done(bytes, 1.0)];
    let mut world = World::new(plain(&[100; 2], 1), script(vec![slow(1000), slow(3000)]));
    for round in 0..3 {
        world.until(610 * SECOND * (round + 1));
        assert_eq!(world.serving(), Some(1), "only results of the same round are compared");
    }
    assert_eq!(world.count("(was b score=30000): highest score"), 1);
}

#[test]
fn trap_23_a_round_during_which_the_machine_slept_is_discarded() {
    let mut world = World::new(plain(&[100, 100], 1), always(vec![done(10, 1.0), done(20, 1.0)]));
    world.until(601 * SECOND + SECOND / 2);
    world.answer(always(vec![done(90, 1.0), done(20, 1.0)]));
    world.jump = 3600 * SECOND;
    world.until(603 * SECOND);
    assert_eq!((world.board().round, world.serving()), (1, Some(1)));
    assert_eq!(world.count("discarded, it took longer than it can"), 1);
    world.until(620 * SECOND);
    assert_eq!(world.serving(), Some(0), "the round is made again soon");
}

#[test]
fn a_member_that_is_listed_twice_is_tested_once_and_a_shared_one_too() {
    // Trap 21: doubled probes.
    let mut setup = plain(&[100, 100], 1);
    setup.groups[0].members = vec![0, 1, 0];
    setup.groups[0].weights = vec![100, 100, 300];
    let mut other = setup.groups[0].clone();
    (other.tag, other.members, other.weights) = ("other".into(), vec![1], vec![100]);
    setup.groups.push(other);
    let mut world = World::new(setup, always(vec![done(10, 1.0), done(20, 1.0)]));
    world.until(10 * SECOND);
    assert_eq!(world.started.len(), 2);
    assert_eq!((world.serving(), world.boards[1].serving()), (Some(2), Some(0)));
    assert_eq!(world.scores(), [1000.0, 2000.0, 3000.0]);
}

#[test]
fn a_thousand_members_of_any_weight() {
    let weights: Vec<u32> = (0..1000).map(|at| [0, 1, 100, u32::MAX][at % 4]).collect();
    let mut setup = plain(&weights, 1);
    let Plan::Rounds(plan) = &mut setup.plan else { return };
    plan.stagger = 100 * SECOND;
    let mut world = World::new(setup, |job, _| done(1 + job.subject.unwrap_or(0) as u64, 1.0));
    world.until(150 * SECOND);
    assert_eq!(world.serving(), Some(999));
    assert_eq!((world.board().round, world.started.len()), (1, 1000));
    assert!(world.board().members.iter().all(|state| state.score.is_some_and(f64::is_finite)));
}

#[test]
fn nobody_at_all_is_kept_in_peace() {
    let mut world = World::new(plain(&[], 1), always(vec![]));
    world.until(5000 * SECOND);
    assert_eq!((world.serving(), world.started.len()), (None, 0));
    assert!(world.published < 3);
}

#[test]
fn foreign_ends_are_ignored() {
    let mut world = World::new(plain(&[100, 100], 1), always(vec![done(10, 1.0), done(20, 1.0)]));
    let (mut acts, job) = (Vec::new(), world.started[0].1);
    world.keeper.done(Job { id: 77_777, ..job }, done(1, 1.0), world.moment(), &mut acts);
    assert!(acts.is_empty());
    world.until(10 * SECOND);
    world.keeper.done(job, done(1, 1.0), world.moment(), &mut acts);
    assert!(acts.is_empty(), "told twice");
}
