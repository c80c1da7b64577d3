//! Hysteria 2: what is said on an HTTP/3 connection once it is open.
//!
//! A client shows who it is by one HTTP/3 request ([`auth`]). From then on each stream that begins with [`STREAM`] goes to
//! the target that is named there, and QUIC datagrams carry those of UDP, in pieces where they are too large.
//!
//! Source of the formats: the protocol page of Hysteria 2, held against sing-box and Xray.

pub mod auth;
mod datagram;
mod gather;
mod request;
mod response;
mod varint;

pub use datagram::{Fragment, HEAD, Pieces};
pub use gather::{Gather, Whole};
pub use request::{Opening, ReadOpening, STREAM, write_request};
pub use response::{Responded, write_response};
