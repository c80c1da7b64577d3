//! Names to addresses, as the `dns` section says.
//!
//! `message`, `question`, `hijack`, `hosts`, `plan`, `cache`, `filter` and `fake` are pure: bytes and time are arguments there.

mod ask;
mod cache;
mod error;
mod fake;
mod fakes;
mod family;
mod filter;
mod given;
mod hijack;
mod hosts;
mod look;
mod message;
mod plan;
mod question;
mod resolve;
mod server;
mod system;
mod together;
mod told;
mod trace;

pub use ask::Fault;
pub use cache::{Answer, Cache, Kept, Rules};
pub use error::{DnsError, Unbuilt};
pub use fake::{Faked, Pool};
pub use fakes::{Fakes, Givers};
pub use family::{Families, Family};
pub use given::Given;
pub use hijack::{Handled, Handling};
pub use hosts::{Hosts, Told};
pub use look::{Asked, By, Looked};
pub use message::{BadReply, Padding, Reply, padded_query, query, reply};
pub use plan::{Plan, Step, Why};
pub use question::{BadQuestion, Question};
pub use resolve::Dns;
pub use trace::{Considered, Explained, Heard, How, Part};

#[cfg(test)]
mod tests;
