//! The generation of 2022: keys as bytes, times and salts that are checked, sessions of datagrams.

mod block;
mod keys;
mod moment;
mod packet;
mod relay;
mod request;
mod response;
mod session;

pub use keys::{ClientKeys, ServerKeys};
pub use relay::{Passage, Passing};
pub use request::{Accepted, BodyOpener, RequestSealer, Server, first, padding};
pub use response::{ResponseOpener, ResponseSealer};
pub use session::{ClientSession, Name, ServerSession};
