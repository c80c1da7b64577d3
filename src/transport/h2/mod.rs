//! HTTP/2 connections that carry streams, for carriers such as gRPC.
//!
//! **Client.** A [`Pool`] keeps the connections of one outbound, by server. [`Pool::request`] takes the connection that is
//! open already, or opens one over [`Lines`](super::lines::Lines): of many flows that come at once, one opens it and the
//! others wait for its outcome, success or failure; if its flow goes away meanwhile, another takes its place. No lock is
//! held over any of this. What comes back is an [`Exchange`]: the request is under way, its answer has not come yet (servers
//! may be silent until they have payload). A carrier with rules of its own about connections (XHTTP) does without the pool
//! and opens a [`Line`] itself.
//!
//! **Server.** [`Visit`] is the connection of a visitor; whoever asks it for the next request moves its bytes.
//!
//! **Bodies.** [`Uplink`] is what is written, [`Downlink`] what is read, both in the library's own `Bytes`. Windows are given
//! back as payload is taken, so a slow reader stalls its own stream and, since the window of the connection is as large as
//! it can be, no other. They begin small and double while a reader keeps up with them ([`Windows`]).
//!
//! **Ends.** A connection that the peer wants to end (GOAWAY) serves the streams it has and takes no further one; the next
//! request opens another. A client's connection ends after five minutes without a stream, and with the pool once its
//! streams are over. [`Care`] says when a silent peer is asked whether it is still there.

mod care;
mod downlink;
mod fault;
mod heard;
mod line;
mod pool;
mod streams;
mod uplink;
mod visit;
mod windows;

pub use care::Care;
pub use downlink::Downlink;
pub use line::{Exchange, Line};
pub use pool::Pool;
pub use streams::Ticket;
pub use uplink::Uplink;
pub use visit::{Request, Visit};
pub use windows::Windows;
