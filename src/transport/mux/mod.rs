//! Sessions over one stream, as mux.cool carries them: the machine that both sides share.
//!
//! One task drives the stream ([`Driver`]); sessions are streams and associations of other tasks. They meet in one state under
//! one lock, held for a copy at most. The protocol has no windows, so a session that is not read holds up all others of its
//! connection once its inbox is full: reading stops, and with it the peer. Datagrams are dropped instead. What waits to be
//! sent is bounded for all sessions together.

mod driver;
mod inbox;
mod packets;
mod seat;
mod state;
mod stream;

pub use driver::{Begun, Driver};
pub use packets::SessionPackets;
pub use seat::{Limits, Seat};
pub use state::{Side, Trunk};
pub use stream::SessionStream;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
