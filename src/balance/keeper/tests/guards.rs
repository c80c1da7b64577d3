use super::super::super::board::{Life, Stand};
use super::super::super::job::{Job, Kind, Outcome};
use super::super::super::seen::Evidence;
use super::super::super::setup::{Plan, Rank, Setup};
use super::world::*;
use crate::addr::Network;
use std::time::Duration;

fn pool(members: usize, rank: Rank) -> Setup {
    setup(&vec![100; members], rank, Plan::Rounds(rounds(1)), true)
}

fn dead(whom: usize) -> impl FnMut(&Job, Duration) -> Outcome {
    move |job, _| match (job.subject == Some(whom), job.kind) {
        (true, _) => failed(0.3),
        (false, Kind::Test) => done(80_000, 0.5),
        _ => alive(0.1),
    }
}

fn nobody() -> impl FnMut(&Job, Duration) -> Outcome {
    |_, _| failed(5.0)
}

fn all() -> impl FnMut(&Job, Duration) -> Outcome {
    dead(usize::MAX)
}

fn out(world: &World, member: usize) -> bool {
    world.board().members[member].stand != Stand::In
}

fn lights(world: &World, member: usize) -> Vec<f64> {
    let of = world.started.iter().filter(|(_, job)| job.subject == Some(member) && job.kind == Kind::Life);
    of.map(|(at, _)| (at.as_secs_f64() * 10.0).round() / 10.0).collect()
}

#[test]
fn o20_o21_evidence_of_death_is_confirmed_and_the_member_goes_out_at_once() {
    let mut world = World::new(pool(3, Rank::Adaptive(adaptive())), |job, _| {
        done(80_000, 0.5 + job.subject.unwrap_or(0) as f64 / 2.0)
    });
    world.until(100 * SECOND);
    assert_eq!(world.serving(), Some(0));
    world.answer(dead(0));
    world.saw(0, Evidence::TimedOut);
    assert!(lights(&world, 1).is_empty(), "one timeout is not enough");
    world.saw(0, Evidence::Silent);
    assert_eq!((lights(&world, 0), lights(&world, 2)), (vec![100.0], vec![100.0]), "all at once");
    world.until(100 * SECOND + SECOND / 2);
    // Trap 7: who serves is chosen anew in the same moment.
    assert!(out(&world, 0) && world.serving() == Some(1));
    assert_eq!(world.board().members[0].stand, Stand::Ejected { until: Duration::from_millis(130_300), times: 1 });
    assert_eq!(world.count("balancer member a is out for 30 s at least"), 1);
    assert!(world.lines().iter().any(|line| line.ends_with("the member before it was taken out")));
}

#[test]
fn o20_a_refusal_is_enough_and_a_suspect_that_answers_stays() {
    let mut world = World::new(pool(3, Rank::Rate), all());
    world.until(100 * SECOND);
    world.saw(0, Evidence::Refused);
    assert_eq!(lights(&world, 0).len(), 1);
    world.until(110 * SECOND);
    assert!(!out(&world, 0) && world.count("gave a sign of life and stays") == 1);
    world.saw(0, Evidence::TimedOut);
    world.saw(0, Evidence::Dialed(SECOND));
    world.saw(0, Evidence::TimedOut);
    assert_eq!(lights(&world, 0).len(), 1, "a success clears what was against it");
}

#[test]
fn o20_silence_of_a_second_and_a_half_is_death_when_another_answers() {
    let mut world = World::new(pool(2, Rank::Rate), all());
    world.until(100 * SECOND);
    world.answer(|job, _| if job.subject == Some(0) { failed(5.0) } else { alive(0.2) });
    world.saw(0, Evidence::Refused);
    world.until(Duration::from_millis(101_400));
    assert!(!out(&world, 0));
    world.until(Duration::from_millis(101_500));
    assert!(out(&world, 0));
}

#[test]
fn o22_it_returns_after_quarantine_and_two_signs_of_life_and_is_tested() {
    let mut world = World::new(pool(2, Rank::Adaptive(adaptive())), dead(1));
    world.answer(all());
    world.until(700 * SECOND);
    world.answer(dead(0));
    world.saw(0, Evidence::Refused);
    world.until(704 * SECOND);
    assert!(out(&world, 0));
    world.answer(all());
    world.until(760 * SECOND);
    assert_eq!(lights(&world, 0), [700.0, 705.3, 725.4, 745.5], "the third one is over the quarantine");
    assert!(!out(&world, 0) && world.count("balancer member a is back") == 1);
    assert_eq!(world.starts(0).last(), Some(&745.6), "a full test at once");
    assert_eq!(
        world.board().members[0].terms.map(|terms| terms.availability),
        Some(1.0),
        "none was made while it was out"
    );
}

#[test]
fn o21_quarantine_grows_and_light_probes_go_on() {
    let mut world = World::new(pool(2, Rank::Rate), all());
    world.until(50 * SECOND);
    for (times, quarantine) in [(1, 30), (2, 60)] {
        world.answer(dead(0));
        let now = world.now;
        world.saw(0, Evidence::Refused);
        world.pass(SECOND);
        let until = now + Duration::from_millis(300) + quarantine * SECOND;
        assert_eq!(world.board().members[0].stand, Stand::Ejected { until, times });
        world.answer(all());
        world.pass(quarantine * SECOND + 40 * SECOND);
        assert!(!out(&world, 0), "{times}");
    }
    // From now on it flaps: it must be dead for a minute.
    world.answer(dead(0));
    for _ in 0..12 {
        world.saw(0, Evidence::Refused);
        world.pass(5 * SECOND);
        assert!(!out(&world, 0));
    }
    world.saw(0, Evidence::Refused);
    world.pass(SECOND);
    let stand = world.board().members[0].stand;
    assert!(matches!(stand, Stand::Ejected { times: 3, .. }), "{stand:?}");
}

#[test]
fn o23_nobody_answers_nothing_changes() {
    let mut world = World::new(pool(3, Rank::Adaptive(adaptive())), |job, _| {
        done(80_000, 0.5 + job.subject.unwrap_or(0) as f64 / 2.0)
    });
    world.until(100 * SECOND);
    let (scores, serving) = (world.scores(), world.serving());
    world.answer(nobody());
    for _ in 0..20 {
        world.saw(0, Evidence::TimedOut);
        world.pass(SECOND);
    }
    world.until(1000 * SECOND);
    assert_eq!((world.scores(), world.serving()), (scores, serving), "trap 2");
    assert!((0..3).all(|member| !out(&world, member)) && world.board().outage);
    assert_eq!(world.count("an outage of the network is suspected"), 1, "told once");
    let looks: Vec<_> = lights(&world, 1).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(looks.iter().skip(4).all(|pause| (60.0..70.0).contains(pause)), "patience: {looks:?}");
    world.answer(all());
    world.pass(70 * SECOND);
    assert!(!world.board().outage && world.count("the outage is over") == 1);
}

#[test]
fn o23_a_round_in_which_everything_failed_is_discarded_and_made_again() {
    let mut world = World::new(pool(2, Rank::Rate), all());
    world.until(100 * SECOND);
    let scores = world.scores();
    world.answer(nobody());
    world.until(700 * SECOND);
    let tests: Vec<_> =
        world.started.iter().filter(|(_, job)| job.kind == Kind::Test && job.subject == Some(0)).collect();
    let starts: Vec<_> = tests.iter().map(|(at, _)| at.as_millis() / 100).collect();
    assert_eq!(starts[..5], [0, 6005, 6155, 6405, 6855], "after 10, 20, 40 s");
    assert_eq!((world.scores(), world.board().round), (scores, 1));
    assert_eq!(world.count("an outage of the network is suspected"), 1);
}

#[test]
fn o23_a_first_round_without_any_answer_leaves_all_untested() {
    let mut world = World::new(pool(2, Rank::Rate), |_, _| failed(1.0));
    world.until(8 * SECOND);
    assert!(world.board().outage && world.serving() == Some(0));
    assert!(world.board().members.iter().all(|state| state.life == Life::Untested));
    world.answer(all());
    world.until(30 * SECOND);
    assert!(!world.board().outage && world.board().round > 0 && world.scores().len() == 2);
}

#[test]
fn o24_the_last_one_is_never_ejected() {
    let mut world = World::new(pool(3, Rank::Rate), all());
    world.until(100 * SECOND);
    for member in [0, 1, 2] {
        // Only the members before this one are dead by now, and one keeps answering.
        world.answer(
            move |job, _| if job.subject.is_some_and(|at| at <= member && at < 2) { failed(0.1) } else { alive(0.1) },
        );
        world.saw(member, Evidence::Refused);
        world.pass(3 * SECOND);
    }
    assert_eq!([0, 1, 2].map(|member| out(&world, member)), [true, true, false]);
    world.answer(|_, _| failed(0.1));
    for _ in 0..5 {
        world.saw(2, Evidence::Refused);
        world.pass(SECOND);
    }
    assert!(!out(&world, 2) && world.serving() == Some(2));
    assert!(world.statuses.is_empty(), "somebody was there all the time");
    // Nor in any other balancer that wants guards.
    let mut two = pool(3, Rank::Rate);
    let mut small = two.groups[0].clone();
    (small.tag, small.members) = ("small".into(), vec![0]);
    two.groups.push(small);
    let mut world = World::new(two, dead(0));
    world.until(100 * SECOND);
    world.saw(0, Evidence::Refused);
    world.pass(3 * SECOND);
    assert!(!out(&world, 0));
}

#[test]
fn guards_that_are_off_suspect_nobody() {
    let mut bare = pool(2, Rank::Rate);
    bare.groups[0].guards = false;
    let mut world = World::new(bare, all());
    world.until(100 * SECOND);
    world.answer(dead(0));
    (0..9).for_each(|_| world.saw(0, Evidence::Refused));
    world.until(200 * SECOND);
    assert!(!out(&world, 0) && lights(&world, 0).is_empty());
    assert_eq!(world.board().members[0].last_error.as_deref(), Some("a flow was refused"));
}

#[test]
fn without_any_plan_real_flows_are_the_evidence() {
    let bare = setup(&[100; 3], Rank::None { returns: 1 }, Plan::Nothing, true);
    let mut world = World::new(bare.clone(), dead(1));
    assert!(world.board().ranking.is_empty());
    world.saw(0, Evidence::Dialed(SECOND));
    world.pass(SECOND);
    assert_eq!(world.board().members[0].life, Life::Up);
    world.saw(1, Evidence::Refused);
    world.pass(SECOND);
    assert!(out(&world, 1));
    world.answer(all());
    world.pass(60 * SECOND);
    assert!(!out(&world, 1) && world.board().members[1].life == Life::Up);
    // Nobody can be asked: another one's success speaks.
    let mut mute = bare;
    mute.guards.probes = false;
    let mut world = World::new(mute, nobody());
    world.saw(1, Evidence::Refused);
    assert!(!out(&world, 1), "nothing shows that it is not the network");
    world.saw(0, Evidence::Dialed(SECOND));
    world.saw(1, Evidence::Refused);
    assert!(out(&world, 1) && world.started.is_empty());
    world.pass(31 * SECOND);
    assert!(!out(&world, 1), "its quarantine is all there is");
}

#[test]
fn light_plans_use_their_own_probes() {
    let plan = Plan::Beats { interval: 10 * SECOND, timeout: 3 * SECOND, spread: true };
    let mut world = World::new(setup(&[100; 2], Rank::List { returns: 1 }, plan, true), all());
    world.until(50 * SECOND);
    world.answer(dead(0));
    world.saw(0, Evidence::Refused);
    world.pass(SECOND);
    assert!(out(&world, 0) && world.serving() == Some(1));
    assert!(world.started.iter().all(|(_, job)| job.kind == Kind::Light && job.timeout == 3 * SECOND));
    world.answer(all());
    world.pass(60 * SECOND);
    assert!(!out(&world, 0) && world.serving() == Some(0));
}

#[test]
fn datagrams_have_lives_of_their_own() {
    let mut world = World::new(pool(2, Rank::Rate), all());
    world.until(10 * SECOND);
    let udp = |world: &World| world.board().members[0].life_udp;
    (0..5).for_each(|_| world.saw_on(0, Network::Udp, Evidence::Silent));
    assert_eq!(udp(&world), Life::Untested, "nobody else carried any");
    world.saw_on(1, Network::Udp, Evidence::Answered(SECOND));
    world.saw_on(0, Network::Udp, Evidence::Silent);
    world.pass(SECOND);
    assert_eq!((udp(&world), out(&world, 0)), (Life::Down, false));
    assert!(world.board().usable(0, Network::Tcp) && !world.board().usable(0, Network::Udp));
    world.pass(60 * SECOND);
    assert_eq!(udp(&world), Life::Untested);
    world.saw_on(0, Network::Udp, Evidence::Answered(SECOND));
    world.pass(SECOND);
    assert_eq!(udp(&world), Life::Up);
}

#[test]
fn of_a_thousand_only_some_are_asked() {
    let mut world = World::new(setup(&vec![100; 1000], Rank::None { returns: 1 }, Plan::Nothing, true), dead(7));
    world.saw(7, Evidence::Refused);
    assert!((2..=17).contains(&world.started.len()), "{}", world.started.len());
    world.pass(SECOND);
    assert!(out(&world, 7));
}
