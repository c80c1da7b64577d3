//! mKCP: a reliable stream over datagrams, of V2Ray's own design. (It is not KCP.)
//!
//! A datagram holds one or more segments ([`Segments`]). A [`Connection`] is one end of a conversation: it is given what
//! came and what is to be said, is asked when it wants to speak again, and then speaks segment by segment. It knows neither
//! sockets nor a clock: times are milliseconds since it began, and wrap. What packets look like on the wire is the matter
//! of [`crate::proto::mask`].
//!
//! Sources of the formats and times: `transport/internet/kcp` of v2ray-core 4 and of Xray-core.

mod connection;
mod order;
mod receiving;
mod segment;
mod sending;
mod settings;
mod spare;
mod telling;
mod trip;

pub use connection::{Connection, Fault, Heard};
pub use segment::{Body, Command, Numbers, Segment, Segments, write_command};
pub use settings::Settings;
