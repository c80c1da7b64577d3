//! One association through every protocol that carries datagrams: all targets see one socket, and whoever learns of it may
//! answer.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{House, association, wrapped};

const ID: &str = "b831381d-6324-4d53-ad4f-8cda48b30811";

/// What a client needs to know of each server, by the tag of its inbound.
fn settings(server: &str) -> (&'static str, Value, Value) {
    match server {
        "vmess" => ("vmess", json!({ "clients": [{ "id": ID }] }), json!({ "id": ID, "security": "auto" })),
        "vless" => {
            let clients = json!({ "clients": [{ "id": ID }], "decryption": "none" });
            ("vless", clients, json!({ "id": ID, "encryption": "none" }))
        }
        "trojan" => ("trojan", json!({ "clients": [{ "password": "p" }] }), json!({ "password": "p" })),
        "shadowsocks" => {
            let account = json!({ "method": "aes-128-gcm", "password": "p" });
            ("shadowsocks", json!({ "method": "aes-128-gcm", "password": "p" }), account)
        }
        "http" => ("http", json!({}), json!({})),
        _ => ("socks", json!({ "udp": true }), json!({})),
    }
}

fn server(tag: &str) -> Value {
    let (protocol, settings, _) = settings(tag);
    json!({ "tag": tag, "protocol": protocol, "listen": "127.0.0.1", "settings": settings })
}

fn client(tag: &str, at: SocketAddr, mux: &Value) -> Value {
    let (protocol, _, mut settings) = settings(tag);
    settings["address"] = json!(at.ip().to_string());
    settings["port"] = json!(at.port());
    json!({ "protocol": protocol, "settings": settings, "mux": mux })
}

async fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

/// One datagram, and whose it is.
async fn heard(socket: &UdpSocket, what: &str) -> (Vec<u8>, SocketAddr) {
    let mut room = [0; 2048];
    let came = timeout(Duration::from_secs(10), socket.recv_from(&mut room)).await;
    let (len, from) = came.unwrap_or_else(|_| panic!("{what}: nothing comes")).unwrap();
    (room[..len].to_vec(), from)
}

#[tokio::test]
async fn a_third_may_answer_through_every_protocol() {
    let tags = ["vmess", "vless", "trojan", "shadowsocks", "http", "socks"];
    let servers = House::start(&json!({
        "inbounds": tags.map(server),
        "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } }]
    }));
    let shared = json!({ "enabled": true });
    let own = json!({ "enabled": true, "concurrency": -1, "xudpConcurrency": 4 });
    let off = json!({ "enabled": false });
    // Shadowsocks by itself needs one port for both networks, which the matrix of peers gives it.
    for (tag, mux) in [
        ("vmess", &off),
        ("vmess", &shared),
        ("vmess", &own),
        ("vless", &off),
        ("vless", &shared),
        ("trojan", &off),
        ("trojan", &shared),
        ("shadowsocks", &shared),
        ("http", &own),
        ("socks", &off),
        ("socks", &shared),
    ] {
        let what = format!("{tag} with mux {mux}");
        let house = House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
            "outbounds": [client(tag, servers.at(tag), mux)]
        }));
        let (_control, relay) = association(house.at("in")).await;
        let ((client, _), (near, near_at), (far, far_at)) = (socket().await, socket().await, socket().await);
        client.send_to(&wrapped(near_at, b"ask"), relay).await.unwrap();
        let (asked, way) = heard(&near, &what).await;
        assert_eq!(asked, b"ask", "{what}");
        near.send_to(b"near", way).await.unwrap();
        assert_eq!(heard(&client, &what).await.0, wrapped(near_at, b"near"), "{what}");

        client.send_to(&wrapped(far_at, b"ask too"), relay).await.unwrap();
        assert_eq!(heard(&far, &what).await, (b"ask too".to_vec(), way), "{what}");
        let (third, third_at) = socket().await;
        for (socket, at, word) in [(&far, far_at, "far"), (&third, third_at, "third")] {
            socket.send_to(word.as_bytes(), way).await.unwrap();
            assert_eq!(heard(&client, &what).await.0, wrapped(at, word.as_bytes()), "{what}");
        }
        house.stop().await;
    }
    servers.stop().await;
}
