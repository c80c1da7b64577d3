//! Routing: facts of a flow in, the rule that takes it out. Pure: names are resolved by whoever asks.
//!
//! Rules are compiled once and filed by one of their conditions each (`index.rs`), so that a decision costs the same for any
//! number of rules that have nothing to do with the flow. It neither allocates nor locks.

mod attrs;
mod error;
mod explain;
mod facts;
mod filed;
mod index;
mod router;
mod rule;
mod words;

pub use error::{Fault, RuleError};
pub use explain::{Ended, Explained, Tried};
pub use facts::{Facts, Lookup};
pub use router::{Decision, Router};
