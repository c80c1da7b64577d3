//! Hysteria's connection: QUIC, on which a client shows who it is by a request of HTTP/3, and then opens streams and sends
//! datagrams.
//!
//! **Client.** A [`Client`] opens one connection to each server and shares it ([`Line`]); one that was quiet for a while is
//! asked first, since the end of a server is not heard. **Server.** A [`Server`] makes a [`Visit`] of a connection, which gives
//! out what a known client wants, and is a web site (`Site`) to everybody else.

mod client;
mod keep;
mod line;
mod page;
mod server;
mod sessions;
mod site;
mod stream;
mod upstream;
mod visit;

pub use client::Client;
pub use line::Line;
pub use server::Server;
pub use sessions::Session;
pub use stream::Duplex;
pub use visit::{Arrived, Visit};
