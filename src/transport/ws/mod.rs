//! WebSocket as a carrier of one stream a connection.
//!
//! WebSocket has no half close: whoever says "close" is heard no longer by most peers. So a client's end is told only when
//! both directions are over, and a server's, behind which nothing of worth comes up, at once.

mod client;
mod delayed;
mod early;
mod server;
mod stream;

pub(super) use client::Client;
pub(super) use server::Server;

#[cfg(test)]
mod tests;
