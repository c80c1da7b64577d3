//! sing-box, built without uTLS.

use serde_json::{Value, json};

use crate::matrix::keys::{Keys, NAME, Secrets, shadowsocks};
use crate::matrix::link::{Carrier, Cell, Flow, Guise, Lengths, Link, Mux, Proto, Secure, Users};
use crate::support::program;

use super::program::{Launch, Role};

pub fn lacks(link: &Link, role: Role) -> Option<&'static str> {
    if link.sealed.is_some() {
        return Some("has no VLESS encryption");
    }
    match link.carrier {
        Carrier::RawHttp => return Some("has no HTTP header for raw"),
        Carrier::Xhttp(..) => return Some("has no XHTTP"),
        Carrier::GrpcMulti => return Some("has no multi mode of gRPC"),
        _ => {}
    }
    match (link.proto, link.carrier, role) {
        // Its HTTP server reads ahead by a byte or not, and its Trojan wants the whole header in one piece.
        (Proto::Trojan, Carrier::Upgrade, Role::Server) => {
            return Some("refuses Trojan behind an upgrade now and then, also its own client's and mihomo's");
        }
        (Proto::Vmess(..), _, Role::Server) if link.mux == Mux::Cool => {
            return Some("loses sessions of mux.cool over VMess, also v2ray's");
        }
        _ => {}
    }
    match (link.proto, link.secure, link.mux) {
        (_, Secure::Reality, _) => Some("is built without uTLS, so it has no REALITY"),
        (_, _, Mux::Cool) if role == Role::Client => Some("has other kinds of mux as a client"),
        (Proto::Trojan, _, Mux::Cool) => Some("has no mux.cool in Trojan"),
        (Proto::Socks, Secure::Tls, _) => Some("has no TLS below SOCKS"),
        (Proto::Shadowsocks(..), Secure::None, _) if link.carrier == Carrier::Raw => None,
        (Proto::Shadowsocks(..), ..) if role == Role::Server => Some("has no carriers below Shadowsocks as a server"),
        (Proto::Shadowsocks(..), ..) if link.carrier != Carrier::Ws => {
            Some("has no carrier below Shadowsocks but a plugin's WebSocket")
        }
        _ => None,
    }
}

/// Its ciphers' streams and its upgrades end both ways at once, and a client's over QUIC too.
pub fn half_close(link: &Link, role: Role) -> bool {
    let ciphers = matches!(link.proto, Proto::Vmess(..) | Proto::Shadowsocks(..) | Proto::Vless(Flow::Vision));
    let quic = role == Role::Client && matches!(link.carrier, Carrier::Hysteria(_));
    !ciphers && !quic && link.carrier != Carrier::Upgrade
}

pub fn launch(role: Role, cells: &[Cell], keys: &Keys) -> Launch {
    let config = match role {
        Role::Server => json!({
            "log": { "level": "info" },
            "inbounds": cells.iter().map(|cell| inbound(cell, keys)).collect::<Vec<_>>(),
            "outbounds": [{ "type": "direct" }]
        }),
        Role::Client => {
            let (mut inbounds, mut outbounds, mut rules) = (vec![], vec![], vec![]);
            for cell in cells {
                for (wrong, port, secrets) in [(false, cell.door, &keys.right), (true, cell.wrong, &keys.wrong)] {
                    let tag = format!("{}{}", cell.tag(), if wrong { "-wrong" } else { "" });
                    let (door, way) = (format!("in-{tag}"), format!("out-{tag}"));
                    inbounds.push(json!({ "type": "socks", "tag": door, "listen": "127.0.0.1", "listen_port": port }));
                    outbounds.push(outbound(cell, keys, secrets, wrong, &way));
                    rules.push(json!({ "inbound": [door], "outbound": way }));
                }
            }
            json!({
                "log": { "level": "info" },
                "inbounds": inbounds, "outbounds": outbounds, "route": { "rules": rules }
            })
        }
    };
    let ports = role.all_ports(cells);
    Launch::json(&program("sing-box"), &["run", "-c", "config.json", "-D", "."], &config, ports)
}

fn inbound(cell: &Cell, keys: &Keys) -> Value {
    let secrets = &keys.right;
    let login = json!({ "username": "matrix", "password": secrets.password });
    let mut inbound = match cell.link.proto {
        Proto::Socks => json!({ "type": "socks", "users": [login] }),
        Proto::Http => json!({ "type": "http", "users": [login] }),
        Proto::Vless(flow) => json!({ "type": "vless", "users": [{ "uuid": secrets.uuid, "flow": vision(flow) }] }),
        Proto::Trojan => json!({ "type": "trojan", "users": [{ "name": "a", "password": secrets.password }] }),
        Proto::Vmess(..) => json!({ "type": "vmess", "users": [{ "uuid": secrets.uuid, "alterId": 0 }] }),
        Proto::Hysteria => {
            guised(cell, keys, json!({ "type": "hysteria2", "users": [{ "password": secrets.password }] }))
        }
        Proto::Shadowsocks(method, Users::One) => {
            json!({ "type": "shadowsocks", "method": method, "password": secrets.server(method) })
        }
        Proto::Shadowsocks(method, Users::Several) => json!({
            "type": "shadowsocks", "method": method, "password": secrets.server(method),
            "users": [{ "name": "a", "password": secrets.user(method) }]
        }),
    };
    inbound["tag"] = cell.tag().into();
    inbound["listen"] = "127.0.0.1".into();
    inbound["listen_port"] = cell.server.into();
    if cell.link.secure == Secure::Tls {
        inbound["tls"] = json!({ "enabled": true, "certificate_path": keys.cert(), "key_path": keys.key() });
    }
    if let Some(transport) = transport(cell.link.carrier) {
        inbound["transport"] = transport;
    }
    inbound
}

fn outbound(cell: &Cell, keys: &Keys, secrets: &Secrets, wrong: bool, tag: &str) -> Value {
    let encoding = if cell.link.mux == Mux::Xudp { "xudp" } else { "" };
    let mut outbound = match cell.link.proto {
        Proto::Socks => json!({ "type": "socks", "username": "matrix", "password": secrets.password }),
        Proto::Http => json!({ "type": "http", "username": "matrix", "password": secrets.password }),
        Proto::Vless(Flow::Vision) => {
            json!({ "type": "vless", "uuid": secrets.uuid, "flow": vision(Flow::Vision), "packet_encoding": "xudp" })
        }
        Proto::Vless(Flow::Plain) => {
            json!({ "type": "vless", "uuid": secrets.uuid, "packet_encoding": encoding })
        }
        Proto::Trojan => json!({ "type": "trojan", "password": secrets.password }),
        Proto::Vmess(security, lengths) => json!({
            "type": "vmess", "uuid": secrets.uuid, "security": security, "packet_encoding": encoding,
            "authenticated_length": lengths == Lengths::Sealed, "global_padding": lengths == Lengths::Sealed
        }),
        Proto::Hysteria => guised(cell, keys, json!({ "type": "hysteria2", "password": secrets.password })),
        Proto::Shadowsocks(..) => {
            let (method, users) = shadowsocks(cell.link.proto).expect("it is one");
            let password = secrets.client(method, users, wrong);
            json!({ "type": "shadowsocks", "method": method, "password": password })
        }
    };
    outbound["tag"] = tag.into();
    outbound["server"] = "127.0.0.1".into();
    outbound["server_port"] = cell.server.into();
    if matches!(cell.link.proto, Proto::Shadowsocks(..)) {
        if cell.link.carrier == Carrier::Ws {
            let tls = if cell.link.secure == Secure::Tls {
                format!("tls;cert={};", keys.ca().display())
            } else {
                String::new()
            };
            outbound["plugin"] = "v2ray-plugin".into();
            outbound["plugin_opts"] = format!("{tls}mode=websocket;host={NAME};path=/matrix;mux=0").into();
        }
        return outbound;
    }
    if cell.link.secure == Secure::Tls {
        outbound["tls"] = json!({ "enabled": true, "server_name": NAME, "certificate_path": keys.ca() });
    }
    if let Some(transport) = transport(cell.link.carrier) {
        outbound["transport"] = transport;
    }
    outbound
}

/// The same with what Hysteria does beside.
fn guised(cell: &Cell, keys: &Keys, mut end: Value) -> Value {
    match cell.link.carrier {
        Carrier::Hysteria(Guise::Salamander) => {
            end["obfs"] = json!({ "type": "salamander", "password": keys.right.uuid });
        }
        Carrier::Hysteria(Guise::Rates) => {
            end["up_mbps"] = 100.into();
            end["down_mbps"] = 200.into();
        }
        _ => {}
    }
    end
}

fn vision(flow: Flow) -> &'static str {
    match flow {
        Flow::Plain => "",
        Flow::Vision => "xtls-rprx-vision",
    }
}

fn transport(carrier: Carrier) -> Option<Value> {
    Some(match carrier {
        Carrier::Raw | Carrier::RawHttp | Carrier::Xhttp(..) | Carrier::Hysteria(_) => return None,
        Carrier::Ws => json!({ "type": "ws", "path": "/matrix", "headers": { "Host": NAME } }),
        Carrier::WsEarly => json!({
            "type": "ws", "path": "/matrix", "max_early_data": 2048,
            "early_data_header_name": "Sec-WebSocket-Protocol"
        }),
        Carrier::Upgrade => json!({ "type": "httpupgrade", "path": "/matrix", "host": NAME }),
        Carrier::Grpc | Carrier::GrpcMulti => json!({ "type": "grpc", "service_name": "matrix" }),
    })
}
