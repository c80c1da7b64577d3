//! Who can be chosen, and how often each one's turn comes.

use crate::addr::{Hop, Tag};

/// An outbound or balancer that may be chosen. The same one may be listed twice and then counts twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its tag.
    pub tag: Tag,
    /// Where it leads.
    pub hop: Hop,
    /// Whether it can carry datagrams.
    pub udp: bool,
    /// Its share of random and round robin, and what its rate is multiplied with in `optimal`.
    pub weight: u32,
}

impl Member {
    /// The weight of a member that none is written for (the `optimal` seed).
    pub const WEIGHT: u32 = 100;
}

/// One whole rotation: each member as often as its weight says, spread as evenly as that allows (the smooth weighted
/// rotation of nginx). With equal weights it is the list itself. Weight 0 never has a turn.
#[must_use]
pub fn rotation(weights: &[u32]) -> Box<[u32]> {
    let shares = shares(weights);
    let total: i64 = shares.iter().sum();
    let mut credit = vec![0i64; shares.len()];
    let mut turns = Vec::new();
    for _ in 0..total {
        credit.iter_mut().zip(&shares).for_each(|(credit, share)| *credit += share);
        // The richest is next; of equals the first of the list.
        let Some(at) = (0..credit.len()).rev().max_by_key(|&at| credit[at]) else { break };
        credit[at] -= total;
        turns.push(u32::try_from(at).unwrap_or(u32::MAX));
    }
    turns.into()
}

/// Weights made small: divided by what they have in common, and rounded where a rotation would be longer than needed.
fn shares(weights: &[u32]) -> Vec<i64> {
    /// Ten turns a member are exact to some percent; below this sum nothing is rounded.
    const EXACT: u64 = 1000;
    let common = weights.iter().copied().filter(|&weight| weight > 0).reduce(gcd).unwrap_or(1);
    let reduced: Vec<u64> = weights.iter().map(|&weight| u64::from(weight / common)).collect();
    let (total, limit) = (reduced.iter().sum::<u64>(), EXACT.max(10 * weights.len() as u64));
    let fit = |weight: u64| if total > limit && weight > 0 { (weight * limit / total).max(1) } else { weight };
    reduced.into_iter().map(|weight| i64::try_from(fit(weight)).unwrap_or(i64::MAX)).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_smooth_and_keep_list_order_for_equals() {
        assert_eq!(&*rotation(&[100, 100, 100]), [0, 1, 2]);
        assert_eq!(&*rotation(&[500, 100, 100]), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(&*rotation(&[0, 7]), [1]);
        assert!(rotation(&[0, 0]).is_empty() && rotation(&[]).is_empty());
    }

    #[test]
    fn odd_weights_are_rounded_not_unrolled() {
        let turns = rotation(&[u32::MAX, u32::MAX - 1, 1]);
        assert!(turns.len() <= 1001, "{}", turns.len());
        for (at, least) in [(0, 499), (1, 499), (2, 1)] {
            assert!(turns.iter().filter(|&&turn| turn == at).count() >= least);
        }
    }
}
