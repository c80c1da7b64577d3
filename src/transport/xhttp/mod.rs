//! XHTTP: a stream in plain requests and answers, as one request, two, or many.
//!
//! What comes down is the body of one answer. What goes up is the body of the same request, of one beside it, or the bodies
//! of many numbered ones, which the server puts in order. Any HTTP proxy in between passes at least the last.
//!
//! HTTP/3 goes over QUIC, so its client takes no stream but a way for datagrams, and its server callers instead of streams.
//!
//! What comes down may be asked of another server, with settings of its own; the session's id joins the two ways.

mod body;
mod client;
mod draw;
mod halves;
mod http3_client;
mod huffman;
mod leg;
mod padding;
mod plan;
mod pool;
mod post;
mod queue;
mod server;
mod sessions;
mod source;
mod spot;
mod version;

pub(super) use client::{Client, quic_params};
pub(super) use leg::Leg;
pub use plan::{Asked, Plan};
pub(super) use server::Server;
pub(super) use version::Version;
#[cfg(test)]
mod tests;
