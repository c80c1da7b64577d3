//! VLESS' own encryption (mlkem768x25519plus), between the transport and the header.
//!
//! The client speaks to keys of the server that it was given, so that only the server can answer; both agree on further
//! keys, which die with the connection, and on a ticket by which the next connection needs no round trip. What follows
//! looks like records of TLS, or like nothing at all.

mod aead;
mod client;
mod ctr;
mod derive;
mod header;
mod keys;
mod memory;
mod opener;
mod padding;
mod sealer;
mod server;
#[cfg(test)]
mod tests;
mod tickets;

pub use aead::Cipher;
pub use client::{Answer, Begun, Client, Established};
pub use derive::hash32;
pub use header::Mode;
pub use keys::{PrivateKey, PublicKey};
pub use opener::Opener;
pub use padding::{Padding, Piece};
pub use sealer::Sealer;
pub use server::{Confirmed, Greeted, Greeting, Lifetime, Server};
