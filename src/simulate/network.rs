//! The network of a simulation: what each member's path is like, second by second.

/// Whether a path works at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Health {
    /// It does.
    #[default]
    Fine,
    /// It says no at once.
    Refusing,
    /// It swallows everything.
    Silent,
}

/// One second of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Round trip, in seconds.
    pub rtt: f64,
    /// What one flow gets at most, in bytes per second.
    pub rate: f64,
    /// Chance that a packet is lost.
    pub loss: f64,
    /// Whether it works at all.
    pub health: Health,
}

/// The path through one member, from the first second of a world to its last.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Its seconds.
    pub seconds: Vec<Second>,
    /// When the member appears.
    pub born: f64,
}

/// A time in which a path did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Whose.
    pub member: usize,
    /// Its first second.
    pub from: usize,
    /// The first second after it.
    pub until: usize,
}

/// A world: members and all that happens to them.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// Its short name, as `T1`.
    pub name: &'static str,
    /// What every draw of it is keyed by.
    pub seed: u64,
    /// Seconds it lasts.
    pub length: usize,
    /// Its members, in list order.
    pub paths: Vec<Path>,
}

impl World {
    /// The second of a path at this moment; the last one where the world has ended.
    #[must_use]
    pub fn at(&self, member: usize, time: f64) -> Second {
        // Truncation is meant: a second lasts until the next begins.
        self.paths[member].seconds[(time as usize).min(self.length - 1)]
    }

    /// Who exists at this moment, in list order.
    pub fn members(&self, time: f64) -> impl Iterator<Item = usize> + '_ {
        (0..self.paths.len()).filter(move |&member| self.paths[member].born <= time)
    }

    /// How long it lasts, in hours.
    #[must_use]
    pub fn hours(&self) -> f64 {
        self.length as f64 / 3600.0
    }

    /// Every outage of every member.
    #[must_use]
    pub fn outages(&self) -> Vec<Outage> {
        let mut found = Vec::new();
        for (member, path) in self.paths.iter().enumerate() {
            let mut from = None;
            for (second, at) in path.seconds.iter().enumerate() {
                match (at.health, from) {
                    (Health::Fine, Some(start)) => {
                        found.push(Outage { member, from: start, until: second });
                        from = None;
                    }
                    (Health::Refusing | Health::Silent, None) => from = Some(second),
                    _ => {}
                }
            }
            found.extend(from.map(|from| Outage { member, from, until: self.length }));
        }
        found
    }
}
