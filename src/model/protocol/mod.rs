//! Settings of each protocol, a file each; a protocol's two sides stand together.

mod blackhole;
mod dokodemo;
mod freedom;
mod http;
mod loopback;
mod socks;

pub use blackhole::{Answer, Blackhole, BlackholeResponse};
pub use dokodemo::Dokodemo;
pub use freedom::{ApplyTo, FinalAction, FinalRule, Fragment, Freedom, Noise, NoiseKind, Packets};
pub use http::{HttpAccount, HttpCommon, HttpIn, Login};
pub use loopback::Loopback;
pub use socks::{SocksAccount, SocksAuth, SocksCommon, SocksIn, SocksVersion};
