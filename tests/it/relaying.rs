//! A Shadowsocks 2022 server in the midst of a way, with sing-box at its end.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{House, association, echo, free_port, sing_box, tunnel, wrapped};

const METHOD: &str = "2022-blake3-aes-128-gcm";
const RELAY: &str = "AAECAwQFBgcICQoLDA0ODw==";
const USER: &str = "EBESExQVFhcYGRobHB0eHw==";
const OTHER: &str = "ICEiIyQlJicoKSorLC0uLw==";

#[tokio::test]
async fn streams_and_datagrams_pass_a_relay_to_the_server_of_their_user() {
    let end = sing_box(|port| {
        json!({
            "inbounds": [{
                "type": "shadowsocks", "listen": "127.0.0.1", "listen_port": port, "method": METHOD, "password": USER
            }],
            "outbounds": [{ "type": "direct" }]
        })
    });
    let port = free_port();
    let relay = House::start_there(&json!({
        "inbounds": [{
            "tag": "in", "protocol": "shadowsocks", "listen": "127.0.0.1", "port": port,
            "settings": { "method": METHOD, "password": RELAY, "network": "tcp,udp", "clients": [
                { "password": OTHER, "email": "o@x", "address": "127.0.0.1", "port": 1 },
                { "password": USER, "email": "u@x", "address": "127.0.0.1", "port": end.port() }
            ] }
        }],
        "outbounds": [{ "protocol": "freedom" }]
    }));
    let client = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "shadowsocks", "settings": { "servers": [{
            "address": "127.0.0.1", "port": port, "method": METHOD,
            "password": format!("{RELAY}:{USER}")
        }] } }]
    }));
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    let sent: Vec<u8> = (0..200_000u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut back = vec![0; sent.len()];
    let (mut read, mut write) = stream.split();
    let (written, heard) = tokio::join!(write.write_all(&sent), read.read_exact(&mut back));
    written.unwrap();
    heard.unwrap();
    assert!(back == sent);

    let (target, asker) =
        (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let at = target.local_addr().unwrap();
    let (_control, door) = association(client.at("in")).await;
    let mut room = [0; 2048];
    for (question, answer) in [(b"one", b"eno"), (b"two", b"owt")] {
        asker.send_to(&wrapped(at, question), door).await.unwrap();
        let heard = timeout(Duration::from_secs(10), target.recv_from(&mut room)).await;
        let (len, from) = heard.expect("a question").unwrap();
        assert_eq!(&room[..len], question);
        target.send_to(answer, from).await.unwrap();
        let len = timeout(Duration::from_secs(10), asker.recv(&mut room)).await.expect("an answer").unwrap();
        assert_eq!(room[..len], wrapped(at, answer));
    }
    client.stop().await;
    relay.stop().await;
}
