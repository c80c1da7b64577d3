//! Xray's JSON, read and written.

pub mod inbound;
pub mod outbound;
