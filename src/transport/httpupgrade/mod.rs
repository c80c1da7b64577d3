//! HTTPUpgrade: the opening of a WebSocket, and the bytes as they are behind it.

mod client;
mod server;

pub(super) use client::Client;
pub(super) use server::Server;

#[cfg(test)]
mod tests;
