//! Hellos that were let in before.
//!
//! The reference server has no such memory. Whoever recorded a hello and sends it again cannot go on without the client's
//! key; but how our server then gives up need not be how the site does, and so it sees the site instead. All servers of a
//! process share the memory, across reloads too.

use std::collections::HashSet;

/// The random bytes of the last hellos, in two generations: when the younger is full the older is forgotten.
#[derive(Debug, Default)]
pub struct Replays {
    young: HashSet<[u8; 16]>,
    old: HashSet<[u8; 16]>,
}

/// Hellos of a generation: at least so many are remembered, and at most twice as many, in less than 3 MB.
const GENERATION: usize = 32 * 1024;

impl Replays {
    /// Whether a hello was not seen yet; from now on it was.
    pub fn is_new(&mut self, random: &[u8; 32]) -> bool {
        let mut short = [0; 16];
        short.copy_from_slice(&random[16..]);
        if self.old.contains(&short) || !self.young.insert(short) {
            return false;
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize) -> [u8; 32] {
        let mut random = [0; 32];
        random[24..].copy_from_slice(&n.to_be_bytes());
        random
    }

    #[test]
    fn the_last_ones_are_known_again() {
        let mut replays = Replays::default();
        assert!((0..3 * GENERATION).all(|n| replays.is_new(&random(n))));
        assert!((2 * GENERATION..3 * GENERATION).all(|n| !replays.is_new(&random(n))));
        assert!(replays.is_new(&random(0)), "the memory has an end");
        assert!(replays.young.len() + replays.old.len() <= 2 * GENERATION);
    }
}
