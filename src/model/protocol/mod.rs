//! Settings of each protocol, a file each; a protocol's two sides stand together.

mod blackhole;
mod dns;
mod dokodemo;
mod fallback;
mod freedom;
mod http;
mod hysteria;
mod loopback;
mod responder;
mod shadowsocks;
mod socks;
mod trojan;
mod tun;
mod vless;
mod vlesskey;
mod vmess;
mod wireguard;

pub use blackhole::{Answer, Blackhole, BlackholeResponse};
pub use dns::{DnsAction, DnsNetwork, DnsOut, DnsRule, NonIpQuery};
pub use dokodemo::Dokodemo;
pub use fallback::{Dest, DestText, Fallback};
pub use freedom::{ApplyTo, FinalAction, FinalRule, Fragment, Freedom, Noise, NoiseKind, Packets};
pub use http::{HttpAccount, HttpCommon, HttpIn, Login};
pub(crate) use hysteria::version as check_version;
pub use hysteria::{HysteriaAccount, HysteriaCommon, HysteriaIn, HysteriaUser};
pub use loopback::Loopback;
pub use responder::Responder;
pub use shadowsocks::{SsAccount, SsIn, SsMethod, SsUser};
pub use socks::{SocksAccount, SocksAuth, SocksCommon, SocksIn, SocksVersion};
pub use trojan::{TrojanAccount, TrojanIn, TrojanUser};
pub use tun::Tun;
pub use vless::{Reverse, ReverseUser, VlessAccount, VlessIn, VlessUser};
pub use vlesskey::{Decryption, Encryption, EncryptionMode, Parts as EncryptionParts};
pub use vmess::{VmessAccount, VmessDefault, VmessIn, VmessSecurity, VmessUser};
pub use wireguard::{Peer, Reserved, WireStrategy, Wireguard};
