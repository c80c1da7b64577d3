//! What runs through the house: flows, streams, packets, and the two ports that keep lower floors from looking up.
//!
//! Inbounds and outbounds know each other only by these traits. What a part needs from above (names resolved, another
//! outbound dialed, a finished inbound delivered) comes as an argument for one call ([`Services`], [`Sink`]), is never
//! stored, and so no import ever points upwards.

mod error;
#[allow(clippy::module_inception)]
mod flow;
mod meter;
mod packets;
mod ports;
mod stream;

pub use error::{Blame, DialError, FlowEnd, Side, Stage};
pub use flow::{Attributes, Flow, Sniffed};
pub use meter::Meter;
pub use packets::{BoxPackets, Packets, recv, send};
pub use ports::{BoxFuture, Services, Sink, Told, Via, Wanted};
pub use stream::{BoxStream, Half, Stream};
