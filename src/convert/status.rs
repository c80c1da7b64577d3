//! Exit statuses of a conversion.

/// All went well.
pub const DONE: u8 = 0;
/// Something was lost under `--strict`, differs under `--check`, or could not be written.
pub const FAILED: u8 = 1;
/// The input is no valid configuration.
pub const CONFIG: u8 = 23;
