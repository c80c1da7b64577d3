//! Xray's JSON, read and written.

mod api;
pub mod balancer;
mod dns;
mod env;
pub mod inbound;
mod legacy;
mod log;
mod metrics;
mod misplaced;
mod observatory;
pub mod outbound;
mod policy;
mod reverse;
pub mod root;
pub mod routing;
pub mod schema;
mod stats;
mod version;
pub mod write;
