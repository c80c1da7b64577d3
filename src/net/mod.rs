//! Sockets, and moving bytes between them.
//!
//! An idle flow owns two files and no buffer: see `way.rs` for how, and `watch.rs` for idle limits that cost nothing per
//! packet.

pub mod clock;
mod drive;
mod ending;
mod families;
mod framed;
mod hub;
mod options;
mod parceled;
mod pool;
mod prefixed;
mod race;
mod relay;
mod scratch;
mod socket;
mod splice;
pub mod tcp;
pub mod udp;
mod waiting;
mod watch;
mod way;

pub use drive::{Bounds, DriveError, drive, look};
pub use ending::poll_end;
pub use families::Families;
pub use framed::Framed;
pub use hub::{Client, Hours, Session, share};
pub use options::{RawOption, RawValue};
pub use parceled::Parceled;
pub use prefixed::{Prefixed, boxed};
pub use race::Race;
pub use relay::{Limits, Relayed, relay};
pub use scratch::{Intake, Scratch, poll_drain};
pub use socket::{KeepAlive, SocketOptions, original_destination};
pub use waiting::{Waiting, WaitingRoom};
pub use watch::{Alarm, Watch};
