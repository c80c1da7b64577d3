//! Names to addresses, as the `dns` section says.
//!
//! `message`, `hosts`, `plan`, `cache` and `fake` are pure: bytes and time are arguments there.

mod cache;
mod family;
mod hosts;
mod message;
mod plan;

pub use cache::{Answer, Cache, Kept, MOST, Rules};
pub use family::{Families, Family};
pub use hosts::{Hosts, Told};
pub use message::{BadReply, Reply, query, reply};
pub use plan::{Plan, Step};
