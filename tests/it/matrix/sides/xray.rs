//! Configurations in Xray's JSON: ours, and Xray itself where there is one.
//!
//! Forms that mean the same alternate from cell to cell: `vnext` and flat, `clients` and `users`, old and new names.

use std::path::PathBuf;

use etemenanki::frontend::{Format, Options, Source, load};
use etemenanki::shape::Kind;
use serde_json::{Map, Value, json};

use crate::matrix::keys::{Keys, NAME, Secrets, shadowsocks};
use crate::matrix::link::{Carrier, Cell, Flow, Guise, Lengths, Link, Mux, Proto, Secure, Users, Version};
use crate::support::Authority;

use super::program::{Launch, Program, Role};

/// Where Xray is, by hand only.
pub fn binary() -> PathBuf {
    std::env::var_os("XRAY_BIN").expect("XRAY_BIN names an Xray binary").into()
}

pub fn lacks(link: &Link) -> Option<&'static str> {
    match link.proto {
        Proto::Vmess("none" | "zero", _) => Some("has removed VMess without a cipher"),
        Proto::Shadowsocks("none", _) => Some("has removed Shadowsocks without a cipher"),
        _ => None,
    }
}

/// What our own engine says of a link that it reads and cannot run.
pub fn not_built(link: &Link, role: Role) -> Option<String> {
    let keys = Keys::new(Authority::new(), 1);
    let cell = Cell { link: *link, nth: 0, server: 1, door: 2, wrong: 3 };
    let config = config(role, std::slice::from_ref(&cell), &keys, Form::of).to_string();
    let source = Source { name: "config.json".into(), bytes: config.into(), format: Some(Format::Json) };
    let mut loaded = load(vec![source], &Options { strict: false, env: &|_| None });
    loaded.link();
    let problem = loaded.problems.iter().find(|problem| problem.kind == Kind::NotBuilt)?;
    let what = problem.message.split_once(": ").map_or(problem.message.as_str(), |(_, what)| what);
    Some(format!("etemenanki: {what}"))
}

pub fn launch(program: Program, role: Role, cells: &[Cell], keys: &Keys) -> Launch {
    let binary = if program == Program::Xray { binary() } else { env!("CARGO_BIN_EXE_etemenanki").into() };
    Launch::json(&binary, &["run", "-c", "config.json"], &config(role, cells, keys, Form::of), role.all_ports(cells))
}

/// Which of two ways of writing the same.
#[derive(Clone, Copy)]
pub struct Form {
    /// The server's address and the user beside each other, without lists.
    pub flat: bool,
    /// Names from before some were renamed.
    pub old: bool,
}

impl Form {
    /// Changes from cell to cell.
    fn of(cell: &Cell) -> Self {
        Self { flat: cell.nth.is_multiple_of(2), old: (cell.nth / 2).is_multiple_of(2) }
    }
}

/// The configuration of one side for all cells; `form` says how each is written.
pub fn config(role: Role, cells: &[Cell], keys: &Keys, form: impl Fn(&Cell) -> Form) -> Value {
    match role {
        Role::Server => json!({
            "log": { "loglevel": "info" },
            "inbounds": cells.iter().map(|cell| inbound(cell, keys, form(cell))).collect::<Vec<_>>(),
            "outbounds": [{
                "protocol": "freedom",
                "settings": { "finalRules": [{ "action": "allow" }] }
            }]
        }),
        Role::Client => {
            let (mut inbounds, mut outbounds, mut rules) = (vec![], vec![], vec![]);
            for cell in cells {
                for (wrong, port, secrets) in [(false, cell.door, &keys.right), (true, cell.wrong, &keys.wrong)] {
                    let tag = format!("{}{}", cell.tag(), if wrong { "-wrong" } else { "" });
                    inbounds.push(json!({
                        "tag": format!("in-{tag}"), "listen": "127.0.0.1", "port": port, "protocol": "socks",
                        "settings": { "auth": "noauth", "udp": true, "ip": "127.0.0.1" }
                    }));
                    let form = form(cell);
                    outbounds.push(outbound(cell, keys, secrets, form, wrong, &format!("out-{tag}")));
                    rules.push(json!({
                        "type": "field", "inboundTag": [format!("in-{tag}")], "outboundTag": format!("out-{tag}")
                    }));
                }
            }
            json!({
                "log": { "loglevel": "info" },
                "inbounds": inbounds, "outbounds": outbounds, "routing": { "rules": rules }
            })
        }
    }
}

fn inbound(cell: &Cell, keys: &Keys, form: Form) -> Value {
    let secrets = &keys.right;
    let list = if form.old { "clients" } else { "users" };
    let (protocol, settings) = match cell.link.proto {
        Proto::Socks => {
            let account = json!({ "user": "matrix", "pass": secrets.password });
            ("socks", json!({ "auth": "password", "accounts": [account], "udp": true }))
        }
        Proto::Http => ("http", json!({ "accounts": [{ "user": "matrix", "pass": secrets.password }] })),
        Proto::Vless(flow) => {
            let user = json!({ "id": secrets.uuid, "flow": vision(flow), "email": "a@matrix.test" });
            ("vless", json!({ list: [user], "decryption": secrets.decryption(cell.link.sealed) }))
        }
        Proto::Trojan => ("trojan", json!({ list: [{ "password": secrets.password }] })),
        Proto::Vmess(..) => ("vmess", json!({ list: [{ "id": secrets.uuid }] })),
        // One whom the stream knows, or somebody of a list.
        Proto::Hysteria if form.flat => ("hysteria", json!({ "version": 2 })),
        Proto::Hysteria => ("hysteria", json!({ "version": 2, list: [{ "auth": secrets.password, "email": "a" }] })),
        Proto::Shadowsocks(method, users) => ("shadowsocks", shadowsocks_in(secrets, method, users, list)),
    };
    json!({
        "tag": cell.tag(), "listen": "127.0.0.1", "port": cell.server, "protocol": protocol, "settings": settings,
        "streamSettings": stream(cell, keys, secrets, form, Role::Server)
    })
}

fn shadowsocks_in(secrets: &Secrets, method: &str, users: Users, list: &str) -> Value {
    let (server, user) = (secrets.server(method), secrets.user(method));
    match users {
        Users::One => json!({ "method": method, "password": server, "network": "tcp,udp" }),
        Users::Several if crate::matrix::keys::is_2022(method) => {
            let other = if method.contains("aes-128") { "AAAAAAAAAAAAAAAAAAAAAA==" } else { OTHER };
            let list_of = [json!({ "password": other, "email": "b" }), json!({ "password": user, "email": "a" })];
            json!({ "method": method, "password": server, "network": "tcp,udp", list: list_of })
        }
        Users::Several => {
            let other = json!({ "method": "chacha20-poly1305", "password": "somebody else", "email": "b" });
            let user = json!({ "method": method, "password": user, "email": "a" });
            json!({ "method": method, "password": server, "network": "tcp,udp", list: [other, user] })
        }
    }
}

/// The key of a second user, 32 bytes.
const OTHER: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn outbound(cell: &Cell, keys: &Keys, secrets: &Secrets, form: Form, wrong: bool, tag: &str) -> Value {
    let user = match cell.link.proto {
        Proto::Socks | Proto::Http => json!({ "user": "matrix", "pass": secrets.password }),
        Proto::Vless(flow) => json!({
            "id": secrets.uuid, "encryption": secrets.encryption(cell.link.sealed), "flow": vision(flow)
        }),
        Proto::Trojan => json!({ "password": secrets.password }),
        Proto::Hysteria => json!({ "version": 2 }),
        Proto::Vmess(security, Lengths::Usual) => json!({ "id": secrets.uuid, "security": security }),
        // V2Ray called it tests.
        Proto::Vmess(security, Lengths::Sealed) => json!({
            "id": secrets.uuid, "security": security,
            (if form.old { "testsEnabled" } else { "experiments" }): "AuthenticatedLength"
        }),
        Proto::Shadowsocks(..) => {
            let (method, users) = shadowsocks(cell.link.proto).expect("it is one");
            json!({ "method": method, "password": secrets.client(method, users, wrong) })
        }
    };
    let server = json!({ "address": "127.0.0.1", "port": cell.server });
    let (protocol, list, users) = match cell.link.proto {
        Proto::Socks => ("socks", "servers", true),
        Proto::Http => ("http", "servers", true),
        Proto::Vless(_) => ("vless", "vnext", true),
        Proto::Trojan => ("trojan", "servers", false),
        Proto::Vmess(..) => ("vmess", "vnext", true),
        Proto::Shadowsocks(..) => ("shadowsocks", "servers", false),
        Proto::Hysteria => ("hysteria", "", false),
    };
    let settings = match (form.flat, users) {
        (true, _) => joined(server, user),
        // It has no list.
        (false, false) if list.is_empty() => joined(server, user),
        (false, true) => json!({ list: [joined(server, json!({ "users": [user] }))] }),
        (false, false) => json!({ list: [joined(server, user)] }),
    };
    let mut outbound = json!({
        "tag": tag, "protocol": protocol, "settings": settings, "streamSettings": stream(cell, keys, secrets, form, Role::Client)
    });
    if cell.link.mux == Mux::Cool {
        outbound["mux"] = json!({ "enabled": true, "concurrency": 8 });
    }
    outbound
}

fn joined(mut one: Value, two: Value) -> Value {
    if let (Value::Object(one), Value::Object(two)) = (&mut one, two) {
        one.extend(two);
    }
    one
}

fn vision(flow: Flow) -> &'static str {
    match flow {
        Flow::Plain => "",
        Flow::Vision => "xtls-rprx-vision",
    }
}

fn stream(cell: &Cell, keys: &Keys, secrets: &Secrets, form: Form, role: Role) -> Value {
    let mut stream = Map::new();
    let old = form.old;
    match cell.link.carrier {
        Carrier::Raw => {
            stream.insert("network".into(), if old { "tcp" } else { "raw" }.into());
        }
        Carrier::RawHttp => {
            let request = json!({ "path": ["/matrix"], "headers": { "Host": ["www.matrix.test"] } });
            stream.insert("network".into(), "tcp".into());
            stream.insert("tcpSettings".into(), json!({ "header": { "type": "http", "request": request } }));
        }
        Carrier::Ws => {
            stream.insert("network".into(), "ws".into());
            stream.insert("wsSettings".into(), json!({ "path": "/matrix", "headers": { "Host": NAME } }));
        }
        Carrier::WsEarly => {
            stream.insert("network".into(), "ws".into());
            stream.insert("wsSettings".into(), json!({ "path": "/matrix?ed=2048" }));
        }
        Carrier::Upgrade => {
            stream.insert("network".into(), "httpupgrade".into());
            stream.insert("httpupgradeSettings".into(), json!({ "path": "/matrix", "host": NAME }));
        }
        Carrier::Grpc | Carrier::GrpcMulti => {
            let multi = cell.link.carrier == Carrier::GrpcMulti;
            stream.insert("network".into(), "grpc".into());
            stream.insert("grpcSettings".into(), json!({ "serviceName": "matrix", "multiMode": multi }));
        }
        Carrier::Hysteria(guise) => {
            // As with XHTTP over QUIC.
            let mut quic = json!({ "maxIdleTimeout": 6, "keepAlivePeriod": 2 });
            if guise == Guise::Rates {
                quic["brutalUp"] = "100 mbps".into();
                quic["brutalDown"] = "200 mbps".into();
            }
            let mut mask = json!({ "quicParams": quic });
            if guise == Guise::Salamander {
                let settings = json!({ "password": keys.right.uuid });
                mask["udp"] = json!([{ "type": "salamander", "settings": settings }]);
            }
            stream.insert("network".into(), "hysteria".into());
            stream.insert("hysteriaSettings".into(), json!({ "version": 2, "auth": secrets.password }));
            stream.insert("finalmask".into(), mask);
        }
        Carrier::Xhttp(mode, version) => {
            if version == Version::Three {
                // Nothing but silence tells that whoever spoke QUIC was killed.
                let quic = json!({ "maxIdleTimeout": 6, "keepAlivePeriod": 2 });
                stream.insert("finalmask".into(), json!({ "quicParams": quic }));
            }
            // A server takes every mode unless it is told one.
            let mode = if role == Role::Server && old { "auto" } else { mode.word() };
            stream.insert("network".into(), if old { "xhttp" } else { "splithttp" }.into());
            let settings = if old { "xhttpSettings" } else { "splithttpSettings" };
            stream.insert(settings.into(), json!({ "path": "/matrix", "mode": mode }));
        }
    }
    match (cell.link.secure, role) {
        (Secure::None, _) => {}
        (Secure::Tls, Role::Server) => {
            let certificate = json!({ "certificateFile": keys.cert(), "keyFile": keys.key() });
            stream.insert("security".into(), "tls".into());
            stream.insert("tlsSettings".into(), with_alpn(cell, json!({ "certificates": [certificate] })));
        }
        (Secure::Tls, Role::Client) => {
            let trusted = json!({ "usage": "verify", "certificateFile": keys.ca() });
            let mut tls = json!({ "serverName": NAME, "certificates": [trusted] });
            if cell.nth.is_multiple_of(3) {
                tls["fingerprint"] = "chrome".into();
            }
            stream.insert("security".into(), "tls".into());
            stream.insert("tlsSettings".into(), with_alpn(cell, tls));
        }
        (Secure::Reality, Role::Server) => {
            let dest = if old { "dest" } else { "target" };
            // Without it Xray of 2026 turns away every client that does not call itself as new, mihomo among them.
            let reality = json!({
                dest: format!("127.0.0.1:{}", keys.reality.dest), "serverNames": [NAME],
                "privateKey": keys.reality.private, "shortIds": ["", keys.reality.short], "minClientVer": "1.0.0"
            });
            stream.insert("security".into(), "reality".into());
            stream.insert("realitySettings".into(), reality);
        }
        (Secure::Reality, Role::Client) => {
            let key = if old { "publicKey" } else { "password" };
            let reality = json!({
                "serverName": NAME, "fingerprint": "chrome", key: keys.reality.public,
                "shortId": keys.reality.short, "spiderX": "/"
            });
            stream.insert("security".into(), "reality".into());
            stream.insert("realitySettings".into(), reality);
        }
    }
    stream.into()
}

/// XHTTP goes by what TLS agreed upon; others choose it themselves.
fn with_alpn(cell: &Cell, mut tls: Value) -> Value {
    if let Carrier::Xhttp(_, version) = cell.link.carrier {
        tls["alpn"] = json!([version.alpn()]);
    }
    tls
}
