//! The runtime around a running engine: threads, signals, and an end that does not drag on.

use super::words::Wording;
use crate::model::config::Config;

/// Why a good configuration does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no engine in this build yet.
    #[error("running is not built yet; --test and convert are")]
    NotBuilt,
}

/// Runs the configuration until TERM or INT.
pub fn until_told(_config: Config, _wording: Wording) -> Result<(), StartError> {
    Err(StartError::NotBuilt)
}
