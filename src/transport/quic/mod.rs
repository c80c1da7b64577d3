//! QUIC connections over sockets of ours, or over datagrams that go another way; for carriers such as HTTP/3.
//!
//! **Client.** A [`Client`] is made of TLS settings and [`Params`] when a configuration is loaded; [`Client::connect`] makes a
//! connection of a [`Port`], each over a socket of its own. **Server.** [`listen`] gives out whoever calls at a socket as a
//! [`Caller`]; a [`Server`] runs its handshake, so that a reload may put another server in its place while the socket stays.
//!
//! Between the library and the socket stand layers, each of which is a socket for the one above: `Paced` holds
//! a connection to the rate that was agreed on, `Masked` hides what packets are, and
//! `Hopping` goes from port to port.
//!
//! What is spoken inside is the caller's matter: the connections are the library's own.

mod bare;
mod brutal;
mod caller;
mod client;
mod detour;
mod hopping;
mod listener;
mod masked;
mod pace;
mod params;
mod port;
mod server;
mod several;
mod unannounced;

pub use bare::bare;
pub use caller::Caller;
pub use client::Client;
pub use listener::listen;
pub use masked::Wardrobe;
pub use pace::Pace;
pub use params::{Hop, Params};
pub use port::Port;
pub use server::Server;
