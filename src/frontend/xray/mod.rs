//! Xray's JSON, read and written.

pub mod balancer;
pub mod inbound;
pub mod outbound;
pub mod routing;
pub mod write;
