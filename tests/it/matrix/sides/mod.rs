//! The programs at both ends of a line: what each can do, and how each is told.

mod libev;
mod mihomo;
mod program;
mod sing_box;
mod trojan;
mod v2ray;
mod xray;

pub use program::{Program, Role};
