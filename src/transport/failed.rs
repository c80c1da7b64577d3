//! The failure of one dial that several wait for.

use std::io;
use std::sync::Arc;

use crate::flow::{Blame, DialError, Stage};

/// How a connection failed to open, for all who waited for it.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    stage: Stage,
    blame: Blame,
    kind: io::ErrorKind,
    why: Arc<str>,
}

impl Failed {
    /// The same as this error.
    pub(super) fn of(error: &DialError) -> Self {
        let (stage, blame, kind) = (error.stage, error.blame, error.source.kind());
        Self { stage, blame, kind, why: error.source.to_string().into() }
    }

    /// The error again.
    pub(super) fn error(&self) -> DialError {
        DialError::new(self.stage, self.blame, io::Error::new(self.kind, self.why.to_string()))
    }
}
