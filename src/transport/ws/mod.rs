//! WebSocket as a carrier of one stream a connection.
//!
//! WebSocket has no half close: whoever says "close" is heard no longer by most peers, and clients of V2Ray's kind throw away
//! what they have read and not yet passed on. So an end is told only when both directions are over, or when the stream is
//! dropped; the relay above drops it a little after its first direction has ended.

mod client;
mod delayed;
mod early;
mod server;
mod stream;

pub(super) use client::Client;
pub(super) use server::Server;

#[cfg(test)]
mod tests;
