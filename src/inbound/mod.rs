//! Where flows come in: listeners, and one file for each protocol's server.
//!
//! An inbound reads what its visitor wants and hands a flow to the sink it was given; it knows nothing of routes, outbounds
//! or other inbounds. Whatever a visitor sends, only its own connection can suffer, and only for as long as the handshake
//! limit; it is logged at debug alone, since a port scan must not fill a disk.

mod association;
mod dokodemo;
mod drain;
mod fallback;
mod host;
mod http;
mod hysteria;
mod kind;
mod listen;
mod mixed;
mod mux;
mod place;
mod roaming;
mod shadowsocks;
mod skewed;
mod socks;
#[cfg(test)]
mod testing;
mod trojan;
mod tunnel;
#[cfg(unix)]
mod unix;
mod users;
mod visit;
mod vless;
mod vmess;
mod wireguard;

pub use association::Relay;
pub use dokodemo::Dokodemo;
pub use fallback::{Fallback, Fallbacks, Refuge};
pub use host::{Host, Inbound, Original};
pub use http::Http;
pub use hysteria::Hysteria;
pub use kind::Kind;
pub use listen::Listener;
pub use mixed::Mixed;
pub use place::{ListenError, Place};
pub use roaming::Roaming;
pub use shadowsocks::{Shadowsocks, ShadowsocksUsers};
pub use socks::Socks;
pub use trojan::Trojan;
#[cfg(unix)]
pub use unix::UnixPlace;
pub use users::{Member, Users};
pub use visit::{Accepted, Common, Fault, Visitor};
pub use vless::{Vless, VlessUser};
pub use vmess::Vmess;
pub use wireguard::Wireguard;
