//! Kinds of members that the families are made of: what a path is like, and what happens to it.

use std::f64::consts::PI;

use super::draw::Draw;
use super::network::{Health, Path, Second};
use super::sketch::Bursts;

/// A kind of member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// A long time of heavy loss and delay, through which it still answers often enough to tempt.
    Brownout,
    /// Long crowded times: slow, late, lossy.
    Crowded,
    /// Never there.
    Dead,
    /// Good, until it is gone for good.
    Dying,
    /// Far away, and steady.
    Far,
    /// Fast, and gone for some seconds every few minutes.
    Flaky,
    /// A short gap at a fixed period, with a lossy time after it, as when a phone changes cells.
    Handover,
    /// Delay that jumps about.
    Jittery,
    /// Rare outages of minutes.
    LongOutages,
    /// Very near, and steady.
    Near,
    /// Hardly ever there.
    NearlyDead,
    /// Behind a satellite.
    Orbit,
    /// Gone for a tenth of a fixed period.
    Periodic,
    /// Bad at first, good in the end.
    Recovering,
    /// One busy hour in the middle.
    Rush,
    /// Near enough, and steady.
    Steady,
    /// Good at first, bad in the end.
    Worsening,
}

impl Nature {
    /// A path of this kind; `chance` names its draws.
    pub(super) fn path(self, length: usize, chance: Draw) -> Path {
        let (rtt, rate, loss) = self.steady();
        let (rtt, rate) = (chance.with(1).between(rtt.0, rtt.1) / 1e3, chance.with(2).between(rate.0, rate.1) * 1e6);
        let phase = chance.with(3).between(0.0, 2.0 * PI);
        let breath = |second: usize| 1.0 + 0.05 * libm::sin(second as f64 / 97.0 + phase);
        let second = |second| Second { rtt: rtt * breath(second), rate, loss, health: Health::Fine };
        let mut path = Path { born: 0.0, seconds: (0..length).map(second).collect() };
        self.happen(&mut path, chance);
        path
    }

    /// Bounds of round trip in ms and of MB/s, and loss.
    fn steady(self) -> ((f64, f64), (f64, f64), f64) {
        match self {
            Self::Near => ((12.0, 30.0), (6.0, 12.0), 0.0001),
            Self::Steady => ((30.0, 80.0), (3.0, 8.0), 0.0003),
            Self::Far => ((220.0, 520.0), (2.0, 5.0), 0.0004),
            Self::Orbit => ((560.0, 900.0), (1.0, 3.0), 0.002),
            Self::Flaky | Self::Periodic | Self::Dying => ((25.0, 85.0), (4.0, 10.0), 0.0005),
            Self::Jittery => ((75.0, 180.0), (2.0, 6.0), 0.001),
            Self::NearlyDead | Self::Dead => ((260.0, 850.0), (0.5, 2.0), 0.01),
            Self::Brownout
            | Self::Crowded
            | Self::Handover
            | Self::LongOutages
            | Self::Recovering
            | Self::Rush
            | Self::Worsening => ((40.0, 130.0), (3.0, 8.0), 0.0005),
        }
    }

    fn happen(self, path: &mut Path, chance: Draw) {
        let length = path.seconds.len();
        let all = 0..length;
        let bursts = |good, bad, loss, rate, rtt| Bursts { good, bad, loss, rate, rtt };
        match self {
            Self::Near | Self::Steady | Self::Far => {}
            Self::Orbit => bursts(600.0, 8.0, 0.03, 0.7, 0.5).over(path, all, chance),
            Self::Jittery => bursts(60.0, 8.0, 0.005, 0.8, 0.25).over(path, all, chance),
            Self::Crowded => bursts(250.0, 40.0, 0.03, 0.2, 0.3).over(path, all, chance),
            Self::Flaky => silent(path, &bursts(100.0, 10.0, 0.0, 1.0, 0.0), chance),
            Self::LongOutages => silent(path, &bursts(900.0, 130.0, 0.0, 1.0, 0.0), chance),
            Self::NearlyDead => silent(path, &bursts(15.0, 160.0, 0.0, 1.0, 0.0), chance),
            Self::Dead => path.fail(all, Health::Silent),
            Self::Periodic => periods(length, 200.0, 900.0, chance).for_each(|(start, period)| {
                path.fail(start..start + period / 10, Health::Silent);
            }),
            Self::Handover => periods(length, 150.0, 600.0, chance).for_each(|(start, period)| {
                let gap = (period / 20).max(3);
                path.fail(start..start + gap, Health::Silent);
                path.alter(start + gap..start + 2 * gap, |second| (second.loss, second.rtt) = (0.08, second.rtt * 2.5));
            }),
            Self::Dying => {
                let end = chance.with(4).between(0.25, 0.75) * length as f64;
                path.fail(end as usize..length, Health::Silent);
            }
            Self::Brownout => {
                let (from, lasts) = (chance.with(4).between(0.0, 0.65), chance.with(5).between(0.1, 0.33));
                let part = |share: f64| (share * length as f64) as usize;
                path.alter(part(from)..part(from + lasts), |second| {
                    (second.loss, second.rtt, second.rate) = (0.25, second.rtt * 4.0, second.rate * 0.5);
                });
            }
            Self::Rush => slide(path, |share| libm::exp(-libm::pow((share - 0.55) / 0.19, 2.0))),
            Self::Worsening => slide(path, smooth),
            Self::Recovering => slide(path, |share| 1.0 - smooth(share)),
        }
    }
}

/// Rises from 0 to 1 without a corner.
fn smooth(share: f64) -> f64 {
    share * share * (3.0 - 2.0 * share)
}

/// Makes a path as bad as `trouble` says of each part of its life, between 0 and 1.
fn slide(path: &mut Path, trouble: impl Fn(f64) -> f64) {
    let length = path.seconds.len() as f64;
    for (number, second) in path.seconds.iter_mut().enumerate() {
        let trouble = trouble(number as f64 / length);
        second.rtt *= 1.0 + 4.0 * trouble;
        second.rate *= 1.0 - 0.85 * trouble;
        second.loss += 0.04 * trouble * trouble;
    }
}

fn silent(path: &mut Path, bursts: &Bursts, chance: Draw) {
    for bad in bursts.bad_times(0..path.seconds.len(), chance) {
        path.fail(bad, Health::Silent);
    }
}

/// Starts of a fixed period, drawn between two bounds in seconds, and its length.
fn periods(length: usize, least: f64, most: f64, chance: Draw) -> impl Iterator<Item = (usize, usize)> {
    let period = chance.with(6).between(least, most) as usize;
    let first = (chance.with(7).uniform() * period as f64) as usize;
    (first..length).step_by(period.max(1)).map(move |start| (start, period))
}
