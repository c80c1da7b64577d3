//! How far the clocks of the two sides may be apart.

use crate::wire::WireError;

/// Seconds by which they may differ.
const APART: u64 = 30;

/// Checks the other side's time against ours, both in seconds since 1970.
pub(super) fn check(theirs: u64, ours: u64) -> Result<(), WireError> {
    let off = theirs.abs_diff(ours);
    if off > APART { Err(WireError::Clock { off }) } else { Ok(()) }
}
