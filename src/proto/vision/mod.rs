//! Vision: hides TLS inside TLS, and then gets out of its way.
//!
//! The first blocks of each direction are padded, so that the lengths of an inner handshake do not show. Both sides look on
//! as the inner stream begins; where it is TLS 1.3, a direction leaves the outer TLS behind its last padded block, and the
//! records of the inner one travel bare.

mod command;
mod filter;
mod pad;
mod unpad;

pub use filter::Filter;
pub use pad::{Pad, SEED, Seed};
pub use unpad::Unpad;
