//! SOCKS 4, 4a and 5 (RFC 1928, RFC 1929): both sides of the handshake, and the header of UDP datagrams.

mod address;
mod client;
mod client4;
mod reply;
mod server;
mod udp;

pub(crate) use address::host_of;
pub use address::{read_address, write_address};
pub use client::{Client, Login, Outcome};
pub use client4::Client4;
pub use reply::{Refused, Reply};
pub use server::{Command, Request, Server, Version};
pub use udp::{read_datagram, write_header};
