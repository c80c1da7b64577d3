//! What the first bytes of a flow give away, and the rules that go by it.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::{Certificate, Exit, House, echo, eventually, free_port, sing_box, socks_outbound, tunnel};

/// A QUIC client of another program goes by its name alone: to the address that it asks for nobody answers.
#[tokio::test]
async fn the_name_in_quic_decides_the_way() {
    for route_only in [false, true] {
        let certificate = Certificate::new("quic.example");
        let (there, nowhere) = (free_port(), free_port());
        let _server = sing_box(|port| {
            json!({
                "inbounds": [
                    { "type": "socks", "listen": "127.0.0.1", "listen_port": port },
                    { "type": "hysteria2", "listen": "127.0.0.1", "listen_port": there, "users": [{ "password": "pw" }],
                      "tls": { "enabled": true, "certificate_path": certificate.cert(), "key_path": certificate.key() } },
                ],
                "outbounds": [{ "type": "direct" }],
            })
        });
        let house = House::start(&json!({
            "inbounds": [{
                "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true },
                "sniffing": { "enabled": true, "destOverride": ["quic"], "routeOnly": route_only },
            }],
            "outbounds": [
                { "protocol": "blackhole" },
                { "protocol": "freedom", "tag": "there", "settings": { "redirect": format!("127.0.0.1:{there}") } },
            ],
            "routing": { "rules": [{ "domain": ["full:quic.example"], "protocol": ["quic"], "outboundTag": "there" }] },
        }));
        let client = sing_box(|port| {
            json!({
                "inbounds": [{ "type": "socks", "listen": "127.0.0.1", "listen_port": port }],
                "outbounds": [
                    { "type": "hysteria2", "server": "127.0.0.1", "server_port": nowhere, "password": "pw", "detour": "ours",
                      "tls": { "enabled": true, "insecure": true, "server_name": "quic.example" } },
                    { "type": "socks", "tag": "ours", "server": "127.0.0.1", "server_port": house.at("in").port() },
                ],
            })
        });
        let mut way = tunnel(client.addr, &echo().await.to_string()).await;
        way.write_all(b"hello").await.unwrap();
        let mut answer = [0; 5];
        timeout(Duration::from_secs(20), way.read_exact(&mut answer)).await.expect("an answer").unwrap();
        assert_eq!(&answer, b"hello");
        house.stop().await;
    }
}

#[tokio::test]
async fn bittorrent_is_known_by_its_greeting() {
    let (peers, others) = (Exit::start("peers").await, Exit::start("others").await);
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": { "enabled": true } }],
        "outbounds": [socks_outbound("others", others.at), socks_outbound("peers", peers.at)],
        "routing": { "rules": [{ "protocol": ["bittorrent"], "outboundTag": "peers" }] },
    }));
    for (greeting, exit) in [(&b"\x13BitTorrent protocol"[..], &peers), (b"\x13SomeOther protocol!", &others)] {
        let mut way = tunnel(house.at("in"), "192.0.2.1:6881").await;
        way.write_all(greeting).await.unwrap();
        drop(way);
        assert!(eventually(|| exit.heard().iter().any(|heard| heard == greeting)).await);
    }
    house.stop().await;
}
