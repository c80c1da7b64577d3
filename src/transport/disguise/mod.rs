//! The HTTP disguise of raw TCP: a request in front of the first bytes up, an answer in front of the first bytes down.

mod client;
mod drawn;
mod server;

pub(super) use client::Client;
pub(super) use server::Server;

#[cfg(test)]
mod tests;
