//! Weighted rendezvous hashing: the same key goes to the same member while it is a candidate, and when members come, go or
//! change their weight only those keys move that must.
//!
//! Each member's score is `weight / -ln(u)`, with `u` drawn from (0, 1) by the hash of the flow's key and the member's name;
//! the highest score wins. `-ln(u) / weight` is an exponential variable of that rate, and the least of several falls on a
//! member with the probability of its share of all weights. Places in the list play no part, so reordering moves nobody.
//!
//! The logarithm is a portable one and the hash is our own, so that every machine and every version sends a key to the
//! same place.

use super::key::Key;
use super::member::Member;

/// The score of a member whose hash this is; 0 for weight 0.
#[must_use]
pub fn score(hash: u64, weight: u32) -> f64 {
    f64::from(weight) / -libm::log(draw(hash))
}

/// The candidate with the highest score; of equal scores the smaller name. Weight 0 is never chosen.
pub(super) fn best(key: Key, members: &[Member], candidates: impl Iterator<Item = usize>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for at in candidates {
        let member = &members[at];
        if member.weight == 0 {
            continue;
        }
        let hash = key.and(member.tag.as_str().as_bytes());
        let Some((rival, high)) = best else {
            best = Some((at, score(hash, member.weight)));
            continue;
        };
        // With v = 1 - u, -ln(u) is above v + v^2/2: most members lose without a logarithm.
        let v = 1.0 - draw(hash);
        if f64::from(member.weight) < high * (v + v * v * 0.5) * SLACK {
            continue;
        }
        let score = score(hash, member.weight);
        if score > high || (score == high && member.tag < members[rival].tag) {
            best = Some((at, score));
        }
    }
    best.map(|(at, _)| at)
}

/// A number from (0, 1). The highest hashes would round to 1, whose logarithm is 0: they are kept below.
fn draw(hash: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
    let high = (hash >> 11) as f64;
    ((high + 0.5) * UNIT).min(1.0 - UNIT)
}

/// Keeps rounding from dropping a member whose score is within a hair of the best.
const SLACK: f64 = 1.0 - 1e-9;

#[cfg(test)]
mod tests;
