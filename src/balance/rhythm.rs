//! When light probes are due. Each kind of plan has its own rhythm; what they have in common stands here.

mod beats;
mod burst;
mod sweep;

use std::time::Duration;

use super::chance::Chance;
use super::setup::{Plan, Subject};

/// The rhythm of a plan.
#[derive(Debug, Clone)]
pub(super) enum Rhythm {
    /// There are no light probes.
    None,
    /// Each member on its own.
    Beats(beats::Beats),
    /// One after another, or all at once.
    Sweep(sweep::Sweep),
    /// Random moments in a window.
    Burst(burst::Burst),
}

impl Rhythm {
    /// The rhythm of a plan that begins now.
    pub(super) fn new(plan: &Plan, subjects: &[Subject], now: Duration, chance: &mut Chance) -> Self {
        let mut watched: Vec<usize> = (0..subjects.len()).filter(|&at| subjects[at].watched).collect();
        match *plan {
            Plan::Nothing | Plan::Rounds(_) => Self::None,
            Plan::Beats { interval, spread, .. } => {
                Self::Beats(beats::Beats::new(&watched, subjects.len(), interval, spread, now, chance))
            }
            Plan::Sweep { interval, concurrent, .. } => {
                watched.sort_by_key(|&at| &subjects[at].tag);
                Self::Sweep(sweep::Sweep::new(watched, interval, concurrent, now, chance))
            }
            Plan::Burst { interval, sampling, .. } => {
                Self::Burst(burst::Burst::new(watched, interval, sampling, now, chance))
            }
        }
    }

    /// When somebody is due next; absent while all are being probed.
    pub(super) fn next(&self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Beats(beats) => beats.next(),
            Self::Sweep(sweep) => sweep.next(),
            Self::Burst(burst) => burst.next(),
        }
    }

    /// Who is due.
    pub(super) fn due(&mut self, now: Duration, chance: &mut Chance) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::Beats(beats) => beats.due(now),
            Self::Sweep(sweep) => sweep.due(now),
            Self::Burst(burst) => burst.due(now, chance),
        }
    }

    /// Takes the end of somebody's probe.
    pub(super) fn done(&mut self, subject: usize, now: Duration, chance: &mut Chance) {
        match self {
            Self::Beats(beats) => beats.done(subject, now, chance),
            Self::Sweep(sweep) => sweep.done(now, chance),
            Self::None | Self::Burst(_) => {}
        }
    }

    /// Writes down when each subject is due next.
    pub(super) fn tell(&self, next: &mut [Option<Duration>]) {
        match self {
            Self::None => {}
            Self::Beats(beats) => beats.tell(next),
            Self::Sweep(sweep) => sweep.tell(next),
            Self::Burst(burst) => burst.tell(next),
        }
    }
}
