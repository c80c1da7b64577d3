//! Xray's JSON to our TOML, and back, with a word on every key.
//!
//! A conversion that silently loses something is worse than none. So every key of the input ends in one class, and the
//! text that was written is loaded again and must mean the same; a difference is our mistake, and nothing is written.

mod args;
mod batch;
mod compare;
mod conversion;
mod keys;
mod notes;
mod output;
mod report;
mod run;
mod status;

pub use args::{ConvertArgs, ReportForm};
pub use conversion::{Converted, Failure, Options, To, convert};
pub use keys::KeyReport;
pub use output::{OutputError, Written, write};
pub use report::{ConvertReport, Counts, remarkable, summary, table};
pub use run::run;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
