//! gRPC: each stream is a call without an end on a shared HTTP/2 connection.
//!
//! Neither side waits for the other's headers: a server answers once it has payload, as Go's does, and a client learns with
//! its first read whether the call was taken. Ending its half is for a client the end of its stream, for a server the
//! trailers; Go's clients take those for the end of both halves.

mod call;
mod client;
mod server;

pub use client::Client;
pub use server::Server;

#[cfg(test)]
mod tests;
