//! Our TOML, read and written.

pub mod inbound;
pub mod outbound;
