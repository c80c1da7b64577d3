//! Every key counts: two configs that differ in one key alone give two models, also after a way through TOML.
//!
//! The keys come from the declarations themselves. A sample is made of each key's schema; where a schema does not say
//! enough, a sample stands in [`SAMPLES`]. A key that has none fails the test, so that none can be forgotten.

use serde_json::{Map, Value as Json, json};

use super::{errors, plain, read, tree};
use crate::model::carrier::{
    DomainSocket, Grpc, HttpUpgrade, HysteriaCarrier, Kcp, Masquerade, OldHttp, OldQuic, RawHeader, RawTcp,
    RequestHeader, ResponseHeader, WebSocket, Xhttp, Xmux,
};
use crate::model::mask::{
    FragmentMask, MaskNoise, MaskNoiseItem, MkcpLegacy, Realm, Salamander, Sudoku, TcpHeaderMask, UdpHeaderMask, Xdns,
    Xicmp, Xmc, XmcProfile,
};
use crate::model::mux::Mux;
use crate::model::outbound::ViaKeys;
use crate::model::protocol::{
    Blackhole, BlackholeResponse, DnsOut, DnsRule, Dokodemo, Fallback, FinalRule, Fragment, Freedom, HttpAccount,
    HttpCommon, HttpIn, HysteriaCommon, HysteriaIn, HysteriaUser, Login, Loopback, Noise, Peer, Responder, Reverse,
    ReverseUser, SocksAccount, SocksCommon, SocksIn, SsAccount, SsIn, SsUser, TrojanAccount, TrojanIn, TrojanUser, Tun,
    VlessAccount, VlessIn, VlessUser, VmessAccount, VmessDefault, VmessIn, VmessUser, Wireguard,
};
use crate::model::quicparams::{QuicParams, UdpHop};
use crate::model::reality::{FallbackLimit, RealityClient, RealityServer};
use crate::model::sniffing::Sniffing;
use crate::model::sockopt::{CustomSockopt, HappyEyeballs, SockOpt};
use crate::model::tls::{Certificate, Tls};
use crate::shape::{Defs, Dialect, Field, Plain, Record};

const ID: &str = "11111111-2222-3333-4444-555555555555";
const KEY: &str = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Base objects in which a key can be changed: what is required, and what makes the others count.
fn base(record: &str) -> Json {
    match record {
        "Login" => json!({ "user": "u", "pass": "p" }),
        "SocksIn" => json!({ "auth": "password" }),
        "SsUser" => json!({ "password": "p" }),
        "SsIn" => json!({ "method": "aes-128-gcm", "password": "p" }),
        "SsAccount" => json!({ "method": "aes-128-gcm", "password": "p" }),
        "TrojanAccount" => json!({ "password": "p" }),
        "VlessUser" | "VmessUser" | "VmessAccount" => json!({ "id": ID }),
        "VlessIn" => json!({ "decryption": "none" }),
        "VlessAccount" => json!({ "address": "a", "id": ID, "encryption": "none" }),
        "Reverse" | "ReverseUser" | "ViaKeys" => json!({ "tag": "t" }),
        "Peer" => json!({ "publicKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
        "Wireguard" => json!({ "secretKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
        "HysteriaUser" => json!({ "auth": "x" }),
        "Salamander" => json!({ "password": "a cloak" }),
        "HysteriaIn" | "HysteriaCommon" | "HysteriaCarrier" => json!({ "version": 2 }),
        "Fallback" => json!({ "dest": 80 }),
        "Fragment" => json!({ "length": 5, "interval": 5 }),
        "Noise" => json!({ "type": "rand", "packet": "5" }),
        "FinalRule" => json!({ "action": "allow" }),
        "DnsRule" => json!({ "action": "direct" }),
        "BlackholeResponse" | "RawHeader" => json!({ "type": "none" }),
        "CustomSockopt" => json!({ "opt": "1", "type": "int" }),
        "Certificate" => json!({ "certificateFile": "/c" }),
        "RealityServer" => {
            json!({ "dest": 80, "serverNames": ["a"], "privateKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "shortIds": [""] })
        }
        "RealityClient" => json!({ "publicKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
        "Xhttp" => json!({ "mode": "packet-up" }),
        _ => json!({}),
    }
}

/// A value for a key whose schema does not say enough; `record.key` before `key` alone.
fn sample(record: &str, key: &str) -> Option<Json> {
    Some(match (record, key) {
        ("SocksIn" | "HttpIn", "accounts" | "users") => json!([{ "user": "u", "pass": "p" }]),
        ("SsIn", "clients" | "users") => json!([{ "method": "aes-128-gcm", "password": "x" }]),
        ("TrojanIn", "clients" | "users") => json!([{ "password": "x" }]),
        ("VlessIn" | "VmessIn", "clients" | "users") => json!([{ "id": ID }]),
        ("HysteriaIn", "clients" | "users") => json!([{ "auth": "x" }]),
        ("VlessIn", "decryption") => json!(format!("mlkem768x25519plus.native.600s.{KEY}")),
        ("VlessAccount", "encryption") => json!(format!("mlkem768x25519plus.native.0rtt.{KEY}")),
        ("VlessIn" | "VlessUser", "flow") => json!("xtls-rprx-vision"),
        ("VlessAccount" | "VlessUser", "reverse") => json!({ "tag": "r" }),
        ("Xhttp", "mode") => json!("stream-up"),
        ("Xhttp", "xPaddingPlacement" | "sessionIDPlacement" | "seqPlacement") => json!("cookie"),
        ("Xhttp", "sessionIDTable") => return None,
        ("Fallback", "path") => json!("/p"),
        ("Noise", "packet") => json!("6"),
        ("Noise", "type") => json!("str"),
        ("RawHeader" | "BlackholeResponse", "type") => json!("http"),
        ("CustomSockopt", "type") => json!("str"),
        ("Masquerade", "type") => json!("file"),
        ("UdpHeaderMask", "mode") => json!("prefix"),
        ("Tls", "pinnedPeerCertSha256") => json!("ab".repeat(32)),
        ("TcpHeaderMask" | "UdpHeaderMask" | "MaskNoiseItem", _)
            if !matches!(key, "rand" | "delay" | "randRange" | "type") =>
        {
            json!([[{ "a": 1 }]])
        }
        ("FinalRule" | "Freedom", "finalRules") => json!([{ "action": "block" }]),
        ("DnsOut", "rules") => json!([{ "action": "drop" }]),
        ("Freedom", "fragment") => json!({ "length": 5, "interval": 5 }),
        ("Freedom", "noises") => json!([{ "type": "rand", "packet": "5" }]),
        ("Freedom", "proxyProtocol") => json!(1),
        ("Wireguard", "peers") => json!([{ "publicKey": KEY }]),
        ("Wireguard", "reserved") => json!([1, 2, 3]),
        ("RealityClient", "mldsa65Verify") => json!("AAAA".repeat(1952 / 3) + "AAA"),
        ("RealityServer", "shortIds") => json!(["ab"]),
        ("RealityServer", "minClientVer" | "maxClientVer") => json!("1.2.3"),
        ("RealityServer", "xver") | ("Fallback", "xver") => json!(1),
        ("RealityClient", "shortId") => json!("ab"),
        ("RealityClient", "spiderX") => json!("/x"),
        ("SocksIn", "auth") => json!("noauth"),
        ("Kcp", "maxSendingWindow") => json!(9000),
        ("Kcp", "tti") => json!(20),
        ("Kcp", "mtu") => json!(1400),
        ("HysteriaCarrier", "udpIdleTimeout") => json!(30),
        ("UdpHop", "interval") => json!("10-20"),
        ("UdpHop", "ports" | "port") => json!("1-5"),
        ("QuicParams", k) if k.ends_with("Window") => json!(20000),
        ("QuicParams", "maxIdleTimeout" | "keepAlivePeriod" | "maxIncomingStreams") => json!(20),
        ("QuicParams", "brutalUp" | "brutalDown") => json!("100 mbps"),
        ("QuicParams", "udpHop") => json!({ "ports": 5 }),
        ("MkcpLegacy", "header") => json!("dns"),
        ("Fragment" | "FragmentMask", "packets") => json!("tlshello"),
        ("SockOpt", "customSockopt") => json!([{ "opt": "1", "type": "int" }]),
        ("SockOpt", "happyEyeballs") => json!({ "tryDelayMs": 5 }),
        ("Tls", "echSockopt") => json!({ "mark": 1 }),
        ("Tls", "certificates") => json!([{ "certificateFile": "/c" }]),
        ("Certificate", "certificate" | "key") => json!(["line"]),
        ("Realm", "tlsConfig") => json!({ "serverName": "s" }),
        ("TrojanIn" | "VlessIn", "fallbacks") => json!([{ "dest": 80 }]),
        ("Xmc", "profiles") => json!([{ "username": "u" }]),
        ("MaskNoise", "noise") => json!([{ "rand": 5 }]),
        ("Salamander", "packetSize") => json!("10-20"),
        ("Loopback" | "Reverse", "sniffing") => json!({ "enabled": true }),
        ("Blackhole", "response") => json!({ "type": "http" }),
        ("RawTcp", "header") => json!({ "type": "http" }),
        ("RawHeader", "request") => json!({ "method": "PUT" }),
        ("RawHeader", "response") => json!({ "status": "404" }),
        ("Xhttp", "xmux") => json!({ "maxConnections": 9 }),
        ("OldQuic", "header") => json!({ "type": "srtp" }),
        ("HysteriaCarrier", "masquerade") => json!({ "type": "404" }),
        ("VmessIn", "default") => json!({ "level": 9 }),
        ("RealityServer", "limitFallbackUpload" | "limitFallbackDownload") => json!({ "afterBytes": 9 }),
        ("Dokodemo", "portMap") => json!({ "5": "a:6" }),
        ("Sniffing", "destOverride") => json!(["tls"]),
        (_, "redirect") => json!("a.example:1"),
        ("Sniffing", "domainsExcluded") => json!(["full:a.example"]),
        ("Sniffing", "ipsExcluded") | ("FinalRule", "ip") => json!(["10.0.0.0/8"]),
        (_, "id") => json!("other"),
        (_, "qType") => json!("5"),
        (_, "rCode") => json!(5),
        (_, "network") if record != "DnsOut" => json!("udp"),
        (_, "allowedNetwork") => json!("udp"),
        (_, "publicKey" | "password" | "secretKey" | "privateKey" | "preSharedKey" | "mldsa65Seed")
            if matches!(record, "Peer" | "Wireguard" | "RealityClient" | "RealityServer") =>
        {
            json!(KEY)
        }
        (_, "fingerprint") => json!("firefox"),
        (_, "headers") => json!({ "X-A": "b" }),
        (_, "ip" | "address" | "rewriteAddress") if record != "Wireguard" && record != "FinalRule" => json!("10.9.8.7"),
        _ => return None,
    })
}

/// A value of a schema that differs from what holds anyway.
fn made(shape: &Json, default: Option<&Json>) -> Option<Json> {
    if let Some(any) = shape.get("anyOf").and_then(Json::as_array) {
        return any.iter().find_map(|shape| made(shape, default));
    }
    if let Some(words) = shape.get("enum").and_then(Json::as_array) {
        return words.iter().rev().find(|w| Some(*w) != default && w.as_str() != Some("")).cloned();
    }
    let kind = shape.get("type")?;
    let is = |name: &str| kind == name || kind.as_array().is_some_and(|kinds| kinds.contains(&json!(name)));
    if is("boolean") {
        return Some(json!(default != Some(&json!(true))));
    }
    if is("integer") {
        return [json!(7), json!(9)].into_iter().find(|n| Some(n) != default);
    }
    if is("string") {
        return [json!("word"), json!("other")].into_iter().find(|w| Some(w) != default);
    }
    if is("array") {
        return made(shape.get("items")?, None).map(|item| json!([item]));
    }
    None
}

/// Reads a record of JSON and takes it through TOML and through JSON again.
fn through<T: Field + PartialEq + std::fmt::Debug>(json: &Json) -> Result<T, String> {
    let (model, problems) = read(Dialect::Json, &tree(json), |cx, node| T::read(cx, node));
    let (Some(model), []) = (model, errors(&problems).as_slice()) else {
        return Err(format!("{json}: {:?}", errors(&problems)));
    };
    for dialect in [Dialect::Toml, Dialect::Json] {
        let Plain::Map(mut written) = model.write(dialect) else { return Err("no map".into()) };
        if dialect == Dialect::Json
            && let Some(address) = json.get("address").and_then(Json::as_str)
            && !written.entries.iter().any(|(key, _)| key == "address")
        {
            written.put("address", address);
        }
        let (back, problems) = read(dialect, &plain(written), |cx, node| T::read(cx, node));
        if back.as_ref() != Some(&model) || !errors(&problems).is_empty() {
            return Err(format!("{json} in {dialect:?}: {:?}\n  {model:?}\n  {back:?}", errors(&problems)));
        }
    }
    Ok(model)
}

/// Faults of one record's keys, and how many keys were tried.
fn every_key_counts<T: Record + Field + PartialEq + std::fmt::Debug>(faults: &mut Vec<String>) -> usize {
    let mut defs = Defs::default();
    let start = base(T::NAME);
    let plain_model: T = through(&start).unwrap();
    let mut tried = 0;
    for key in T::keys(Dialect::Json, &mut defs) {
        // What a hook takes has tests of its own.
        // Hysteria's version has one value only.
        let only = T::NAME.starts_with("Hysteria") && key.key.toml == "version";
        if only || key.ignored.is_some() || key.key.toml.is_empty() {
            continue;
        }
        for name in key.key.json {
            let default = start.get(*name).cloned().or_else(|| key.default.as_ref().map(Json::from));
            let value = sample(T::NAME, name).or_else(|| made(&key.shape, default.as_ref()));
            let Some(value) = value else {
                faults.push(format!("{}.{name}: no sample for {}", T::NAME, key.shape));
                continue;
            };
            let mut changed: Map<String, Json> = start.as_object().cloned().unwrap_or_default();
            for other in key.key.json {
                changed.remove(*other);
            }
            changed.insert((*name).to_owned(), value.clone());
            if (T::NAME, *name) == ("Xhttp", "sessionIDTable") {
                changed.insert("sessionIDLength".into(), json!("10-20"));
            }
            match through::<T>(&changed.into()) {
                Ok(model) if model == plain_model => {
                    faults.push(format!("{}.{name} = {value} changes nothing", T::NAME))
                }
                Ok(_) => tried += 1,
                Err(fault) => faults.push(format!("{}.{name}: {fault}", T::NAME)),
            }
        }
    }
    tried
}

macro_rules! all {
    ($faults:ident: $($record:ty),* $(,)?) => { [$( every_key_counts::<$record>(&mut $faults), )*].iter().sum::<usize>() };
}

#[test]
fn no_key_is_without_effect() {
    let mut faults = vec![];
    let mut keys = all!(faults: Blackhole, BlackholeResponse, DnsOut, DnsRule, Dokodemo, Fallback, FinalRule, Fragment, Freedom, HttpAccount,
        HttpCommon, HttpIn, HysteriaIn, HysteriaUser, Login, Loopback, Noise, Peer, Responder, Reverse, ReverseUser,
        SocksAccount, SocksCommon, SocksIn, SsAccount, SsIn, SsUser, TrojanAccount, TrojanIn, TrojanUser, Tun,
        VlessAccount, VlessIn, VlessUser, VmessAccount, VmessDefault, VmessIn, VmessUser, Wireguard);
    keys += all!(
        faults: HysteriaCarrier, HysteriaCommon, DomainSocket, Grpc, HttpUpgrade, Kcp, Masquerade, OldHttp, OldQuic, RawHeader, RawTcp,
        RequestHeader, ResponseHeader, WebSocket, Xhttp, Xmux, FragmentMask, MaskNoise, MaskNoiseItem, MkcpLegacy, Realm,
        Salamander, Sudoku, TcpHeaderMask, UdpHeaderMask, Xdns, Xicmp, Xmc, XmcProfile);
    keys += all!(faults: Mux, ViaKeys, QuicParams, UdpHop, FallbackLimit, RealityClient, RealityServer, Sniffing, CustomSockopt,
        HappyEyeballs, SockOpt, Certificate, Tls);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(keys > 300, "{keys} keys");
}

#[test]
fn hysteria_has_one_version() {
    for json in [json!({ "version": 1 }), json!({})] {
        let (_, problems) = read(Dialect::Json, &tree(&json), HysteriaCommon::read);
        assert_eq!(errors(&problems).len(), 1, "{json}");
        let (_, problems) = read(Dialect::Json, &tree(&json), HysteriaCarrier::read);
        assert_eq!(errors(&problems).len(), 1, "{json}");
    }
}
