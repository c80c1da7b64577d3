//! How worlds are drawn: steady paths first, then what happens to them.

use std::ops::Range;

use super::draw::Draw;
use super::network::{Health, Path, Second, World};

/// Seconds of an hour.
pub(super) const HOUR: usize = 3600;

/// A world of steady paths, each given as round trip in ms, MB/s and loss. Round trips breathe by 5 %.
pub(super) fn steady(name: &'static str, seed: u64, length: usize, paths: &[(f64, f64, f64)]) -> World {
    let path = |(member, &(rtt, rate, loss)): (usize, &(f64, f64, f64))| Path {
        born: 0.0,
        seconds: (0..length)
            .map(|second| {
                let breath = libm::sin(second as f64 / 97.0 + member as f64);
                Second { rtt: rtt / 1e3 * (1.0 + 0.05 * breath), rate: rate * 1e6, loss, health: Health::Fine }
            })
            .collect(),
    };
    World { name, seed, length, paths: paths.iter().enumerate().map(path).collect() }
}

impl Path {
    /// Changes its seconds of this range; what lies past its end is nothing.
    pub(super) fn alter(&mut self, range: Range<usize>, change: impl Fn(&mut Second)) {
        let end = range.end.min(self.seconds.len());
        self.seconds[range.start.min(end)..end].iter_mut().for_each(change);
    }

    /// Breaks it.
    pub(super) fn fail(&mut self, range: Range<usize>, health: Health) {
        self.alter(range, |second| second.health = health);
    }
}

/// Good and bad times that follow each other by chance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bursts {
    /// Mean length of a good time, in seconds.
    pub good: f64,
    /// Of a bad one.
    pub bad: f64,
    /// Loss in a bad one.
    pub loss: f64,
    /// What the rate is multiplied with.
    pub rate: f64,
    /// What the round trip gains, in seconds.
    pub rtt: f64,
}

impl Bursts {
    /// Lays bursts over a part of a path; `chance` names the member's draws.
    pub(super) fn over(&self, path: &mut Path, part: Range<usize>, chance: Draw) {
        for bad in self.bad_times(part, chance) {
            path.alter(bad, |second| {
                second.loss = self.loss;
                second.rate *= self.rate;
                second.rtt += self.rtt;
            });
        }
    }

    /// The bad times within a part.
    pub(super) fn bad_times(&self, part: Range<usize>, chance: Draw) -> Vec<Range<usize>> {
        let (mut at, mut found) = (part.start, Vec::new());
        for turn in 1_u64.. {
            if at >= part.end {
                break;
            }
            let bad = turn % 2 == 0;
            let mean = if bad { self.bad } else { self.good };
            let lasts = ((chance.with(turn).with(21).exponential() * mean) as usize).max(1);
            if bad {
                found.push(at..part.end.min(at + lasts));
            }
            at += lasts;
        }
        found
    }
}
