//! What the command line asks of a conversion.

use std::path::PathBuf;

use super::conversion::To;
use crate::frontend::Source;

/// The report that is wanted on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportForm {
    /// One line, and a line for each key that did not simply come over.
    #[default]
    Summary,
    /// Every key in a table.
    Text,
    /// One JSON object (an array of them with a folder).
    Json,
}

/// A conversion as asked for. Files were read by whoever calls, since they may be URLs; the files of `batch` are read here.
pub struct ConvertArgs<'e> {
    /// The texts, merged in this order; none with `batch`.
    pub sources: Vec<Source>,
    /// Where to write; standard output if absent. A folder with `batch`.
    pub output: Option<PathBuf>,
    /// Write nothing; with `output` fail if what is there is not what would be written.
    pub check: bool,
    /// Fail if anything is approximated, dropped or unknown.
    pub strict: bool,
    /// The report.
    pub report: ReportForm,
    /// What is written.
    pub to: To,
    /// Convert every configuration of this folder.
    pub batch: Option<PathBuf>,
    /// Overwrite what is there.
    pub force: bool,
    /// Whether excerpts may be coloured.
    pub colour: bool,
    /// Looks up an environment variable by its exact name.
    pub env: &'e dyn Fn(&str) -> Option<String>,
}
