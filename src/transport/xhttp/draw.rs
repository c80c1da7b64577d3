//! Numbers that differ from one time to the next.

use rand::RngExt;

/// One of the numbers from the first to the second, which is not among them unless it is the first.
pub(super) fn drawn(from: usize, to: usize) -> usize {
    if from < to { rand::rng().random_range(from..to) } else { from }
}
