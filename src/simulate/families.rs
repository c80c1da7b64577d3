//! Eight families of larger worlds, S1 to S8: five to twelve members each, some of which fail together.
//!
//! The situations are those that an independent public simulator of routing strategies sorts its worlds into; the model
//! of them is our own.

use super::draw::Draw;
use super::natures::Nature;
use super::network::{Health, Path, World};
use super::sketch::HOUR;

/// A family of worlds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    /// Its short name.
    pub name: &'static str,
    /// What its worlds have in common.
    pub about: &'static str,
    /// The first members, of which the first is the head of the list.
    always: &'static [Nature],
    /// What the others are drawn from; who stands twice is drawn twice as often.
    others: &'static [Nature],
    /// How many providers the members sit behind.
    providers: u64,
    /// Chance in an hour that a provider has an incident.
    incident: f64,
    /// Chance in an hour that all members have one at once.
    outage: f64,
    /// What an incident does.
    kind: Incident,
}

/// What happens to members that share something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Incident {
    /// Nothing gets through.
    Silence,
    /// All of it is slow.
    Congestion,
}

use Nature::{
    Brownout, Crowded, Dead, Dying, Far, Flaky, Handover, Jittery, LongOutages, Near, NearlyDead, Orbit, Periodic,
    Recovering, Rush, Steady, Worsening,
};

/// All of them, in order.
pub(super) const FAMILIES: [Family; 8] = [
    Family {
        name: "S1",
        about: "mixed fleet",
        always: &[Steady, Flaky, Far, Crowded, LongOutages],
        others: &[
            Near,
            Steady,
            Steady,
            Far,
            Orbit,
            Flaky,
            Flaky,
            Jittery,
            Crowded,
            LongOutages,
            Periodic,
            Handover,
            Rush,
            Brownout,
            Dying,
            Worsening,
            Recovering,
            NearlyDead,
            Dead,
        ],
        providers: 3,
        incident: 0.3,
        outage: 0.15,
        kind: Incident::Silence,
    },
    Family {
        name: "S2",
        about: "mostly healthy",
        always: &[Near, Steady, Far, Jittery],
        others: &[Near, Near, Steady, Steady, Steady, Steady, Far, Far, Flaky, Jittery, Rush, LongOutages],
        providers: 4,
        incident: 0.1,
        outage: 0.05,
        kind: Incident::Silence,
    },
    Family {
        name: "S3",
        about: "ladder of delays",
        always: &[Orbit, Far, Steady, Near],
        others: &[Near, Steady, Steady, Far, Far, Far, Orbit, Orbit, Jittery, Rush],
        providers: 4,
        incident: 0.1,
        outage: 0.05,
        kind: Incident::Silence,
    },
    Family {
        name: "S4",
        about: "fast but flaky",
        always: &[Steady, Flaky, Periodic, Handover],
        others: &[Steady, Flaky, Flaky, Flaky, Periodic, Periodic, Handover, Handover, LongOutages, Dying],
        providers: 3,
        incident: 0.25,
        outage: 0.1,
        kind: Incident::Silence,
    },
    Family {
        name: "S5",
        about: "providers that fail together",
        always: &[Steady, Far, Flaky, LongOutages],
        others: &[Steady, Steady, Steady, Far, Flaky, Jittery, LongOutages, Recovering],
        providers: 2,
        incident: 1.5,
        outage: 0.2,
        kind: Incident::Silence,
    },
    Family {
        name: "S6",
        about: "waves of congestion",
        always: &[Steady, Jittery, Crowded, Rush],
        others: &[Steady, Far, Jittery, Jittery, Crowded, Crowded, Crowded, Rush, Rush, Rush, Orbit],
        providers: 3,
        incident: 1.5,
        outage: 0.5,
        kind: Incident::Congestion,
    },
    Family {
        name: "S7",
        about: "rolling degradation",
        always: &[Worsening, Recovering, Brownout, Dying],
        others: &[Steady, Worsening, Worsening, Recovering, Recovering, Brownout, Brownout, Dying, NearlyDead],
        providers: 4,
        incident: 0.15,
        outage: 0.1,
        kind: Incident::Silence,
    },
    Family {
        name: "S8",
        about: "hostile network",
        always: &[Steady, LongOutages, NearlyDead, Dead],
        others: &[
            Flaky,
            Jittery,
            LongOutages,
            LongOutages,
            Periodic,
            Brownout,
            Brownout,
            Dying,
            NearlyDead,
            NearlyDead,
            Dead,
        ],
        providers: 3,
        incident: 1.0,
        outage: 0.4,
        kind: Incident::Silence,
    },
];

/// Hours that a world of a family lasts.
const HOURS: usize = 3;

impl Family {
    /// Its world of this seed.
    pub(super) fn world(&self, seed: u64) -> World {
        let (length, chance) = (HOURS * HOUR, Draw::of([seed, 51]));
        let count = 5 + chance.with(0).bits() % 8;
        let drawn = |member: u64| {
            let place = chance.with(1).with(member).bits() % self.others.len() as u64;
            self.others.get(place as usize).copied().unwrap_or(Steady)
        };
        let nature = |member: u64| self.always.get(member as usize).copied().unwrap_or_else(|| drawn(member));
        let path = |member: u64| nature(member).path(length, Draw::of([seed, 52, member]));
        let mut paths: Vec<Path> = (0..count).map(path).collect();
        for provider in 0..self.providers {
            let theirs = paths.iter_mut().zip(0_u64..).filter(|(_, member)| member % self.providers == provider);
            let theirs: Vec<&mut Path> = theirs.map(|(path, _)| path).collect();
            self.incidents(theirs, self.incident, Draw::of([seed, 53, provider]));
        }
        self.incidents(paths.iter_mut().collect(), self.outage, Draw::of([seed, 54]));
        World { name: self.name, seed, length, paths }
    }

    /// At most one incident an hour.
    fn incidents(&self, mut paths: Vec<&mut Path>, an_hour: f64, chance: Draw) {
        for hour in 0..HOURS {
            let chance = chance.with(hour as u64);
            if chance.with(1).uniform() >= an_hour / (1.0 + an_hour) {
                continue;
            }
            let from = hour * HOUR + chance.with(2).between(0.0, HOUR as f64 - 300.0) as usize;
            let part = from..from + chance.with(3).between(20.0, 240.0) as usize;
            for path in &mut paths {
                match self.kind {
                    Incident::Silence => path.fail(part.clone(), Health::Silent),
                    Incident::Congestion => path.alter(part.clone(), |second| {
                        (second.rtt, second.rate) = (second.rtt * 3.0, second.rate * 0.2);
                        second.loss += 0.01;
                    }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_keep_what_they_promise() {
        for (family, seed) in FAMILIES.iter().zip(3..) {
            let world = family.world(seed);
            assert!((5..=12).contains(&world.paths.len()), "{}", family.name);
            assert!(world.paths.iter().all(|path| path.seconds.len() == world.length));
            assert_eq!(world, family.world(seed), "the same seed, the same world");
            assert_ne!(world, family.world(seed + 100));
        }
    }

    #[test]
    fn who_shares_a_provider_fails_with_it() {
        let world = FAMILIES[4].world(1);
        let outages = world.outages();
        let together = |a: usize, b: usize| {
            let of = |member| outages.iter().filter(move |outage| outage.member == member);
            of(a).any(|one| of(b).any(|other| (one.from, one.until) == (other.from, other.until)))
        };
        assert!(together(0, 2), "the first and the third sit behind the same provider");
    }
}
