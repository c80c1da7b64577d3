//! A tunnel of packets: WireGuard below, TCP and UDP of our own above, all in user space.
//!
//! [`open`] starts one task for each tunnel, which owns its keys, its connections and its sockets, so that no packet meets a
//! lock. What it gives out are byte streams and associations like any others. The state machine of WireGuard is boringtun's,
//! that of TCP smoltcp's; each connection has a stack of its own, found by its two addresses, so that a packet costs the same
//! however many there are.
//!
//! Sources: the WireGuard paper (Donenfeld, 2017); how Xray uses the three reserved bytes of a message.

mod ask;
mod association;
mod conn;
mod core;
mod ends;
mod error;
mod handle;
mod outbox;
mod packet;
mod peers;
mod settings;
mod stream;
mod task;
#[cfg(test)]
mod tests;
mod wire;

pub use ask::Arrived;
pub use association::Association;
pub use ends::Ends;
pub use error::ConnectError;
pub use handle::{Line, Tunnel, begin, open};
pub use packet::{Packet, read, write_datagram};
pub use settings::{PeerSettings, Settings};
pub use stream::TunnelStream;
