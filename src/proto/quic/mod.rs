//! The first packets of a QUIC connection, as far as anybody on the way can read them.

mod hello;
mod initial;
mod keys;
#[cfg(test)]
pub mod testing;

pub use hello::Hello;
