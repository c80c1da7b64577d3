//! mKCP over sockets of ours, or over datagrams that go another way.
//!
//! **Client.** A [`Client`] is made when a configuration is loaded; [`Client::open`] begins a conversation by a
//! [`Port`](super::quic::Port) of its own. **Server.** [`listen`] gives out whoever calls at a socket as a [`Call`]; a reload may
//! put another [`Server`] in place of the one it began with.
//!
//! A conversation is shared by whoever reads and writes its [`Line`], and the task that speaks for it; what comes to a server's
//! socket is given to all conversations by one task.

mod client;
mod limits;
mod line;
mod listener;
mod over;
mod road;
mod server;
mod shared;
mod speaker;

pub use client::Client;
pub use line::Line;
pub use listener::{Call, listen};
pub use over::Over;
pub use server::Server;
