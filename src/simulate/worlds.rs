//! Which worlds there are, and how a scene is made of a name and a seed.

use super::families::{FAMILIES, Family};
use super::network::World;
use super::play::Scene;
use super::sketch::HOUR;
use super::traces::{TRACES, Trace};
use super::workload;

/// A kind of world, of which each seed makes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its short name.
    pub name: &'static str,
    /// What happens in it.
    pub about: &'static str,
    kind: Kind,
}

/// Where it is defined, and at which place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trace(usize),
    Family(usize),
}

impl Place {
    /// The ten traces.
    #[must_use]
    pub fn traces() -> Vec<Self> {
        let place = |(at, trace): (usize, &Trace)| Self { name: trace.name, about: trace.about, kind: Kind::Trace(at) };
        TRACES.iter().enumerate().map(place).collect()
    }

    /// The eight families.
    #[must_use]
    pub fn families() -> Vec<Self> {
        let place =
            |(at, family): (usize, &Family)| Self { name: family.name, about: family.about, kind: Kind::Family(at) };
        FAMILIES.iter().enumerate().map(place).collect()
    }

    /// The world of a seed.
    #[must_use]
    pub fn world(&self, seed: u64) -> World {
        let number = self.number();
        match self.kind {
            Kind::Trace(at) => (TRACES[at].make)(seed * 100 + number),
            Kind::Family(at) => FAMILIES[at].world(seed * 100 + number),
        }
    }

    /// What the seeds of places are told apart by.
    fn number(&self) -> u64 {
        match self.kind {
            Kind::Trace(at) => at as u64,
            Kind::Family(at) => 20 + at as u64,
        }
    }

    /// The world of a seed, with its workload and what hindsight could do.
    #[must_use]
    pub fn scene(&self, seed: u64) -> Scene {
        let world = self.world(seed);
        let mut items = workload::items(world.length, seed * 7000 + self.number());
        if self.kind == Kind::Trace(1) {
            // Nothing happens in the first half of the long day.
            items.retain(|item| item.time > (12 * HOUR) as f64);
        }
        Scene::new(world, items)
    }
}
