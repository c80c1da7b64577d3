//! Our own TOML: strict tables to a draft, and a draft back to text.

pub mod balancer;
mod emit;
pub mod inbound;
pub mod outbound;
pub mod root;
pub mod routing;

pub use emit::{Note, emit};
