//! mihomo. Its YAML is written as JSON, which is YAML too.

use serde_json::{Value, json};

use crate::matrix::keys::{Keys, NAME, Secrets, shadowsocks};
use crate::matrix::link::{Carrier, Cell, Flow, Guise, Lengths, Link, Mux, Proto, Secure, Users, Version};
use crate::support::program;

use super::program::{Launch, Role};

pub fn lacks(link: &Link, role: Role) -> Option<&'static str> {
    match (link.carrier, role) {
        (Carrier::RawHttp, Role::Server) => return Some("has no HTTP header for raw as a server"),
        (Carrier::RawHttp, Role::Client) if link.proto == Proto::Trojan => return Some("has it for VLESS and VMess"),
        (Carrier::GrpcMulti, _) => return Some("has no multi mode of gRPC"),
        (Carrier::Xhttp(_, Version::Three), Role::Server) => return Some("serves no XHTTP over QUIC"),
        _ => {}
    }
    if let (Proto::Vmess(..), Mux::Cool, Role::Server) = (link.proto, link.mux, role) {
        return Some("loses sessions of mux.cool over VMess, also v2ray's");
    }
    match (link.proto, link.secure, link.mux, role) {
        (_, _, Mux::Cool, Role::Client) => Some("has other kinds of mux as a client"),
        (Proto::Trojan, _, Mux::Cool, _) => Some("has no mux.cool in Trojan"),
        (Proto::Trojan, Secure::None, _, Role::Client) => Some("has no Trojan without TLS as a client"),
        (Proto::Shadowsocks(_, Users::Several), _, _, Role::Server) => Some("knows one user of Shadowsocks"),
        (Proto::Shadowsocks(..), Secure::None, ..) if link.carrier == Carrier::Raw => None,
        (Proto::Shadowsocks(..), _, _, Role::Server) => Some("has no carriers below Shadowsocks as a server"),
        (Proto::Shadowsocks(..), ..) if !matches!(link.carrier, Carrier::Ws | Carrier::Upgrade) => {
            Some("has no carriers below Shadowsocks but a plugin's")
        }
        _ => None,
    }
}

/// The end of a stream behind its HTTP header is that of both ways, and a client's over QUIC or within its encryption too.
pub fn half_close(link: &Link, role: Role) -> bool {
    let as_client = matches!(link.carrier, Carrier::Hysteria(_)) || link.sealed.is_some();
    link.carrier != Carrier::RawHttp && !(role == Role::Client && as_client)
}

pub fn launch(role: Role, cells: &[Cell], keys: &Keys) -> Launch {
    let text = |path| std::fs::read_to_string(path).expect("the certificate is ours");
    let mut config = json!({
        "mode": "rule", "log-level": "info", "ipv6": false, "find-process-mode": "off", "geo-auto-update": false,
        "profile": { "store-selected": false, "store-fake-ip": false },
        "rules": ["MATCH,DIRECT"]
    });
    match role {
        Role::Server => {
            config["listeners"] = cells.iter().map(|cell| listener(cell, keys, &text)).collect();
        }
        Role::Client => {
            let (mut listeners, mut proxies) = (vec![], vec![]);
            for cell in cells {
                for (wrong, port, secrets) in [(false, cell.door, &keys.right), (true, cell.wrong, &keys.wrong)] {
                    let way = format!("{}{}", cell.tag(), if wrong { "-wrong" } else { "" });
                    listeners.push(json!({
                        "name": format!("in-{way}"), "type": "socks", "listen": "127.0.0.1", "port": port,
                        "udp": true, "proxy": way
                    }));
                    proxies.push(proxy(cell, keys, secrets, wrong, &way));
                }
            }
            config["listeners"] = listeners.into();
            config["proxies"] = proxies.into();
        }
    }
    let mut launch =
        Launch::json(&program("mihomo"), &["-d", ".", "-f", "config.json"], &config, role.all_ports(cells));
    // The only authority that it knows besides those it carries.
    launch.command.env("SSL_CERT_FILE", keys.ca());
    // It takes a client for itself whose port equals one of its own connections; on loopback that comes to pass.
    launch.command.env("DISABLE_LOOPBACK_DETECTOR", "true");
    launch
}

fn listener(cell: &Cell, keys: &Keys, text: &impl Fn(std::path::PathBuf) -> String) -> Value {
    let secrets = &keys.right;
    let login = json!([{ "username": "matrix", "password": secrets.password }]);
    let mut listener = match cell.link.proto {
        Proto::Socks => json!({ "type": "socks", "udp": true, "users": login }),
        Proto::Http => json!({ "type": "http", "users": login }),
        Proto::Vless(flow) => json!({
            "type": "vless", "users": [{ "username": "a", "uuid": secrets.uuid, "flow": vision(flow) }]
        }),
        Proto::Trojan => json!({ "type": "trojan", "users": [{ "username": "a", "password": secrets.password }] }),
        Proto::Vmess(..) => json!({
            "type": "vmess", "users": [{ "username": "a", "uuid": secrets.uuid, "alterId": 0 }]
        }),
        Proto::Hysteria => guised(cell, keys, json!({ "type": "hysteria2", "users": { "a": secrets.password } })),
        Proto::Shadowsocks(method, _) => json!({
            "type": "shadowsocks", "cipher": method, "password": secrets.server(method), "udp": true
        }),
    };
    if cell.link.sealed.is_some() {
        listener["decryption"] = secrets.decryption(cell.link.sealed).into();
    }
    listener["name"] = cell.tag().into();
    listener["listen"] = "127.0.0.1".into();
    listener["port"] = cell.server.into();
    match cell.link.secure {
        Secure::None if matches!(cell.link.proto, Proto::Vless(_) | Proto::Trojan) => {
            listener["allow-insecure"] = true.into();
        }
        Secure::None => {}
        Secure::Tls => {
            listener["certificate"] = text(keys.cert()).into();
            listener["private-key"] = text(keys.key()).into();
        }
        Secure::Reality => {
            listener["reality-config"] = json!({
                "dest": format!("127.0.0.1:{}", keys.reality.dest), "private-key": keys.reality.private,
                "short-id": [keys.reality.short], "server-names": [NAME]
            });
        }
    }
    match cell.link.carrier {
        Carrier::Raw | Carrier::RawHttp | Carrier::Hysteria(_) => {}
        // It tells an upgrade without a key from a WebSocket by itself.
        Carrier::Ws | Carrier::WsEarly | Carrier::Upgrade => listener["ws-path"] = "/matrix".into(),
        Carrier::Grpc | Carrier::GrpcMulti => listener["grpc-service-name"] = "matrix".into(),
        Carrier::Xhttp(mode, _) => listener["xhttp-config"] = json!({ "path": "/matrix", "mode": mode.word() }),
    }
    listener
}

fn proxy(cell: &Cell, keys: &Keys, secrets: &Secrets, wrong: bool, name: &str) -> Value {
    let encoding = if cell.link.mux == Mux::Xudp { "xudp" } else { "" };
    let mut proxy = match cell.link.proto {
        Proto::Socks => json!({ "type": "socks5", "username": "matrix", "password": secrets.password }),
        Proto::Http => json!({ "type": "http", "username": "matrix", "password": secrets.password }),
        Proto::Vless(Flow::Vision) => json!({
            "type": "vless", "uuid": secrets.uuid, "flow": vision(Flow::Vision), "packet-encoding": "xudp"
        }),
        Proto::Vless(Flow::Plain) => json!({ "type": "vless", "uuid": secrets.uuid, "packet-encoding": encoding }),
        Proto::Trojan => json!({ "type": "trojan", "password": secrets.password }),
        Proto::Vmess(security, lengths) => json!({
            "type": "vmess", "uuid": secrets.uuid, "alterId": 0, "cipher": security, "packet-encoding": encoding,
            "authenticated-length": lengths == Lengths::Sealed, "global-padding": lengths == Lengths::Sealed
        }),
        Proto::Hysteria => guised(cell, keys, json!({ "type": "hysteria2", "password": secrets.password })),
        Proto::Shadowsocks(..) => {
            let (method, users) = shadowsocks(cell.link.proto).expect("it is one");
            json!({ "type": "ss", "cipher": method, "password": secrets.client(method, users, wrong) })
        }
    };
    if cell.link.sealed.is_some() {
        proxy["encryption"] = secrets.encryption(cell.link.sealed).into();
    }
    proxy["name"] = name.into();
    proxy["server"] = "127.0.0.1".into();
    proxy["port"] = cell.server.into();
    proxy["udp"] = true.into();
    if matches!(cell.link.proto, Proto::Shadowsocks(..)) {
        if cell.link.carrier != Carrier::Raw {
            proxy["plugin"] = "v2ray-plugin".into();
            proxy["plugin-opts"] = json!({
                "mode": "websocket", "tls": cell.link.secure == Secure::Tls, "host": NAME, "path": "/matrix",
                "mux": false, "v2ray-http-upgrade": cell.link.carrier == Carrier::Upgrade
            });
        }
        return proxy;
    }
    match cell.link.secure {
        Secure::None => {}
        Secure::Tls | Secure::Reality => {
            proxy["tls"] = true.into();
            // The key differs from protocol to protocol.
            let name = if matches!(cell.link.proto, Proto::Vless(_) | Proto::Vmess(..)) { "servername" } else { "sni" };
            proxy[name] = NAME.into();
        }
    }
    if cell.link.secure == Secure::Reality {
        proxy["reality-opts"] = json!({ "public-key": keys.reality.public, "short-id": keys.reality.short });
        proxy["client-fingerprint"] = "chrome".into();
    }
    match cell.link.carrier {
        Carrier::Raw | Carrier::Hysteria(_) => {}
        Carrier::RawHttp => {
            proxy["network"] = "http".into();
            proxy["http-opts"] = json!({ "path": ["/matrix"], "headers": { "Host": ["www.matrix.test"] } });
        }
        Carrier::Ws | Carrier::WsEarly | Carrier::Upgrade => {
            proxy["network"] = "ws".into();
            let mut opts = json!({ "path": "/matrix", "headers": { "Host": NAME } });
            if cell.link.carrier == Carrier::WsEarly {
                opts["max-early-data"] = 2048.into();
                opts["early-data-header-name"] = "Sec-WebSocket-Protocol".into();
            }
            opts["v2ray-http-upgrade"] = (cell.link.carrier == Carrier::Upgrade).into();
            proxy["ws-opts"] = opts;
        }
        Carrier::Grpc | Carrier::GrpcMulti => {
            proxy["network"] = "grpc".into();
            proxy["grpc-opts"] = json!({ "grpc-service-name": "matrix" });
        }
        Carrier::Xhttp(mode, version) => {
            proxy["network"] = "xhttp".into();
            proxy["alpn"] = json!([version.alpn()]);
            proxy["xhttp-opts"] = json!({ "path": "/matrix", "mode": mode.word() });
        }
    }
    proxy
}

/// The same with what Hysteria does beside.
fn guised(cell: &Cell, keys: &Keys, mut end: Value) -> Value {
    match cell.link.carrier {
        Carrier::Hysteria(Guise::Salamander) => {
            end["obfs"] = "salamander".into();
            end["obfs-password"] = keys.right.uuid.clone().into();
        }
        Carrier::Hysteria(Guise::Rates) => {
            end["up"] = "100 Mbps".into();
            end["down"] = "200 Mbps".into();
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
