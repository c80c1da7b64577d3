//! The PROXY header, by which a server behind us learns who the client is, or we from a proxy in front.
//!
//! Sent before the first byte of a connection, in text (version 1) or binary (version 2).

mod read;
mod write;

pub use read::ReadHeader;
pub use write::{Form, header};
