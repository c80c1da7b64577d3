//! Masks of datagrams: what a packet looks like on its last step to the wire.
//!
//! [`Masks`] is a chain of them. Each has a fixed number of bytes in front of a packet and behind it, so a whole chain writes
//! a packet once and then works where it lies.
//!
//! Sources of the formats: Hysteria 2's protocol page (Salamander); `transport/internet/headers` and `transport/internet/kcp`
//! of v2ray-core 4, which Xray calls `mkcp-legacy`.

mod chain;
mod look;
mod salamander;
mod seal;

pub use chain::{Layer, Masks};
pub use look::Look;
pub use salamander::Salamander;
pub use seal::Seal;
