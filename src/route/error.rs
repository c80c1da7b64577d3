//! What can be wrong with a rule.

use crate::geo::CompileError;

/// Why rules cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[error("rule {name}: {what}")]
pub struct RuleError {
    /// The rule's name, or its place.
    pub name: String,
    /// What is wrong with it.
    pub what: Fault,
}

/// What is wrong with a rule.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A set of names, networks or users.
    #[error(transparent)]
    Set(#[from] CompileError),
    /// A condition on the client's program.
    #[error("conditions on the client's process are not built yet")]
    Process,
}
