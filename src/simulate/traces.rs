//! The ten traces T1 to T10: what happens to real members, one trouble a trace.
//!
//! Moments are no multiples of probe periods: outages that begin when a probe is due flatter whoever probes by the clock.

use super::draw::Draw;
use super::network::{Health, World};
use super::sketch::{Bursts, HOUR, steady};

/// A trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trace {
    /// Its short name.
    pub name: &'static str,
    /// What happens in it.
    pub about: &'static str,
    /// Makes the world of a seed.
    pub make: fn(u64) -> World,
}

/// All of them, in order.
pub(super) const TRACES: [Trace; 10] = [
    Trace { name: "T1", about: "stable", make: stable },
    Trace { name: "T2", about: "evening bursts", make: diurnal },
    Trace { name: "T3", about: "flapping", make: flapping },
    Trace { name: "T4", about: "lossy trap", make: lossy_trap },
    Trace { name: "T5", about: "outages", make: outages },
    Trace { name: "T6", about: "all down", make: all_down },
    Trace { name: "T7", about: "new member", make: new_member },
    Trace { name: "T8", about: "throttle", make: throttle },
    Trace { name: "T9", about: "equals", make: equals },
    Trace { name: "T10", about: "crossover", make: crossover },
];

/// Paths of the traces in which members die.
const THREE: [(f64, f64, f64); 3] = [(50.0, 8.0, 0.0002), (120.0, 5.0, 0.0002), (180.0, 6.0, 0.0002)];

/// Nothing happens; the nearest member is not the fastest.
fn stable(seed: u64) -> World {
    let paths = [(60.0, 2.0, 0.0002), (90.0, 6.0, 0.0002), (150.0, 4.0, 0.0002), (220.0, 8.0, 0.0002)];
    steady("T1", seed, 6 * HOUR, &paths)
}

/// The best member has evenings full of short bursts of loss, the third a milder kind.
fn diurnal(seed: u64) -> World {
    let paths = [(50.0, 5.0, 0.0002), (110.0, 4.0, 0.0005), (180.0, 6.0, 0.0005)];
    let mut world = steady("T2", seed, 24 * HOUR, &paths);
    let evening = Bursts { good: 40.0, bad: 20.0, loss: 0.10, rate: 0.5, rtt: 0.03 };
    evening.over(&mut world.paths[0], 18 * HOUR..24 * HOUR, Draw::of([seed, 0]));
    let milder = Bursts { good: 120.0, bad: 20.0, loss: 0.05, rate: 0.7, rtt: 0.02 };
    milder.over(&mut world.paths[2], 19 * HOUR..23 * HOUR, Draw::of([seed + 1, 2]));
    world
}

/// The best member is up for a minute or two and gone for half a minute, for two hours.
fn flapping(seed: u64) -> World {
    let mut world = steady("T3", seed, 4 * HOUR, &[(50.0, 8.0, 0.0002), (120.0, 3.0, 0.0002), (160.0, 4.0, 0.0002)]);
    let (mut at, end) = (HOUR, 3 * HOUR);
    for turn in 1.. {
        if at >= end {
            break;
        }
        let up = (60.0 + 60.0 * Draw::of([seed, turn, 31]).uniform()) as usize;
        let down = (20.0 + 40.0 * Draw::of([seed, turn, 32]).uniform()) as usize;
        world.paths[0].fail((at + up).min(end)..end.min(at + up + down), Health::Silent);
        at += up + down;
    }
    world
}

/// The member with the shortest delay loses packets, so that it is the slowest.
fn lossy_trap(seed: u64) -> World {
    steady("T4", seed, 4 * HOUR, &[(30.0, 10.0, 0.05), (120.0, 6.0, 0.0005), (170.0, 8.0, 0.0002)])
}

/// The best member dies six times, for as short as 45 s and as long as half an hour.
fn outages(seed: u64) -> World {
    let mut world = steady("T5", seed, 8 * HOUR, &THREE);
    let mut at = 1800;
    for (turn, lasts) in [45, 180, 600, 1800, 60, 900].into_iter().enumerate() {
        at += (1500.0 * Draw::of([seed, turn as u64, 41]).uniform()) as usize + 600;
        let health = if turn % 3 == 2 { Health::Refusing } else { Health::Silent };
        world.paths[0].fail(at..at + lasts, health);
        at += lasts + 1200;
    }
    world
}

/// Nobody answers for a while: it is our own line.
fn all_down(seed: u64) -> World {
    let mut world = steady("T6", seed, 4 * HOUR, &THREE);
    let mut at = 2000;
    for (turn, lasts) in [600, 90, 25, 300].into_iter().enumerate() {
        at += (900.0 * Draw::of([seed, turn as u64, 42]).uniform()) as usize + 300;
        world.paths.iter_mut().for_each(|path| path.fail(at..at + lasts, Health::Silent));
        at += lasts + 900;
    }
    world
}

/// After an hour a member appears that is much better than all others.
fn new_member(seed: u64) -> World {
    let paths = [(140.0, 3.0, 0.0005), (160.0, 4.0, 0.0005), (200.0, 5.0, 0.0002), (45.0, 8.0, 0.0002)];
    let mut world = steady("T7", seed, 3 * HOUR, &paths);
    world.paths[3].born = HOUR as f64 + 137.0;
    world
}

/// The best member loses its rate over four hours while its delay stays.
fn throttle(seed: u64) -> World {
    let mut world = steady("T8", seed, 6 * HOUR, &[(50.0, 8.0, 0.0002), (90.0, 4.0, 0.0002), (150.0, 5.0, 0.0002)]);
    for second in HOUR..6 * HOUR {
        let part = (second - HOUR) as f64 / (4 * HOUR) as f64;
        let rate = if second < 5 * HOUR { 8e6 * libm::pow(0.0125, part) } else { 1e5 };
        world.paths[0].alter(second..second + 1, |second| second.rate = rate);
    }
    world
}

/// Four equals with short bad moments: there is little to gain and much to switch.
fn equals(seed: u64) -> World {
    let mut world = steady("T9", seed, 6 * HOUR, &[(100.0, 4.0, 0.001); 4]);
    let moments = Bursts { good: 300.0, bad: 10.0, loss: 0.03, rate: 0.8, rtt: 0.03 };
    for (path, member) in world.paths.iter_mut().zip(0..) {
        moments.over(path, 0..6 * HOUR, Draw::of([seed + member, member]));
    }
    world
}

/// Halfway the best member becomes slow and lossy, and the second is the best.
fn crossover(seed: u64) -> World {
    let mut world = steady("T10", seed, 6 * HOUR, &[(60.0, 6.0, 0.0005), (80.0, 6.0, 0.0005), (200.0, 3.0, 0.0005)]);
    world.paths[0].alter(3 * HOUR..6 * HOUR, |second| {
        second.rtt += 0.09;
        second.loss = 0.01;
    });
    world
}
