//! The house as one flow sees it.

use std::sync::Arc;

use super::shared::Shared;
use super::snapshot::Snapshot;

/// What all flows share, and the snapshot of the moment the flow began.
#[derive(Debug, Clone)]
pub(super) struct House {
    pub(super) shared: Arc<Shared>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl House {
    /// The house of this moment.
    pub(super) fn now(shared: &Arc<Shared>) -> Self {
        Self { snapshot: shared.snapshot(), shared: Arc::clone(shared) }
    }
}
