//! Where flows go out: one file for each protocol's client.
//!
//! An outbound gets a flow and gives a stream or an association. What it needs of the house (names, another outbound) it is
//! given for the call; who chose it, and why, it does not know.

mod addressing;
mod allowance;
mod blackhole;
mod fragmented;
mod freedom;
mod hijack;
mod http;
mod hysteria;
mod kind;
mod lanes;
mod local;
mod lookup;
mod loopback;
mod mux;
mod names;
mod noisy;
mod pool;
mod responder;
mod rotation;
mod ruled;
mod sessions;
mod shadowsocks;
mod silence;
mod socks;
mod trojan;
mod vless;
mod vmess;
mod way;
mod wireguard;

#[cfg(test)]
mod testing;

pub use blackhole::{Answer, Blackhole};
pub use freedom::{Freedom, Redirect};
pub use hijack::Hijack;
pub use http::Http;
pub use hysteria::Hysteria;
pub use kind::Outbound;
pub use lookup::{Lookup, Source};
pub use loopback::{Loopback, Ring};
pub use mux::{Datagrams, Mux, Port443, Sharing};
pub use names::by_address;
pub use noisy::{Noise, NoiseBytes};
pub use pool::Beneath;
pub use responder::Responder;
pub use rotation::Rotation;
pub use ruled::{FinalRule, FinalRules, Within};
pub use shadowsocks::{Shadowsocks, ShadowsocksKey, ShadowsocksServer};
pub use socks::{Server, Socks, Version};
pub use trojan::{Trojan, TrojanServer};
pub use vless::{Vision, Vless, VlessServer};
pub use vmess::{Vmess, VmessServer};
pub use way::Way;
pub use wireguard::Wireguard;
