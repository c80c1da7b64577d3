//! Shadowsocks: the old generation (AEAD) and that of 2022, streams and datagrams, both sides.

mod aead;
mod chunks;
mod codec;
mod datagram;
mod method;
mod stream;
pub mod v2022;
mod window;

pub use codec::{Codec, Fresh};
pub use datagram::{open_datagram, seal_datagram};
pub use method::{Key, Method, seed_of};
pub use stream::{FIRST, Opener, Request, Sealer, Server};
pub use window::{Salts, Window};
