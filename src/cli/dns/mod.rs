//! `dns`: looks names up as the engine would, and explains every step.

mod picture;
mod verb;

pub use verb::dns;
