//! The contract O2 to O14 of the `optimal` strategy, each rule by its number.

use super::*;
use crate::addr::OutboundId;
use crate::balance::member::Member;

const SECOND: Duration = Duration::from_secs(1);

fn done(bytes: u64, seconds: f64) -> Attempt {
    let time = Duration::from_secs_f64(seconds);
    Attempt::Done(Sample { bytes, time, dial: time / 10, status: 200 })
}

fn failed() -> Attempt {
    Attempt::Failed(SECOND)
}

fn fresh(weights: &[u32]) -> Arc<Board> {
    Arc::new(Board::weighted(weights.iter().copied()))
}

/// Runs a whole round: one list of attempts a member.
fn run(prior: &Arc<Board>, count: u32, attempts: &[&[Attempt]]) -> Verdict {
    let mut round = Round::begin(prior.clone(), count);
    for (member, attempts) in attempts.iter().enumerate() {
        for &attempt in *attempts {
            round.record(member, attempt);
        }
    }
    assert!(round.complete());
    round.close()
}

fn scores(verdict: &Verdict) -> Vec<f64> {
    verdict.board.members.iter().filter_map(|state| state.score).collect()
}

fn rate(attempts: &[Attempt]) -> f64 {
    run(&fresh(&[100]), attempts.len() as u32, &[attempts]).board.members[0].rate.unwrap_or(f64::NAN)
}

#[test]
fn o2_rate_is_body_over_time_and_an_empty_body_counts_100_bytes() {
    assert_eq!(rate(&[done(81_920, 0.8)]), 102_400.0);
    assert_eq!(rate(&[done(0, 0.5)]), 200.0);
    assert!(rate(&[done(80_000, 0.0)]).is_finite(), "a clock that stood still");
}

#[test]
fn o3_a_failed_attempt_is_zero() {
    assert_eq!(rate(&[failed()]), 0.0);
}

#[test]
fn o4_average_is_the_mean_below_three() {
    assert_eq!(rate(&[done(100_000, 1.0), done(50_000, 1.0)]), 75_000.0);
}

#[test]
fn o4_average_drops_extremes_from_three_on() {
    assert_eq!(rate(&[done(10, 1.0), done(1_000, 1.0), done(70, 1.0)]), 70.0);
    assert_eq!(rate(&[done(10, 1.0), failed(), done(30, 1.0), done(1_000, 1.0)]), 20.0);
    assert_eq!(rate(&[failed(), failed(), done(1_000, 1.0)]), 0.0, "one success of three is dropped as the highest");
}

#[test]
fn o5_weight_decides_between_rates() {
    let bodies = [&[done(81_920, 0.8)][..], &[done(81_920, 0.4)], &[done(81_920, 1.6)]];
    let equal = run(&fresh(&[100, 100, 100]), 1, &bodies);
    assert_eq!(scores(&equal), [10_240_000.0, 20_480_000.0, 5_120_000.0]);
    assert_eq!(equal.board.serving(), Some(1));
    let weighted = run(&fresh(&[300, 100, 100]), 1, &bodies);
    assert_eq!(scores(&weighted), [30_720_000.0, 20_480_000.0, 5_120_000.0]);
    assert_eq!(weighted.board.serving(), Some(0));
    assert_eq!(&*weighted.board.ranking, [0, 1, 2]);
}

#[test]
fn o6_one_slow_attempt_of_five_does_not_count() {
    let times = [1.0, 1.0, 1.0, 1.0, 5.0].map(|seconds| done(80_000, seconds));
    assert_eq!(rate(&times), 80_000.0);
}

#[test]
fn o7_one_failure_of_two_halves_the_score() {
    assert_eq!(rate(&[done(80_000, 1.0), failed()]), 40_000.0);
}

#[test]
fn o8_weight_zero_serves_only_when_all_others_are_zero() {
    let prior = fresh(&[0, 100]);
    let both = run(&prior, 1, &[&[done(1_000_000, 0.1)], &[done(10, 4.0)]]);
    assert_eq!(scores(&both)[0], 0.0);
    assert_eq!(both.board.serving(), Some(1));
    let alone = run(&both.board, 1, &[&[done(1_000_000, 0.1)], &[failed()]]);
    assert_eq!((alone.board.serving(), alone.reason), (Some(0), Reason::LastAlive));
    let back = run(&alone.board, 1, &[&[done(1_000_000, 0.1)], &[done(10, 4.0)]]);
    assert_eq!(back.board.serving(), Some(1));
}

#[test]
fn o9_the_top_score_serves_until_the_next_round_ends() {
    let first = run(&fresh(&[100, 100]), 1, &[&[done(10, 1.0)], &[done(20, 1.0)]]);
    assert_eq!(first.board.serving(), Some(1));
    let mut second = Round::begin(first.board, 1);
    assert_eq!(second.record(1, failed()), None, "nothing moves inside a later round");
    assert_eq!(second.record(0, done(10, 1.0)), None);
    let second = second.close();
    assert_eq!((second.board.round, second.board.serving()), (2, Some(0)));
    assert!(second.changed());
}

#[test]
fn o10_equal_top_scores_keep_the_serving_member_else_list_order() {
    let same = [&[done(10, 1.0)][..], &[done(10, 1.0)], &[done(10, 1.0)]];
    let first = run(&fresh(&[100; 3]), 1, &[&[done(5, 1.0)], &[done(5, 1.0)], &[done(10, 1.0)]]);
    assert_eq!(first.board.serving(), Some(2));
    let kept = run(&first.board, 1, &same);
    assert_eq!((kept.board.serving(), kept.reason), (Some(2), Reason::TieKept));
    // The one that serves is not among the best: list order.
    let listed = run(&first.board, 1, &[&[done(10, 1.0)], &[done(10, 1.0)], &[done(5, 1.0)]]);
    assert_eq!((listed.board.serving(), listed.reason), (Some(0), Reason::TieFirst));
}

#[test]
fn o11_all_zero_keeps_the_serving_member() {
    let first = run(&fresh(&[100; 3]), 1, &[&[done(5, 1.0)], &[done(50, 1.0)], &[done(10, 1.0)]]);
    let none = run(&first.board, 1, &[&[failed()], &[failed()], &[failed()]]);
    assert_eq!((none.board.serving(), none.reason, none.changed()), (Some(1), Reason::AllZero, false));
    assert!(none.board.all_down());
    // Also when every weight is 0 and all work.
    let first = run(&fresh(&[0, 0]), 1, &[&[failed()], &[done(5, 1.0)]]);
    assert_eq!(first.board.serving(), Some(1));
    assert_eq!(run(&first.board, 1, &[&[done(5, 1.0)], &[done(5, 1.0)]]).board.serving(), Some(1));
}

#[test]
fn o12_before_any_result_the_first_of_the_list_serves() {
    assert_eq!(fresh(&[100, 900]).serving(), Some(0));
    let mut round = Round::begin(fresh(&[100, 900, 100]), 1);
    let moved = round.record(0, failed()).map(|verdict| (verdict.board.serving(), verdict.reason));
    assert_eq!(moved, Some((Some(1), Reason::FirstFailed)), "known to have failed, it waits for the round's end");
    // O11 for the first round: with all failed, nobody has earned the place of the first.
    round.record(1, failed());
    round.record(2, failed());
    let end = round.close();
    assert_eq!((end.board.serving(), end.reason), (Some(0), Reason::AllZero));
}

#[test]
fn o13_the_first_success_of_the_first_round_serves_until_it_ends() {
    let mut round = Round::begin(fresh(&[100, 100, 100]), 2);
    let early = round.record(2, done(1, 1.0)).map(|verdict| (verdict.board.round, verdict.board.serving()));
    assert_eq!(early, Some((0, Some(2))));
    assert_eq!(round.record(0, done(1_000, 1.0)), None, "later and faster, but the first one serves");
    assert_eq!(round.record(2, failed()), None, "nor does it lose its place before the end");
    for member in [0, 1, 1] {
        round.record(member, done(1_000, 1.0));
    }
    assert!(round.complete());
    let end = round.close();
    assert_eq!((end.was, end.board.serving(), end.board.round), (Some(2), Some(0), 1));
}

#[test]
fn o13_a_success_of_weight_zero_does_not_settle_the_first_round() {
    let mut round = Round::begin(fresh(&[100, 0]), 1);
    assert_eq!(round.record(1, done(1, 0.1)), None);
    assert_eq!(round.record(0, done(1, 1.0)).and_then(|verdict| verdict.board.serving()), Some(0));
}

#[test]
fn o14_a_single_member_serves_and_is_still_scored() {
    let one = run(&fresh(&[100]), 1, &[&[done(1_000, 0.5)]]);
    assert_eq!((one.board.serving(), one.reason), (Some(0), Reason::OnlyMember));
    assert_eq!(scores(&one), [200_000.0]);
    assert_eq!(run(&one.board, 1, &[&[failed()]]).board.serving(), Some(0));
}

#[test]
fn more_attempts_than_asked_for_are_ignored() {
    let mut round = Round::begin(fresh(&[100]), 1);
    assert_eq!(round.due(0), Some(1));
    round.record(0, done(100, 1.0));
    assert_eq!(round.due(0), None);
    round.record(0, done(900, 1.0));
    round.record(7, done(900, 1.0));
    assert_eq!(scores(&round.close()), [10_000.0]);
}

#[test]
fn o18_lines_show_every_term_and_both_scores() {
    let members: Vec<Member> = ["near", "far"]
        .iter()
        .zip(0..)
        .map(|(&tag, id)| Member { tag: tag.into(), hop: OutboundId(id).into(), udp: true, weight: 100 })
        .collect();
    let first = run(&fresh(&[200, 100]), 1, &[&[done(81_920, 0.8)], &[done(81_920, 0.5)]]);
    assert_eq!(
        first.member_line("pool", &members, 0).to_string(),
        "optimal pool round 1: member near bytes=81920 time_ms=800 rate=102400B/s weight=200 score=20480000"
    );
    let second = run(&first.board, 1, &[&[failed()], &[done(81_920, 0.8)]]);
    assert_eq!(
        second.member_line("pool", &members, 0).to_string(),
        "optimal pool round 2: member near bytes=0 time_ms=1000 rate=0B/s weight=200 score=0"
    );
    assert_eq!(
        second.serving_line("pool", &members).to_string(),
        "optimal pool round 2: serving far score=10240000 (was near score=0): highest score"
    );
}

/// The average as the rule says it, without any cleverness.
fn plain_average(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    let kept = if rates.len() < 3 { &rates[..] } else { &rates[1..rates.len() - 1] };
    kept.iter().sum::<f64>() / kept.len() as f64
}

proptest::proptest! {
    #[test]
    fn any_round_serves_its_best_whatever_the_order_of_results(
        members in proptest::collection::vec(
            (0u32..400, proptest::collection::vec((0u64..1_000_000, 1u64..5000), 4)),
            1..6,
        ),
        count in 1usize..=4,
        seed: u64,
    ) {
        let weights: Vec<u32> = members.iter().map(|(weight, _)| *weight).collect();
        let attempt = |(bytes, millis): (u64, u64)| match bytes % 5 {
            0 => Attempt::Failed(Duration::from_millis(millis)),
            _ => Attempt::Done(Sample { bytes, time: Duration::from_millis(millis), dial: Duration::ZERO, status: 200 }),
        };
        let mut round = Round::begin(fresh(&weights), count as u32);
        let mut left: Vec<_> = members.iter().map(|(_, all)| all[..count].to_vec()).collect();
        let mut dice = seed;
        while left.iter().any(|rest| !rest.is_empty()) {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (dice >> 33) as usize % left.len();
            if !left[at].is_empty() {
                round.record(at, attempt(left[at].remove(0)));
            }
        }
        proptest::prop_assert!(round.complete());
        let verdict = round.close();
        let scores = scores(&verdict);
        for ((weight, all), score) in members.iter().zip(&scores) {
            let rates = all[..count].iter().map(|&one| match attempt(one) {
                Attempt::Done(sample) => sample.rate(),
                Attempt::Failed(_) => 0.0,
            });
            let want = plain_average(rates.collect()) * f64::from(*weight);
            // Summing and subtracting rounds a little, in proportion to the largest rate.
            proptest::prop_assert!((score - want).abs() <= 1e-9 * want.max(1e9) * f64::from(*weight).max(1.0), "{score} {want}");
        }
        let serving = verdict.board.serving().unwrap_or(usize::MAX);
        proptest::prop_assert!(scores.iter().all(|score| *score <= scores[serving]));
        let mut everyone = verdict.board.ranking.to_vec();
        everyone.sort_unstable();
        proptest::prop_assert_eq!(everyone, (0..members.len()).collect::<Vec<_>>());
    }
}
