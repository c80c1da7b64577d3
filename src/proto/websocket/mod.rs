//! WebSocket (RFC 6455): its frames as body codecs, and the proof of its handshake.
//!
//! The frames are our own because a library's messages own their payload: it would cost a second copy and an allocation
//! for each of them, where a codec in place needs one copy a direction.

mod key;
mod open;
mod seal;

pub use key::accept_key;
pub use open::OpenFrames;
pub use seal::{Mask, SealFrames};
