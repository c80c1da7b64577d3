//! Each protocol with much of what it can say, through both dialects and back.

use serde_json::{Value as Json, json};

use super::{errors, inbound_round, outbound_round, read, said, tree};
use crate::frontend::envelope::{inbound, outbound};
use crate::model::outbound::OutboundKind;
use crate::model::stream::{Carrier, Security};
use crate::shape::{Dialect, Severity};

const ID: &str = "11111111-2222-3333-4444-555555555555";
/// Thirty-two zero bytes.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const KEY2: &str = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn door(protocol: &str, settings: Json) -> Json {
    json!({ "tag": "in", "listen": "127.0.0.1", "port": 1, "protocol": protocol, "settings": settings })
}

fn way(protocol: &str, settings: Json) -> Json {
    json!({ "tag": "out", "protocol": protocol, "settings": settings })
}

/// Inbounds that say much.
pub(super) fn inbounds() -> Vec<Json> {
    vec![
        door(
            "dokodemo-door",
            json!({ "address": "1.1.1.1", "port": 53, "network": "tcp,udp", "portMap": { "5": ":53", "6": "a.example:" },
            "followRedirect": true, "userLevel": 2 }),
        ),
        door("tunnel", json!({ "rewriteAddress": "x.example", "rewritePort": 7, "allowedNetwork": ["udp"] })),
        door("http", json!({ "accounts": [{ "user": "u", "pass": "p" }], "allowTransparent": true, "userLevel": 1 })),
        door(
            "mixed",
            json!({ "auth": "password", "users": [{ "user": "u", "pass": "p" }], "udp": true, "ip": "127.0.0.1" }),
        ),
        door(
            "shadowsocks",
            json!({ "method": "AEAD_AES_128_GCM", "password": "x", "level": 3, "email": "e", "network": "tcp,udp" }),
        ),
        door("shadowsocks", json!({ "clients": [{ "method": "aes-256-gcm", "password": "x", "email": "e" }] })),
        door(
            "shadowsocks",
            json!({ "method": "2022-blake3-aes-256-gcm", "password": format!("{KEY}="), "users": [
            { "password": format!("{KEY2}="), "address": "a.example", "port": 9 }] }),
        ),
        door(
            "trojan",
            json!({ "clients": [{ "password": "x", "level": 1, "email": "e" }],
            "fallbacks": [{ "dest": 80 }, { "name": "n", "alpn": "h2", "path": "/p", "dest": "/run/x", "xver": 2 }] }),
        ),
        door(
            "vless",
            json!({ "clients": [{ "id": "example", "flow": "xtls-rprx-vision", "email": "e", "level": 300,
            "testseed": [1, 2, 3, 4] }], "decryption": "none", "fallbacks": [{ "dest": "x.example:1", "type": "tcp" }],
            "flow": "xtls-rprx-vision", "testseed": [5, 6, 7, 8] }),
        ),
        door(
            "vless",
            json!({ "users": [{ "id": ID, "reverse": { "tag": "r" } }],
            "decryption": format!("mlkem768x25519plus.native.600s.{KEY}") }),
        ),
        door(
            "vmess",
            json!({ "clients": [{ "id": ID, "alterId": 64, "experiments": "NoTerminationSignal", "level": 1 }],
            "default": { "level": 7 } }),
        ),
        door(
            "wireguard",
            json!({ "secretKey": KEY, "address": ["10.0.0.9"], "peers": [{ "publicKey": KEY2, "keepAlive": 5,
            "preSharedKey": KEY, "allowedIPs": ["10.0.0.2/32"], "level": 1, "email": "e" }], "mtu": 1300, "reserved": [1, 2, 3] }),
        ),
        json!({ "tag": "in", "listen": "127.0.0.1", "port": 1, "protocol": "hysteria",
            "settings": { "version": 2, "clients": [{ "auth": "x", "level": 1, "email": "e" }] },
            "streamSettings": { "network": "hysteria", "security": "tls", "hysteriaSettings": { "version": 2 } } }),
        json!({ "protocol": "tun", "settings": { "name": "t0", "mtu": 1400, "gateway": ["10.0.0.1/24"], "dns": ["1.1.1.1"],
            "autoSystemRoutingTable": ["0.0.0.0/0"], "autoOutboundsInterface": "auto", "userLevel": 1, "desc": "d" } }),
        json!({ "protocol": "http", "listen": "/run/x.sock,0660" }),
        json!({ "protocol": "vless", "listen": "@@x", "settings": { "decryption": "none", "clients": null } }),
        json!({ "protocol": "socks", "port": "1-3", "sniffing": { "enabled": true, "destOverride": ["http", "ssl", "fakedns+others"],
            "routeOnly": true, "metadataOnly": true, "domainsExcluded": "a,b", "ipsExcluded": ["10.0.0.0/8"] } }),
    ]
}

#[test]
fn inbounds_go_round() {
    for json in inbounds() {
        inbound_round(&json);
    }
}

/// Outbounds that say much.
pub(super) fn outbounds() -> Vec<Json> {
    let listed = |extra: Json| json!([{ "address": "a.example", "port": 443, "users": [extra] }]);
    vec![
        way(
            "freedom",
            json!({ "domainStrategy": "useipv4", "redirect": ":53", "userLevel": 1, "proxyProtocol": 2,
            "fragment": { "packets": "tlshello", "length": "10-20", "interval": 0, "maxSplit": "3" },
            "noises": [{ "type": "rand", "packet": "10-20", "delay": "1-2", "applyTo": "ipv4" }, { "type": "base64", "packet": "AA" }],
            "finalRules": [{ "action": "block", "network": "udp", "port": "1-5", "ip": "geoip:private", "blockDelay": 3 }] }),
        ),
        way("direct", json!({ "noise": { "type": "hex", "packet": "00ff" } })),
        way("blackhole", json!({ "response": { "type": "http" } })),
        way("block", json!({})),
        way(
            "dns",
            json!({ "network": "tcp", "address": "1.1.1.1", "port": 53, "userLevel": 1,
            "rules": [{ "action": "return", "qType": "1,28", "domain": "a,b", "rCode": 3 }] }),
        ),
        way("dns", json!({ "nonIPQuery": "skip", "blockTypes": [65, 0] })),
        way("loopback", json!({ "inboundTag": "x", "sniffing": { "enabled": true } })),
        way(
            "http",
            json!({ "servers": listed(json!({ "user": "u", "pass": "p", "level": 1, "email": "e" })), "headers": { "A": "b" } }),
        ),
        way("socks", json!({ "address": "::1", "port": 1080, "user": "u", "pass": "p", "version": "4a" })),
        way(
            "shadowsocks",
            json!({ "servers": [{ "address": "a.example", "port": 1, "method": "none", "password": "x", "uot": true },
            { "address": "b.example", "port": 2, "method": "chacha20-poly1305", "password": "y", "level": 2, "email": "e" }] }),
        ),
        way("trojan", json!({ "address": "10.0.0.1", "port": 443, "password": "x", "flow": "xtls-rprx-direct" })),
        way(
            "vless",
            json!({ "vnext": listed(json!({ "id": ID, "encryption": "none", "flow": "xtls-rprx-vision-udp443",
            "level": 1, "email": "e", "testpre": 3, "testseed": [1, 2, 3, 4] })) }),
        ),
        way(
            "vless",
            json!({ "address": "10.0.0.1", "port": 443, "id": "x", "encryption": format!("mlkem768x25519plus.random.0rtt.{KEY}"),
            "reverse": { "tag": "r", "sniffing": { "enabled": true } } }),
        ),
        way(
            "vmess",
            json!({ "vnext": listed(json!({ "id": ID, "security": "ZERO", "alterId": "0", "testsEnabled": "x" })) }),
        ),
        way(
            "wireguard",
            json!({ "secretKey": KEY, "peers": [{ "publicKey": KEY2, "endpoint": "a.example:51820" }],
            "reserved": "AQID", "noKernelTun": true, "domainStrategy": "forceipv6v4" }),
        ),
        json!({ "tag": "out", "protocol": "hysteria", "settings": { "version": 2, "address": "a.example", "port": 443 },
            "streamSettings": { "network": "hysteria", "security": "tls", "hysteriaSettings": { "version": 2, "auth": "x" } } }),
        json!({ "tag": "o", "protocol": "freedom", "sendThrough": "10.0.0.0/24", "targetStrategy": "ForceIPv4v6",
            "proxySettings": { "tag": "t", "transportLayer": true },
            "mux": { "enabled": true, "concurrency": -1, "xudpConcurrency": 16, "xudpProxyUDP443": "skip" } }),
    ]
}

#[test]
fn outbounds_go_round() {
    for json in outbounds() {
        outbound_round(&json);
    }
}

/// Outbounds with streams that say much.
pub(super) fn streams() -> Vec<Json> {
    let certificates = json!([{ "certificateFile": "/c", "keyFile": "/k", "usage": "verify", "ocspStapling": 60, "oneTimeLoading": true },
        { "certificate": ["-----BEGIN"], "key": ["x"], "usage": "issue", "buildChain": true }]);
    let all = vec![
        json!({ "network": "raw", "rawSettings": { "acceptProxyProtocol": true, "header": { "type": "http", "request": {
            "path": ["/a", "/b"], "headers": { "Host": ["x"] } }, "response": { "status": "404", "headers": {} } } } }),
        json!({ "network": "ws", "security": "tls", "wsSettings": { "path": "up?key=1&ed=2048", "headers": { "HOST": "h", "X": "y" },
            "heartbeatPeriod": 10, "earlyDataHeaderName": "X-Early" },
            "tlsSettings": { "serverName": "s", "alpn": "h2,http/1.1", "fingerprint": "Firefox", "allowInsecure": true,
            "pinnedPeerCertSha256": "aa".repeat(32), "certificates": certificates, "minVersion": "1.2", "maxVersion": "1.3",
            "curvePreferences": ["X25519"], "echSockopt": { "mark": 1 }, "echServerKeys": "x", "verifyPeerCertByName": "a,b" } }),
        json!({ "network": "httpupgrade", "httpupgradeSettings": { "path": "/x?ed=5", "host": "h" } }),
        json!({ "network": "gun", "grpcSettings": { "serviceName": "s", "multiMode": true, "idle_timeout": 10, "user_agent": "firefox" } }),
        json!({ "method": "xhttp", "security": "reality", "realitySettings": { "publicKey": KEY, "shortId": "00ff", "serverName": "s",
            "spiderX": "/x", "fingerprint": "chrome", "mldsa65Verify": "" }, "xhttpSettings": { "mode": "packet-up", "path": "/p", "host": "h",
            "extra": { "scMaxEachPostBytes": "10-20", "xmux": { "maxConcurrency": 5 }, "uplinkHTTPMethod": "get",
            "downloadSettings": { "address": "d.example", "port": 443, "network": "xhttp", "security": "tls",
            "xhttpSettings": { "path": "/d" } } } } }),
        json!({ "security": "reality", "realitySettings": { "dest": 443, "serverNames": ["s"], "privateKey": KEY, "shortIds": ["", "ab"],
            "minClientVer": "1.2", "maxTimeDiff": 5, "mldsa65Seed": KEY2, "limitFallbackUpload": { "afterBytes": 1 } } }),
        json!({ "network": "mkcp", "kcpSettings": { "mtu": 1400, "header": { "type": "wechat-video" }, "seed": "s" } }),
        json!({ "network": "hysteria", "security": "tls", "hysteriaSettings": { "version": 2, "auth": "x", "udpIdleTimeout": 30,
            "masquerade": { "type": "string", "content": "c", "statusCode": 404 } },
            "finalmask": { "udp": [{ "type": "salamander", "settings": { "password": "xxxx" } }],
            "quicParams": { "congestion": "force-brutal", "brutalUp": "100 mbps", "udpHop": { "ports": "1-5", "interval": "10-20" } } } }),
        json!({ "network": "h2", "httpSettings": { "host": ["a"], "path": "/x" } }),
        json!({ "network": "quic", "quicSettings": { "security": "aes-128-gcm", "key": "k", "header": { "type": "srtp" } } }),
        json!({ "network": "ds", "dsSettings": { "path": "/x", "abstract": true } }),
        json!({ "security": "xtls", "xtlsSettings": { "serverName": "s" } }),
        json!({ "finalmask": { "tcp": [{ "type": "fragment", "settings": { "packets": "1-3", "lengths": ["1-2", 3] } },
            { "type": "header-custom", "settings": { "clients": [[{ "a": 1 }]] } }, { "type": "sudoku" },
            { "type": "xmc", "settings": { "profiles": [{ "username": "u" }] } }],
            "udp": [{ "type": "noise", "settings": { "noise": [{ "rand": "1-2", "packet": [1, 2] }] } }, { "type": "xdns" },
            { "type": "xicmp", "settings": { "dgram": true } }, { "type": "realm", "settings": { "tlsConfig": { "serverName": "s" } } },
            { "type": "header-custom", "settings": { "mode": "prefix" } }, { "type": "mkcp-legacy", "settings": { "header": "dns", "value": "d" } }] } }),
        json!({ "sockopt": { "mark": 1, "tcpFastOpen": 5, "tproxy": "TPROXY", "domainStrategy": "UseIPv4", "dialerProxy": "x",
            "customSockopt": [{ "opt": "1", "value": "2", "type": "int" }], "addressPortStrategy": "srvportonly",
            "happyEyeballs": { "tryDelayMs": 250 }, "trustedXForwardedFor": ["X"], "tcpKeepAliveIdle": -1, "tcpKeepAliveInterval": -1 } }),
    ];
    let out =
        |stream| json!({ "protocol": "socks", "settings": { "address": "a", "port": 1 }, "streamSettings": stream });
    all.into_iter().map(out).collect()
}

#[test]
fn streams_go_round() {
    for json in streams() {
        outbound_round(&json);
    }
}

#[test]
fn old_spellings_are_read_and_told() {
    let vless = |stream: Json| {
        json!({ "protocol": "vless", "streamSettings": stream, "settings": { "vnext": [{ "address": "IP1", "port": 443,
            "users": [{ "id": ID, "encryption": "none", "flow": "xtls-rprx-splice" }] }] } })
    };
    let (model, problems) = outbound_round(&vless(json!({ "network": "tcp", "security": "xtls", "xtlsSettings": {} })));
    assert!(matches!(model.stream.security, Security::Xtls(_)));
    let OutboundKind::Vless(served) = model.kind else { panic!("not vless") };
    assert!(served.servers[0].account.flow.is_xtls());
    assert!(said(&problems).contains("security `xtls` is gone"), "{}", said(&problems));
    assert!(said(&problems).contains("flow `xtls-rprx-splice` belongs to XTLS"), "{}", said(&problems));

    for (alter, warned) in [(json!(64), true), (json!("0"), false), (json!(-1), false), (json!(0), false)] {
        let json = door("vmess", json!({ "clients": [{ "id": ID, "alterId": alter }] }));
        let (_, problems) = inbound_round(&json);
        assert_eq!(said(&problems).contains("alterId 64 counts as 0"), warned, "{json}");
    }

    let (model, problems) =
        inbound_round(&json!({ "protocol": "socks", "port": 1, "domainOverride": ["http", "tls"] }));
    assert!(model.sniffing.enabled && model.sniffing.dest_override.len() == 2, "{}", said(&problems));

    let ws = json!({ "network": "ws", "wsSettings": { "path": "/%3Fed%3D2048" } });
    let (model, _) = outbound_round(&json!({ "protocol": "freedom", "streamSettings": ws }));
    let Carrier::Ws(ws) = model.stream.carrier else { panic!("not ws") };
    assert_eq!((ws.path.as_str(), ws.max_early_data), ("/%3Fed%3D2048", 0));
}

#[test]
fn unused_tables_are_built_and_reported() {
    let json = json!({ "protocol": "freedom", "streamSettings": { "network": "tcp", "kcpSettings": { "tti": 5 }, "wsSettings": {} } });
    let (_, problems) = read(Dialect::Json, &tree(&json), outbound::read);
    assert_eq!(errors(&problems), ["invalid mKCP TTI: 5"]);
    assert!(
        said(&problems).contains("Note streamSettings.wsSettings: `wsSettings` is not used"),
        "{}",
        said(&problems)
    );
}

#[test]
fn what_means_nothing_behind_another_outbound_is_told() {
    let told = |rest: Json| {
        let mut json = json!({ "protocol": "vless", "settings":
            { "address": "10.0.0.1", "port": 1, "id": ID, "encryption": "none" } });
        json.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap());
        said(&read(Dialect::Json, &tree(&json), outbound::read).1)
    };
    let via = |transport_layer: bool| json!({ "tag": "t", "transportLayer": transport_layer });
    let (ws, tls) = (json!({ "network": "ws" }), json!({ "security": "tls" }));
    let dropped = told(json!({ "proxySettings": via(false), "streamSettings": ws }));
    assert!(dropped.contains("keeps TLS alone: the network of streamSettings has no effect"), "{dropped}");
    assert_eq!(told(json!({ "proxySettings": via(true), "streamSettings": ws })), "");
    assert_eq!(told(json!({ "proxySettings": via(false), "streamSettings": tls })), "");
    let reality = json!({ "security": "reality", "realitySettings":
        { "publicKey": KEY, "serverName": "a.example", "fingerprint": "chrome" } });
    let kept = told(json!({ "proxySettings": via(false), "streamSettings": reality }));
    assert!(kept.contains("it is kept here"), "{kept}");
    let from = told(json!({ "sendThrough": "origin", "streamSettings": { "sockopt": { "dialerProxy": "t" } } }));
    assert!(from.contains("sendThrough has no effect"), "{from}");
    assert_eq!(told(json!({ "sendThrough": "origin" })), "");
    let server = told(json!({ "streamSettings": { "sockopt": { "v6only": true, "mark": 1 } } }));
    assert!(server.contains("no effect on an outbound: v6only"), "{server}");
}

#[test]
fn the_seeds_toml_is_read() {
    let toml = json!({ "tag": "edge", "protocol": "vless", "server": "proxy1.example.com", "port": 443,
        "stream": { "network": "ws", "security": "tls", "ws": { "path": "/ws" } }, "settings": { "id": ID } });
    let (model, problems) = read(Dialect::Toml, &tree(&toml), outbound::read);
    assert_eq!(said(&problems), "");
    let stream = model.map(|m| m.stream).unwrap_or_default();
    assert!(matches!((&stream.carrier, &stream.security), (Carrier::Ws(_), Security::Tls(_))));
    let toml = json!({ "tag": "p", "protocol": "trojan", "server": "p.example", "port": 443, "stream": { "network": "tls" },
        "settings": { "password": "x" } });
    let (model, problems) = read(Dialect::Toml, &tree(&toml), outbound::read);
    assert_eq!(said(&problems), "");
    let stream = model.map(|m| m.stream).unwrap_or_default();
    assert!(matches!((&stream.carrier, &stream.security), (Carrier::Raw(_), Security::Tls(_))));
}

#[test]
fn shadowsocks_keys_are_checked_with_tag_method_and_lengths() {
    let ss = |method: &str, password: &str| door("shadowsocks", json!({ "method": method, "password": password }));
    let told = |json: &Json| {
        let (_, problems) = read(Dialect::Json, &tree(json), inbound::read);
        problems.into_iter().map(|p| (p.severity, p.message)).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&ss("2022-blake3-aes-128-gcm", "QUJDREVG")),
        [(Severity::Error, "inbound in: the key for 2022-blake3-aes-128-gcm needs 16 bytes in base64, has 6".into())]
    );
    let message = &told(&ss("2022-blake3-aes-256-gcm", "my secret password!"))[0].1;
    assert!(message.contains("32") && message.contains("base64"), "{message}");
    assert_eq!(told(&ss("2022-blake3-aes-128-gcm", &format!("{KEY}=")))[0].0, Severity::Warning);
    let users = door(
        "shadowsocks",
        json!({ "method": "2022-blake3-aes-128-gcm", "password": "AAECAwQFBgcICQoLDA0ODw==",
        "clients": [{ "password": "AAECAwQFBgcICQoLDA0ODw==", "method": "aes-128-gcm" }] }),
    );
    assert_eq!(told(&users)[0].1, "shadowsocks 2022 (multi-user): users must have empty method");
}

#[test]
fn what_does_not_fit_together_is_told() {
    for (json, want) in [
        (
            way("vless", json!({ "address": "8.8.8.8", "port": 1, "id": ID, "encryption": "none" })),
            "Warning settings: VLESS without TLS",
        ),
        (
            way("trojan", json!({ "servers": [{ "address": "p.example.com", "port": 1, "password": "x" }] })),
            "Warning settings.servers[0]: Trojan without TLS",
        ),
        (
            json!({ "protocol": "freedom", "proxySettings": { "tag": "t" }, "streamSettings": { "sockopt": { "dialerProxy": "u" } } }),
            "Error : proxySettings.tag is conflicted with sockopt.dialerProxy",
        ),
        (
            json!({ "protocol": "freedom", "streamSettings": { "network": "ws", "security": "reality", "realitySettings": { "publicKey": KEY } } }),
            "REALITY only supports RAW, XHTTP and gRPC for now.",
        ),
        (
            json!({ "protocol": "freedom", "streamSettings": { "security": "reality" } }),
            "REALITY: Empty \"realitySettings\".",
        ),
        (
            way(
                "vless",
                json!({ "vnext": [{ "address": "a", "port": 1, "users": [{ "id": "", "encryption": "none" }] }] }),
            ),
            "Error settings.vnext[0].users[0].id: invalid UUID: it is empty",
        ),
        (
            way("vmess", json!({ "vnext": [{ "address": "", "port": 1, "users": [{ "id": ID }] }] })),
            "missing field `address`",
        ),
        (
            way(
                "shadowsocks",
                json!({ "servers": [{ "address": "a", "port": 1, "method": "AES-256-CFB", "password": "x" }] }),
            ),
            "method: the stream cipher `AES-256-CFB` is not spoken",
        ),
        (way("socks", json!({})), "missing field `servers`"),
        (json!({ "protocol": "sock" }), "unknown variant `sock`"),
    ] {
        let (_, problems) = read(Dialect::Json, &tree(&json), outbound::read);
        assert!(said(&problems).contains(want), "{json}\n{}", said(&problems));
        assert!(!said(&problems).contains(ID));
    }
    let bare = way("vless", json!({ "vnext": [{ "address": "a", "port": 1, "users": [{ "id": ID }] }] }));
    let (_, problems) = read(Dialect::Json, &tree(&bare), outbound::read);
    let told = problems.iter().find(|problem| problem.message == "missing field `encryption`");
    let help = "add `\"encryption\": \"none\"`, or the keys that the other side has";
    assert_eq!(told.and_then(|problem| problem.help.as_deref()), Some(help));
    let twice =
        door("trojan", json!({ "clients": [{ "password": "a", "email": "E" }, { "password": "b", "email": "e" }] }));
    let (_, problems) = read(Dialect::Json, &tree(&twice), inbound::read);
    assert_eq!(errors(&problems), ["User e already exists."]);
}
