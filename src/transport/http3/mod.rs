//! HTTP/3 over the connections of [`quic`](super::quic).
//!
//! The library for HTTP/3 asks for a connection by traits; [`Link`] is ours. It does not take a frame that is too long to be
//! a request's head, which the library would gather in memory whole (`Frames`), and it tells when a
//! peer wants no more of a stream on which nothing is being sent ([`Link::unwanted`]).

mod frames;
mod link;
mod server;
mod streams;

pub use frames::MOST;
pub use link::{Called, Link, Opener};
pub use server::{Upload, serve};
pub use streams::{Receiving, Sending};
