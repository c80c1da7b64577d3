//! What an outbound's sockets are told: where they begin, what goes around them behind another outbound, and options.
#![allow(clippy::unwrap_used)]

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UdpSocket};
use tokio::time::timeout;

use crate::support::{House, Who, association, echo, line, socks_outbound, tunnel, tunnel_as, wrapped};

const LIMIT: Duration = Duration::from_secs(10);
const ID: &str = "27848739-7e62-4138-9fd3-098a63964b6b";

/// An outbound to a server of VLESS.
fn vless(port: u16, rest: Value) -> Value {
    let mut outbound = json!({ "protocol": "vless", "settings":
        { "address": "127.0.0.1", "port": port, "id": ID, "encryption": "none" } });
    outbound.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap_or_default());
    outbound
}

fn client(listen: &str, outbounds: Vec<Value>) -> House {
    House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": listen, "settings": { "udp": true } }],
        "outbounds": outbounds,
    }))
}

/// Whether an address is one of a network of 16 bits.
fn begins(ip: IpAddr, with: [u8; 2]) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.octets()[..2] == with)
}

#[tokio::test]
async fn connections_to_servers_leave_from_the_address_of_the_flow() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    for (through, first) in [("origin", [127, 5]), ("srcip", [127, 6]), ("127.7.0.0/16", [127, 7])] {
        for way in [
            json!({}),
            json!({ "mux": { "enabled": true } }),
            json!({ "streamSettings": { "network": "grpc", "grpcSettings": { "serviceName": "s" } } }),
            json!({ "streamSettings": { "network": "xhttp", "xhttpSettings": { "path": "/x" } } }),
            json!({ "streamSettings": { "network": "ws" } }),
        ] {
            let mut outbound = vless(port, way);
            outbound["sendThrough"] = through.into();
            let house = client("127.5.0.1", vec![outbound.clone()]);
            let at = house.at("in");
            let asking = tokio::spawn(async move {
                let who = Who { from: Some([127, 6, 0, 1].into()), ..Who::default() };
                let mut way = tunnel_as(at, "192.0.2.1:80", who).await;
                way.write_all(b"x").await.unwrap();
                way
            });
            let (_held, from) = timeout(LIMIT, server.accept()).await.unwrap().unwrap();
            assert!(begins(from.ip(), first), "{from} for {outbound}");
            asking.abort();
            house.stop().await;
        }
    }
}

#[tokio::test]
async fn datagrams_to_servers_leave_from_the_address_of_the_flow() {
    let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for (through, first) in [("origin", [127, 5]), ("127.7.0.0/16", [127, 7])] {
        let house = client(
            "127.5.0.1",
            vec![json!({ "protocol": "shadowsocks", "sendThrough": through, "settings": { "address": "127.0.0.1",
                "port": server.local_addr().unwrap().port(), "method": "aes-128-gcm", "password": "p" } })],
        );
        let (_control, relay) = association(house.at("in")).await;
        let asking = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        asking.send_to(&wrapped("192.0.2.1:53".parse().unwrap(), b"ask"), relay).await.unwrap();
        let (_, from) = timeout(LIMIT, server.recv_from(&mut [0; 256])).await.unwrap().unwrap();
        assert!(begins(from.ip(), first), "{from} for {through}");
        house.stop().await;
    }
}

/// Whether an answer comes by this way.
async fn answers(outbounds: Vec<Value>, target: &str) -> bool {
    let house = client("127.0.0.1", outbounds);
    let asked = async {
        let mut way = tunnel(house.at("in"), target).await;
        way.write_all(b"heard\n").await.unwrap();
        line(&mut way).await
    };
    // A server that is spoken to wrongly may be silent for long.
    let heard = timeout(Duration::from_secs(2), asked).await;
    house.stop().await;
    heard.is_ok_and(|heard| heard == "heard")
}

#[tokio::test]
async fn behind_another_outbound_the_carrier_stays_only_where_that_is_asked_for() {
    let open = echo().await.to_string();
    let server = |stream: Value| {
        House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "vless", "listen": "127.0.0.1", "streamSettings": stream,
                "settings": { "clients": [{ "id": ID }], "decryption": "none" } }],
            "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } }],
        }))
    };
    let ws = || json!({ "network": "ws", "wsSettings": { "path": "/w" } });
    let front = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [{ "protocol": "freedom" }],
    }));
    let (bare, carried) = (server(json!({})), server(ws()));
    for (transport_layer, of_bare, of_carried) in [(false, true, false), (true, false, true)] {
        for (server, heard) in [(&bare, of_bare), (&carried, of_carried)] {
            let way = json!({ "streamSettings": ws(),
                "proxySettings": { "tag": "front", "transportLayer": transport_layer } });
            let outbounds = vec![vless(server.at("in").port(), way), socks_outbound("front", front.at("in"))];
            assert_eq!(answers(outbounds, &open).await, heard, "transportLayer {transport_layer}");
        }
    }
    for house in [bare, carried, front] {
        house.stop().await;
    }
}

#[tokio::test]
async fn flows_pass_sockets_with_options_of_their_own() {
    let open = echo().await.to_string();
    let sockopt = json!({ "tcpFastOpen": true, "tcpWindowClamp": 65536, "tcpCongestion": "reno", "tcpUserTimeout": 9000,
        "tcpKeepAliveIdle": 30, "customSockopt": [
            { "opt": "7", "level": "1", "type": "int", "value": "50000", "network": "tcp", "system": "linux" },
            { "opt": "9999", "level": "1", "type": "int", "value": "1", "system": "windows" },
        ] });
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "streamSettings": { "sockopt": sockopt } }],
        "outbounds": [{ "protocol": "freedom", "streamSettings": { "sockopt": sockopt } }],
    }));
    // The first connection brings the cookie; those after it say their first words with the request.
    for _ in 0..3 {
        let heard = async {
            let mut way = tunnel(house.at("in"), &open).await;
            way.write_all(b"heard\n").await.unwrap();
            line(&mut way).await
        };
        assert_eq!(timeout(LIMIT, heard).await.unwrap(), "heard");
    }
    house.stop().await;
}
