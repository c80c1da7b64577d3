//! Names to addresses, as the `dns` section says.
//!
//! `message`, `hosts`, `plan`, `cache` and `filter` are pure: bytes and time are arguments there.

mod ask;
mod cache;
mod error;
mod family;
mod filter;
mod hosts;
mod message;
mod plan;
mod resolve;
mod server;

pub use cache::{Answer, Cache, Kept, Rules};
pub use error::DnsError;
pub use family::{Families, Family};
pub use hosts::{Hosts, Told};
pub use message::{BadReply, Reply, query, reply};
pub use plan::{Plan, Step};
pub use resolve::Dns;

#[cfg(test)]
mod tests;
