//! Trojan: a password's hash and a target in front of bare bytes, inside TLS.
//!
//! A server judges by the first read alone, so that whoever knows no password can be given to a web server with all that
//! was said.

mod frames;
mod request;

pub use frames::Frames;
pub use request::{Request, Server, Token, Users, is_stranger};
