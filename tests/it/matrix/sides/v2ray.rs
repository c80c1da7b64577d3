//! v2ray 4.34: Xray's JSON as it was then.

use crate::matrix::keys::Keys;
use crate::matrix::link::{Carrier, Cell, Flow, Lengths, Link, Mux, Proto, Secure, Users};
use crate::support::program;

use super::program::{Launch, Role};
use super::xray::{Form, config};

pub fn lacks(link: &Link, role: Role) -> Option<&'static str> {
    match (link.proto, role) {
        _ if link.sealed.is_some() => return Some("4.34 has no VLESS encryption"),
        (Proto::Vless(Flow::Vision), _) => return Some("4.34 has no Vision"),
        (Proto::Vmess(_, Lengths::Sealed), _) => return Some("4.34 has no sealed lengths in VMess"),
        (Proto::Vmess("zero", _), _) => return Some("4.34 has no VMess security zero"),
        (Proto::Shadowsocks(method, _), _) if method.starts_with("2022-") => {
            return Some("4.34 has no Shadowsocks 2022");
        }
        (Proto::Shadowsocks("xchacha20-ietf-poly1305", _), _) => return Some("4.34 has no XChaCha20"),
        (Proto::Shadowsocks(_, Users::Several), Role::Server) => return Some("knows one user of Shadowsocks"),
        _ => {}
    }
    match link.carrier {
        Carrier::Upgrade => return Some("4.34 has no HTTPUpgrade"),
        Carrier::Grpc | Carrier::GrpcMulti => return Some("4.34 has no gRPC"),
        Carrier::Xhttp(..) => return Some("has no XHTTP"),
        Carrier::Hysteria(_) => return Some("has no Hysteria"),
        Carrier::WsEarly => return Some("4.34 has no early data"),
        Carrier::Raw | Carrier::RawHttp | Carrier::Ws => {}
    }
    match (link.secure, link.mux) {
        (Secure::Reality, _) => Some("has no REALITY"),
        (_, Mux::Xudp) => Some("has no XUDP"),
        _ => None,
    }
}

/// It ends no half of a connection: only a protocol with an end of its own carries one, from the client.
pub fn half_close(link: &Link, role: Role) -> bool {
    role == Role::Client && matches!(link.proto, Proto::Vmess(..))
}

pub fn launch(role: Role, cells: &[Cell], keys: &Keys) -> Launch {
    let mut config = config(role, cells, keys, |_| Form { flat: false, old: true });
    config["log"]["loglevel"] = "info".into();
    Launch::json(&program("v2ray"), &["-config", "config.json"], &config, role.all_ports(cells))
}
