//! The house as one flow sees it.

use std::sync::Arc;

use super::life::{Lease, Trail};
use super::shared::Shared;
use super::snapshot::Snapshot;

/// What all flows share, and the snapshot of the moment the flow began.
#[derive(Debug, Clone)]
pub(super) struct House {
    pub(super) shared: Arc<Shared>,
    pub(super) snapshot: Arc<Snapshot>,
    /// What the flow leads through so far.
    pub(super) trail: Trail,
    /// Whether it is a question to a name server that is led through the house.
    pub(super) asks: bool,
}

impl House {
    /// The house of this moment, for a flow that has this lease so far.
    pub(super) fn now(shared: &Arc<Shared>, lease: &Arc<Lease>) -> Self {
        Self {
            snapshot: shared.snapshot(),
            shared: Arc::clone(shared),
            trail: Trail::new(Arc::clone(lease)),
            asks: false,
        }
    }

    /// The same for a way of its own.
    pub(super) fn with(&self, lease: &Arc<Lease>) -> Self {
        Self { trail: Trail::new(Arc::clone(lease)), ..self.clone() }
    }

    /// The same for a question to a name server. What that leads through is not on the flow's own way.
    pub(super) fn asking(&self) -> Self {
        Self { asks: true, trail: Trail::new(self.trail.lease()), ..self.clone() }
    }
}
