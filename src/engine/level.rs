//! The balancers that a flow goes through on its way.

use crate::addr::BalancerId;
use crate::balance::{InUse, Tried};

/// A balancer, and the member it chose.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) id: BalancerId,
    pub(super) member: usize,
    /// Members that failed for this flow.
    pub(super) tried: Tried,
    /// Measurements of our own are not counted.
    pub(super) seat: Option<InUse>,
}
