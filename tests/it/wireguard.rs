//! WireGuard through whole engines, with sing-box at the other end; the world inside the tunnel is sing-box's own address,
//! which it takes for loopback.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use boringtun::x25519::{PublicKey, StaticSecret};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::support::{
    Engine, House, Lossy, Nginx, PATIENCE, Peer, association, curl, dnsmasq, free_port, sing_box, tunnel, until,
    wrapped,
};

const FAR: [&str; 2] = ["10.7.0.1", "fd07::1"];
const NEAR: [&str; 2] = ["10.7.0.2", "fd07::2"];

fn secret(of: u8) -> String {
    BASE64_STANDARD.encode([of; 32])
}

fn public(of: u8) -> String {
    BASE64_STANDARD.encode(PublicKey::from(&StaticSecret::from([of; 32])))
}

/// sing-box as a server of UDP at this port, who knows one client; whom it is asked for names by is `names`.
fn server(listen: u16, preshared: Option<u8>, names: u16) -> Peer {
    let peer = json!({ "public_key": public(2), "allowed_ips": [format!("{}/32", NEAR[0]), format!("{}/128", NEAR[1])],
        "pre_shared_key": preshared.map(secret).unwrap_or_default() });
    sing_box(|port| {
        json!({
            "log": { "level": "debug" },
            "endpoints": [{ "type": "wireguard", "tag": "wg", "system": false, "mtu": 1420, "private_key": secret(1),
                "address": [format!("{}/32", FAR[0]), format!("{}/128", FAR[1])], "listen_port": listen, "peers": [peer] }],
            "inbounds": [{ "type": "mixed", "listen": "127.0.0.1", "listen_port": port }],
            "outbounds": [{ "type": "direct", "tag": "direct" }],
            "route": { "rules": [{ "port": 53, "action": "route", "outbound": "direct",
                "override_address": "127.0.0.1", "override_port": names }] }
        })
    })
}

/// The outbound that leads there.
fn way(tag: &str, port: u16, own: u8, rest: Value) -> Value {
    let mut settings = json!({ "secretKey": secret(own), "address": NEAR,
        "peers": [{ "publicKey": public(1), "endpoint": format!("127.0.0.1:{port}"), "preSharedKey": rest["psk"] }] });
    if rest["psk"].is_null() {
        settings["peers"][0].as_object_mut().unwrap().remove("preSharedKey");
    }
    for (key, value) in rest.as_object().into_iter().flatten().filter(|(key, _)| *key != "psk") {
        settings[key] = value.clone();
    }
    json!({ "tag": tag, "protocol": "wireguard", "settings": settings })
}

fn client(outbound: Value) -> Value {
    let inbound = json!({ "tag": "in", "listen": "127.0.0.1", "protocol": "socks", "settings": { "udp": true } });
    json!({ "inbounds": [inbound], "outbounds": [outbound] })
}

/// Says back what it is told, on loopback of either family.
async fn echo_at(ip: IpAddr) -> u16 {
    let listener = TcpListener::bind((ip, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
    port
}

async fn echoes(stream: &mut TcpStream, said: &[u8]) -> bool {
    let once = async {
        let (mut down, mut up) = stream.split();
        let writing = async {
            up.write_all(said).await?;
            up.shutdown().await
        };
        let mut heard = vec![];
        let (sent, came) = tokio::join!(writing, down.read_to_end(&mut heard));
        (sent.is_ok() && came.is_ok()).then(|| heard == said)
    };
    timeout(PATIENCE, once).await.ok().flatten() == Some(true)
}

fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_both_families_many_at_a_time_and_datagrams() {
    let listen = free_port();
    let _server = server(listen, Some(9), 1);
    let client = House::start(&client(way("wg", listen, 2, json!({ "psk": secret(9), "reserved": [0, 0, 0] }))));
    for (far, loopback) in FAR.into_iter().zip([IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()]) {
        let target = SocketAddr::new(far.parse().unwrap(), echo_at(loopback).await).to_string();
        let mut stream = tunnel(client.at("in"), &target).await;
        assert!(echoes(&mut stream, &bytes(3 << 20)).await, "{target}");
    }
    let port = echo_at(Ipv4Addr::LOCALHOST.into()).await;
    let mut all = tokio::task::JoinSet::new();
    for number in 0..200_u32 {
        let (at, target) = (client.at("in"), format!("{}:{port}", FAR[0]));
        all.spawn(async move { echoes(&mut tunnel(at, &target).await, number.to_string().as_bytes()).await });
    }
    assert!(all.join_all().await.into_iter().all(|well| well));
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = SocketAddr::new(FAR[0].parse().unwrap(), far.local_addr().unwrap().port());
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        while let Ok((len, from)) = far.recv_from(&mut buf).await {
            far.send_to(&buf[..len], from).await.unwrap();
        }
    });
    let (_control, at) = association(client.at("in")).await;
    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for size in [1, 64, 1200] {
        let (said, mut heard) = (wrapped(to, &vec![7; size]), [0; 2048]);
        near.send_to(&said, at).await.unwrap();
        let (len, _) = timeout(PATIENCE, near.recv_from(&mut heard)).await.unwrap().unwrap();
        assert_eq!(heard[..len], said[..]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_loses_and_reorders_carries_everything() {
    let listen = free_port();
    let _server = server(listen, None, 1);
    let path = Lossy::to(listen, 5).await;
    let client = House::start(&client(way("wg", path.port(), 2, json!({}))));
    let target = format!("{}:{}", FAR[0], echo_at(Ipv4Addr::LOCALHOST.into()).await);
    let mut stream = tunnel(client.at("in"), &target).await;
    // Both directions stay open: when one ends, the policy has the other end after a second of silence, which is what a lost
    // packet costs here.
    let said = bytes(200_000);
    let (mut heard, (mut down, mut up)) = (vec![0; said.len()], stream.split());
    let all = async { tokio::join!(up.write_all(&said), down.read_exact(&mut heard)) };
    let (sent, came) = timeout(3 * PATIENCE, all).await.unwrap();
    assert!(sent.is_ok() && came.is_ok() && heard == said);
    assert!(path.passed() > 300);
}

/// Names are asked of the servers inside the tunnel, and of nobody else.
#[test]
fn names_of_targets_are_looked_up_through_the_tunnel() {
    let (names, origin) = (dnsmasq("inside.example", FAR[0]), Nginx::start(&[("page", b"page")], ""));
    let (listen, door) = (free_port(), free_port());
    let _server = server(listen, None, names.port());
    let mut config = client(way("wg", listen, 2, json!({ "domainStrategy": "ForceIPv4" })));
    config["inbounds"][0]["port"] = door.into();
    let engine = Engine::json(&config, &[door]);
    let proxy = format!("socks5h://127.0.0.1:{door}");
    for _ in 0..2 {
        let url = format!("http://www.inside.example:{}/page", origin.peer.port());
        let page = curl(&["-x", &proxy, &url]);
        assert_eq!(page.text(), "page", "{} {}", page.complaint, engine.output());
    }
    names.process.wait_to_say("query[A] www.inside.example");
    assert_eq!(names.process.output().matches("query[A] www.inside.example").count(), 1, "an answer is kept");
    assert!(!names.process.output().contains("query[AAAA]"), "{}", names.process.output());
}

/// A server that comes back knows no session any more; the tunnel finds that out by itself.
#[test]
fn after_the_server_was_restarted_flows_go_on() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let (listen, door) = (free_port(), free_port());
    let mut config = client(way("wg", listen, 2, json!({})));
    config["inbounds"][0]["port"] = door.into();
    let engine = Engine::json(&config, &[door]);
    let proxy = format!("socks5h://127.0.0.1:{door}");
    let url = format!("http://{}:{}/page", FAR[0], origin.peer.port());
    let fetch = || (curl(&["-x", &proxy, &url]).text() == "page").then_some(());
    let first = server(listen, None, 1);
    assert!(until(PATIENCE, fetch).is_some(), "{}", engine.output());
    drop(first);
    let _second = server(listen, None, 1);
    let began = Instant::now();
    assert!(until(Duration::from_secs(60), fetch).is_some(), "{}", engine.output());
    // WireGuard begins anew after 15 seconds without an answer.
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

/// Who has another key, or lacks the second one, is not answered: flows fail by the server's fault, and a balancer leaves
/// that member.
#[test]
fn with_other_keys_flows_fail_by_the_tunnels_fault_and_a_balancer_takes_another_member() {
    let origin = Nginx::start(&[("page", b"page")], "");
    let (listen, door) = (free_port(), free_port());
    let peer = server(listen, Some(9), 1);
    let config = json!({
        "log": { "loglevel": "debug" },
        "inbounds": [{ "tag": "in", "listen": "127.0.0.1", "port": door, "protocol": "socks" }],
        "outbounds": [
            way("wg-stranger", listen, 3, json!({ "psk": secret(9) })),
            way("wg-one-key", listen, 2, json!({})),
            way("wg-right", listen, 2, json!({ "psk": secret(9) })),
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["wg-"], "strategy": "optimal", "optimalSettings": {
                "url": format!("http://{}:{}/page", FAR[0], origin.peer.port()), "timeout": 6, "interval": 60, "count": 1 } }],
            "rules": [{ "inboundTag": ["in"], "balancerTag": "pool" }]
        }
    });
    let engine = Engine::json(&config, &[door]);
    let proxy = format!("socks5h://127.0.0.1:{door}");
    let url = format!("http://{}:{}/page", FAR[0], origin.peer.port());
    let fetch = || (curl(&["-x", &proxy, &url]).text() == "page").then_some(());
    assert!(until(Duration::from_secs(40), fetch).is_some(), "{}", engine.output());
    assert!(until(PATIENCE, || engine.output().contains("wg-right").then_some(())).is_some());
    for _ in 0..3 {
        assert!(fetch().is_some(), "{}", engine.output());
    }
    // Nothing of it came through.
    assert!(!peer.process.output().contains("panic"));
}
