//! Routing: facts of a flow in, the rule that takes it out. Pure: names are resolved by whoever asks.
//!
//! Rules are compiled once. A run of neighbouring rules that ask for nothing but names, or for nothing but addresses,
//! becomes one table, so the usual long lists cost one look each; all other rules are tried in order. A decision neither
//! allocates nor locks.

mod attrs;
mod error;
mod explain;
mod facts;
mod router;
mod rule;
mod words;

pub use error::{Fault, RuleError};
pub use explain::{Ended, Explained, Tried};
pub use facts::{Facts, Lookup};
pub use router::{Decision, Router};
