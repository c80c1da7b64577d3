//! VLESS: a header of an id and a target, and bare bytes behind it.
//!
//! It hides nothing by itself; that is the business of what it travels in. The header is part of the first write, and a
//! server that has fallbacks judges by the first read alone.

mod addons;
mod answer;
pub mod encryption;
mod lengths;
mod request;

pub use addons::Wrapping;
pub use answer::{ANSWER, Answered};
pub use lengths::Lengths;
pub use request::{Command, Id, Request, Server, Users, is_stranger, write_request};
