//! mux.cool: many sessions inside one proxied stream, and XUDP, which is one session of datagrams with their addresses.

mod frame;
mod global;
mod mark;
mod xudp;

pub use frame::{Found, Frame, Kind, read_frame, write_end, write_keep, write_new};
pub use global::GlobalId;
pub use mark::{carrier, is_carrier};
pub use xudp::Xudp;
