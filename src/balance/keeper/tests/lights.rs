use std::time::Duration;

use super::super::super::board::Life;
use super::super::super::job::Kind;
use super::super::super::setup::{Load, Plan, Rank, Setup};
use super::world::*;
use crate::addr::{BalancerId, Hop};

/// The seed's TCP check.
fn seed_check(members: usize, returns: u32) -> Setup {
    let plan = Plan::Beats { interval: 30 * SECOND, timeout: 5 * SECOND, spread: false };
    setup(&vec![100; members], Rank::List { returns }, plan, false)
}

fn beats(members: usize, rank: Rank, guards: bool) -> Setup {
    let plan = Plan::Beats { interval: 10 * SECOND, timeout: 5 * SECOND, spread: true };
    setup(&vec![100; members], rank, plan, guards)
}

fn lives(world: &World) -> Vec<Life> {
    world.board().members.iter().map(|state| state.life).collect()
}

#[test]
fn the_seeds_check_begins_at_once_and_turns_are_told_once() {
    let mut world =
        World::new(seed_check(2, 1), |job, _| if job.subject == Some(0) { failed(1.0) } else { alive(0.1) });
    world.until(100 * SECOND);
    assert_eq!(world.starts(0), [0.0, 31.0, 62.0, 93.0], "counted from the end of its own probe");
    assert_eq!((world.starts(1)[0], world.started[0].1.kind), (0.0, Kind::Light));
    assert_eq!(world.count("balancer member a is now down"), 1);
    assert_eq!((world.count("is now up"), world.serving()), (0, Some(1)), "a first success turns nothing");
    world.answer(|_, _| alive(0.1));
    world.until(130 * SECOND);
    assert_eq!((world.count("balancer member a is now up"), world.serving()), (1, Some(0)));
    assert_eq!(world.count("failover pool: serving a (was b): first of the list that works"), 1);
    assert_eq!(world.board().last_up, Some(0));
}

#[test]
fn a_dead_member_returns_after_as_many_successes_as_asked_for() {
    let mut world =
        World::new(seed_check(2, 3), |job, _| if job.subject == Some(0) { failed(0.0) } else { alive(0.1) });
    world.until(SECOND);
    world.answer(|_, _| alive(0.0));
    world.until(61 * SECOND);
    assert_eq!(world.serving(), Some(1));
    world.until(91 * SECOND);
    assert_eq!(world.serving(), Some(0), "three in a row");
}

#[test]
fn the_seed_says_of_each_that_it_is_down_and_serves_the_first() {
    let mut world = World::new(seed_check(2, 1), |_, _| failed(1.0));
    world.until(5 * SECOND);
    assert!(world.board().all_down() && !world.board().outage);
    assert_eq!((world.count("is now down"), world.serving()), (2, Some(0)));
    assert_eq!(world.statuses, [(0, false)]);
    world.answer(|_, _| alive(0.1));
    world.until(40 * SECOND);
    assert_eq!(world.statuses, [(0, false), (0, true)], "told upwards only when it flips");
}

#[test]
fn o23_where_guards_are_lives_freeze_when_all_fail() {
    let mut world = World::new(beats(3, Rank::Delay, true), |job, _| alive(0.1 + job.subject.unwrap_or(0) as f64));
    world.until(100 * SECOND);
    world.answer(|_, _| failed(1.0));
    world.until(130 * SECOND);
    assert_eq!(lives(&world), [Life::Up; 3], "as they were");
    assert!(world.board().outage && world.count("an outage of the network is suspected") == 1);
    world.until(400 * SECOND);
    assert_eq!(world.count("an outage of the network is suspected"), 1, "told once");
    world.answer(|job, _| if job.subject == Some(1) { failed(1.0) } else { alive(0.1) });
    world.until(430 * SECOND);
    assert!(!world.board().outage);
    assert_eq!(lives(&world), [Life::Up, Life::Down, Life::Up], "one that really died is seen after it");
    // A single member is no network.
    let mut one = World::new(beats(1, Rank::Delay, true), |_, _| failed(1.0));
    one.until(30 * SECOND);
    assert_eq!((lives(&one), one.board().outage), (vec![Life::Down], false));
    // Without guards each is what its last probe says.
    let mut bare = World::new(beats(2, Rank::Delay, false), |_, _| failed(1.0));
    bare.until(30 * SECOND);
    assert!(bare.board().all_down());
}

#[test]
fn least_ping_serves_the_shortest_delay_and_untested_members_count_as_alive() {
    let mut world = World::new(beats(3, Rank::Delay, false), |job, _| match job.subject {
        Some(0) => alive(3.0),
        Some(1) => alive(0.2),
        _ => alive(1.5),
    });
    assert_eq!(world.serving(), Some(0), "nothing is known yet");
    world.until(20 * SECOND);
    assert_eq!(&*world.board().ranking, [1, 2, 0]);
    world.answer(|job, _| if job.subject == Some(1) { failed(1.0) } else { alive(1.0) });
    world.until(40 * SECOND);
    assert_eq!(&*world.board().ranking, [0, 2, 1], "of equals the first of the list; the dead last");
}

#[test]
fn the_sweep_asks_one_after_another_and_one_failure_is_death() {
    let plan = Plan::Sweep { interval: 10 * SECOND, timeout: 5 * SECOND, concurrent: false };
    let mut world = World::new(setup(&[100; 2], Rank::Delay, plan, false), |_, _| alive(0.0));
    world.until(36 * SECOND);
    assert_eq!((world.starts(0), world.starts(1)), (vec![0.0, 15.0, 35.0], vec![5.0, 25.0]));
    world.answer(|_, _| failed(0.0));
    world.until(46 * SECOND);
    assert_eq!(lives(&world), [Life::Up, Life::Down]);
    assert_eq!(world.board().members[0].next, Some(55 * SECOND));
}

fn burst(rank: Rank, connectivity: bool, guards: bool) -> Setup {
    let plan = Plan::Burst { interval: 10 * SECOND, timeout: 5 * SECOND, sampling: 10, connectivity };
    setup(&[100; 2], rank, plan, guards)
}

#[test]
fn trap_4_in_bursts_one_success_of_ten_is_life_as_xray_has_it() {
    let mut world = World::new(burst(Rank::Delay, false, false), |_, _| alive(0.1));
    world.until(100 * SECOND);
    assert_eq!(world.board().members[0].stats.all, 10, "the last ten");
    world.answer(|job, _| if job.subject == Some(0) { failed(0.1) } else { alive(0.1) });
    world.until(130 * SECOND);
    assert_eq!(lives(&world)[0], Life::Up);
    world.until(260 * SECOND);
    assert_eq!(lives(&world)[0], Life::Down);
}

#[test]
fn a_failure_without_a_network_is_thrown_away_where_that_is_asked() {
    let mut world = World::new(burst(Rank::Delay, true, false), |_, _| alive(0.1));
    world.until(100 * SECOND);
    let before = world.board().members[0].stats;
    world.answer(|_, _| failed(0.1));
    world.until(190 * SECOND);
    assert!(world.started.iter().any(|(_, job)| job.kind == Kind::Direct && job.subject.is_none()));
    assert_eq!((world.board().members[0].stats.failed, before.failed, lives(&world)[0]), (0, 0, Life::Up));
    world.answer(|job, _| if job.kind == Kind::Direct { alive(0.1) } else { failed(0.1) });
    world.until(260 * SECOND);
    assert!(world.board().members[0].stats.failed > 0, "with one it counts");
}

#[test]
fn least_load_takes_the_steadiest() {
    let load = Load { expected: 1, ..Load::default() };
    let mut swing = 0;
    let mut world = World::new(burst(Rank::Load(load.clone()), false, false), move |job, _| {
        swing = 1 - swing;
        if job.subject == Some(0) { alive(0.04 + 0.02 * f64::from(swing)) } else { alive(0.3) }
    });
    assert_eq!(world.board().taken, 2, "while nothing is known all share");
    world.until(100 * SECOND);
    assert_eq!((&*world.board().ranking, world.board().taken), (&[1, 0][..], 1));
    // Without bursts the last delay is all there is.
    let mut beats =
        World::new(beats(2, Rank::Load(load), false), |job, _| alive(0.3 - 0.2 * job.subject.unwrap_or(0) as f64));
    beats.until(20 * SECOND);
    assert_eq!(beats.serving(), Some(1));
}

#[test]
fn measuring_rests_while_no_flow_comes() {
    use super::super::super::seen::Evidence;
    let mut setup = beats(2, Rank::Delay, false);
    setup.idle = Some(60 * SECOND);
    let mut world = World::new(setup, |_, _| alive(0.1));
    world.until(1000 * SECOND);
    let probes = world.started.len();
    assert!(world.started.iter().all(|(at, _)| *at <= 60 * SECOND) && probes > 8, "{probes}");
    assert_eq!(world.keeper.next_wake(), None);
    world.saw(0, Evidence::Dialed(SECOND));
    world.until(1005 * SECOND);
    assert!(world.started.len() > probes);
}

#[test]
fn boards_are_made_no_more_often_than_they_can_be_read() {
    let plan = Plan::Beats { interval: SECOND, timeout: SECOND, spread: true };
    let mut world = World::new(setup(&vec![100; 500], Rank::Delay, plan, false), |_, _| alive(0.1));
    world.until(10 * SECOND);
    let (published, probes) = (world.published, world.started.len());
    assert!(probes > 3500 && published <= 220, "{probes} probes, {published} boards");
    assert_eq!(world.boards[0].made.as_secs(), 9);
}

#[test]
fn a_balancer_that_is_a_member_lives_as_it_says() {
    let mut setup = seed_check(2, 1);
    setup.subjects[0].hop = Hop::Balancer(BalancerId(1));
    let mut world = World::new(setup, |_, _| alive(0.1));
    world.until(SECOND);
    world.status(0, false);
    assert_eq!((world.serving(), lives(&world)[0]), (Some(1), Life::Down));
    assert_eq!(world.count("balancer member a is now down"), 1);
    world.status(0, true);
    assert_eq!((world.serving(), lives(&world)[0]), (Some(0), Life::Up));
}

#[test]
fn trap_18_what_light_probes_showed_survives() {
    let mut world =
        World::new(seed_check(3, 1), |job, _| if job.subject == Some(0) { failed(0.1) } else { alive(0.1) });
    world.until(SECOND);
    let next = World::with(seed_check(3, 1), &world.remember(), |_, _| failed(4.0));
    assert_eq!((lives(&next), next.serving()), (vec![Life::Down, Life::Up, Life::Up], Some(1)));
    assert_eq!(next.board().members[1].delay, Some(Duration::from_millis(100)));
}

/// Other probe settings are no other member: a reload that changes an interval must not send flows to the dead.
#[test]
fn who_works_survives_other_probe_settings() {
    let mut world =
        World::new(seed_check(3, 1), |job, _| if job.subject == Some(0) { failed(0.1) } else { alive(0.1) });
    world.until(SECOND);
    let mut other = seed_check(3, 1);
    other.print ^= 1;
    let next = World::with(other.clone(), &world.remember(), |_, _| failed(4.0));
    assert_eq!((lives(&next), next.serving()), (vec![Life::Down, Life::Up, Life::Up], Some(1)));
    assert_eq!(next.board().members[1].delay, None, "how fast it was came from other measurements");
    other.subjects[0].print ^= 1;
    let changed = World::with(other, &world.remember(), |_, _| failed(4.0));
    assert_eq!(lives(&changed)[0], Life::Untested, "another definition");
}
