//! What can be wrong with a geodata file.

/// What is wrong with a file, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at byte {at}")]
pub struct DatError {
    /// Bytes from the beginning of the file.
    pub at: u64,
    /// What cannot be read there.
    pub what: &'static str,
}
