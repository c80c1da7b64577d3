use super::super::super::board::Life;
use super::super::super::job::Outcome;
use super::super::super::sample::Sample;
use super::super::super::seen::Evidence;
use super::super::super::setup::{Plan, Rank, Setup};
use super::world::*;
use crate::addr::Network;

fn pool(members: usize) -> Setup {
    let mut plan = rounds(1);
    plan.warmup = [20, 60, 180].map(|secs| secs * SECOND).into();
    setup(&vec![100; members], Rank::Adaptive(adaptive()), Plan::Rounds(plan), true)
}

fn test(dial: f64, body: f64) -> Outcome {
    Outcome::Done(Sample { bytes: 80_000, time: secs(dial + body), dial: secs(dial), status: 200 })
}

#[test]
fn warm_up_rounds_come_early_then_the_interval() {
    let mut world = World::new(pool(1), |_, _| test(0.1, 0.4));
    world.until(1500 * SECOND);
    assert_eq!(world.starts(0), [0.0, 20.5, 81.0, 261.5, 862.0, 1462.5]);
}

#[test]
fn the_worked_example_decides_who_serves() {
    let mut turn = 0;
    let mut world = World::new(pool(2), move |job, _| {
        turn += usize::from(job.subject == Some(0));
        match job.subject {
            Some(0) => test(if turn > 6 { 1.1 } else { 0.1 }, 0.4),
            _ => test(0.2, 0.6),
        }
    });
    world.until(2000 * SECOND);
    assert_eq!((world.serving(), world.board().round), (Some(0), 6));
    let scores = world.scores();
    assert!((scores[0] - 16_000_000.0).abs() < 1.0 && (scores[1] - 10_000_000.0).abs() < 1.0, "{scores:?}");
    world.until(2200 * SECOND);
    assert_eq!(world.serving(), Some(1), "one slow dial in seven makes it unsteady: {:?}", world.scores());
    let terms = world.board().members[0].terms.expect("scored");
    assert_eq!((terms.tests, terms.availability), (7, 1.0));
    assert!(world.lines().iter().any(|line| line.contains("member a bytes=80000 time_ms=1500")
        && line.contains("tau_ms=")
        && line.contains("availability=1.00 tests=7 dials=0")));
}

#[test]
fn who_serves_goes_on_within_the_margin() {
    let mut world = World::new(pool(2), |job, _| test(0.1, if job.subject == Some(0) { 0.40 } else { 0.36 }));
    world.until(SECOND * 47 / 100);
    assert_eq!(world.serving(), Some(1), "the first word of the first round is the quicker one's");
    world.until(3000 * SECOND);
    assert_eq!(world.serving(), Some(1));
    let mut other =
        World::new(pool(2), |job, at| test(0.1, if job.subject == Some(0) || at.is_zero() { 0.40 } else { 0.36 }));
    other.until(3000 * SECOND);
    assert_eq!(other.serving(), Some(0), "9 % better is not enough: {:?}", other.scores());
    assert_eq!(other.board().why.as_deref(), Some("nobody is better by more than the margin"));
}

#[test]
fn a_failed_test_costs_availability_not_the_place() {
    let mut world = World::new(pool(2), |job, _| test(0.1, if job.subject == Some(0) { 0.2 } else { 0.9 }));
    world.until(300 * SECOND);
    world.answer(|job, _| if job.subject == Some(0) { failed(1.0) } else { test(0.1, 0.9) });
    world.until(870 * SECOND);
    let state = &world.board().members[0];
    assert_eq!(
        (world.serving(), state.life, state.terms.map(|terms| terms.availability)),
        (Some(0), Life::Up, Some(0.8))
    );
}

#[test]
fn slow_dials_of_the_serving_member_begin_a_round_early() {
    let mut world = World::new(pool(2), |job, _| test(0.1, if job.subject == Some(0) { 0.2 } else { 0.4 }));
    world.until(400 * SECOND);
    let before = world.started.len();
    for _ in 0..7 {
        world.saw(0, Evidence::Dialed(SECOND));
    }
    (0..9).for_each(|_| world.saw(1, Evidence::Dialed(SECOND)));
    assert_eq!(world.started.len(), before, "seven are few, and of others it does not matter");
    world.saw(0, Evidence::Dialed(SECOND));
    assert_eq!(world.started.len(), before + 2);
    world.until(410 * SECOND);
    assert_eq!(world.board().members[0].terms.map(|terms| terms.dials), Some(8), "they count in the score");
    world.saw(0, Evidence::Dialed(SECOND));
    assert_eq!(world.started.len(), before + 2, "not again within 45 s");
    world.until(870 * SECOND);
    assert!(
        world.starts(0).iter().any(|at| (860.0..863.0).contains(at)),
        "on top of the others: {:?}",
        world.starts(0)
    );
    // What is not asked for does not happen.
    let mut calm = pool(1);
    let Rank::Adaptive(settings) = &mut calm.groups[0].rank else { return };
    settings.early = false;
    let mut calm = World::new(calm, |_, _| test(0.1, 0.2));
    calm.until(400 * SECOND);
    let before = calm.started.len();
    (0..9).for_each(|_| calm.saw(0, Evidence::Dialed(SECOND)));
    assert_eq!(calm.started.len(), before);
}

#[test]
fn a_member_that_no_test_reached_begins_rounds_ever_less_often() {
    let mut settings = pool(2);
    settings.groups[0].guards = false;
    let Plan::Rounds(plan) = &mut settings.plan else { return };
    plan.warmup.clear();
    let mut world = World::new(settings, |job, _| if job.subject == Some(1) { failed(1.0) } else { test(0.1, 0.4) });
    for second in 1..600 {
        world.until(second * SECOND);
        world.saw(0, Evidence::Answered(SECOND));
    }
    assert_eq!(world.starts(1).len(), 7, "{:?}", world.starts(1));
}

#[test]
fn a_member_that_never_worked_is_down_and_says_why() {
    for guards in [true, false] {
        let mut settings = pool(3);
        settings.groups[0].guards = guards;
        let mut world =
            World::new(settings, |job, _| if job.subject == Some(2) { failed(1.0) } else { test(0.1, 0.4) });
        for end in [2, 300] {
            world.until(end * SECOND);
            let state = &world.board().members[2];
            assert_eq!((state.life, state.last_error.as_deref()), (Life::Down, Some("broken")), "after {end} s");
            assert!(!world.board().usable(2, Network::Tcp));
        }
        world.answer(|_, _| test(0.1, 0.4));
        world.until(2000 * SECOND);
        assert_eq!(world.board().members[2].life, Life::Up, "{:?}", world.lines());
    }
}

#[test]
fn the_first_word_after_an_outage_is_true() {
    let mut world = World::new(pool(3), |_, _| failed(0.5));
    world.until(3 * SECOND);
    assert_eq!(world.serving(), Some(0), "the round counted for nothing");
    let told = world.lines();
    let serving: Vec<&String> = told.iter().filter(|line| line.contains(": serving ")).collect();
    assert!(serving.last().is_some_and(|line| line.contains("serving a score=? (was c score=?)")), "{serving:?}");
    world.answer(|job, _| match job.subject {
        Some(0) => test(0.1, 0.4),
        _ => failed(1.0),
    });
    world.until(100 * SECOND);
    assert_eq!(world.serving(), Some(0));
    let told = world.lines();
    let decisions: Vec<&str> = world.board().decisions.iter().map(|decision| &*decision.what).collect();
    assert!(!decisions.iter().any(|what| what.contains("serving a") && what.contains("(was a ")), "{decisions:?}");
    let before = told.iter().rposition(|line| line.contains("outage is over")).expect("it ended");
    for line in told[before..].iter().filter(|line| line.contains(": serving ")) {
        assert!(line.contains(": serving a "), "nobody else works: {line}");
    }
}

#[test]
fn the_first_word_names_nobody_before_it() {
    let mut world = World::new(pool(2), |job, _| test(0.1, if job.subject == Some(0) { 0.4 } else { 0.9 }));
    world.until(2 * SECOND);
    assert_eq!(world.count("round 1: serving a score=10666667 (was none): highest score"), 1, "{:?}", world.lines());
    assert_eq!((world.count("(was a "), world.board().decisions.len()), (0, 1), "{:?}", world.lines());
}

#[test]
fn whoever_is_taken_out_does_not_give_way_to_another_that_failed() {
    // Nobody can be asked, so the round itself takes members out.
    let mut settings = pool(4);
    settings.guards.probes = false;
    let mut world = World::new(settings, |_, _| test(0.1, 0.4));
    world.until(300 * SECOND);
    world.answer(|job, _| if job.subject == Some(3) { test(0.1, 0.9) } else { failed(1.0) });
    world.until(4000 * SECOND);
    assert_eq!(world.serving(), Some(3), "{:?}", world.lines());
    for line in world.lines().iter().filter(|line| line.contains(": serving ") && !line.contains("round 1:")) {
        assert!(line.contains(": serving a ") || line.contains(": serving d "), "{line}");
    }
}

#[test]
fn a_fenced_member_is_not_made_to_serve_by_the_first_results() {
    let mut settings = pool(3);
    settings.groups[0].fenced = vec![1];
    let mut world = World::new(settings, |job, _| match job.subject {
        Some(0) => failed(0.1),
        Some(1) => test(0.1, 0.2),
        _ => test(0.1, 0.9),
    });
    world.until(SECOND * 2);
    assert_eq!(world.count(": serving b "), 0, "{:?}", world.lines());
    assert_eq!(world.serving(), Some(2));
}
