//! Freedom: which targets it dials, and how it sends what comes first.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use crate::support::{House, association, echo, line, microsocks, socks_outbound, tunnel, wrapped};

/// What a server reads of a client that says this and ends.
async fn arrives(sniffing: bool, said: &[u8]) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": { "enabled": sniffing } }],
        "outbounds": [{ "protocol": "freedom", "settings": {
            "fragment": { "packets": "tlshello", "length": "10-20", "interval": "1-2" },
        } }],
    }));
    let mut client = tunnel(house.at("in"), &listener.local_addr().unwrap().to_string()).await;
    client.write_all(said).await.unwrap();
    client.shutdown().await.unwrap();
    let mut all = Vec::new();
    listener.accept().await.unwrap().0.read_to_end(&mut all).await.unwrap();
    house.stop().await;
    all
}

#[tokio::test]
async fn a_hello_leaves_in_many_records_and_all_else_as_it_is() {
    let payload: Vec<u8> = (1..=100).collect();
    let said = [&b"\x16\x03\x01\x00\x64"[..], &payload, b"behind"].concat();
    for sniffing in [false, true] {
        let all = arrives(sniffing, &said).await;
        let mut rest = all.strip_suffix(b"behind").unwrap();
        let (mut records, mut joined) = (0, Vec::new());
        while let Some((head, more)) = rest.split_at_checked(5) {
            assert_eq!(head[..4], *b"\x16\x03\x01\x00");
            let (part, later) = more.split_at(head[4].into());
            joined.extend_from_slice(part);
            (rest, records) = (later, records + 1);
        }
        assert_eq!(joined, payload);
        assert!((5..=10).contains(&records), "{records}");
        assert_eq!(arrives(sniffing, b"GET / HTTP/1.1\r\n\r\n").await, b"GET / HTTP/1.1\r\n\r\n");
    }
}

#[tokio::test]
async fn final_rules_have_the_last_word() {
    let (blocked, open) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), echo().await);
    let (deaf, near) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let port = |at: std::net::SocketAddr| at.port();
    let ports = format!("{},{}", port(blocked.local_addr().unwrap()), port(deaf.local_addr().unwrap()));
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [
            { "action": "block", "ip": ["127.0.0.0/8"], "port": ports, "blockDelay": 0 },
            { "action": "allow" },
            { "action": "block" },
        ] } }],
    }));
    let mut held = tunnel(house.at("in"), &blocked.local_addr().unwrap().to_string()).await;
    held.write_all(b"nobody hears this").await.unwrap();
    assert_eq!(held.read(&mut [0; 8]).await.unwrap(), 0);
    let mut way = tunnel(house.at("in"), &open.to_string()).await;
    way.write_all(b"heard\n").await.unwrap();
    assert_eq!(line(&mut way).await, "heard");
    let none = tokio::time::timeout(std::time::Duration::from_millis(100), blocked.accept()).await;
    assert!(none.is_err(), "nobody may have been dialed");

    let (_control, relay) = association(house.at("in")).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.send_to(&wrapped(deaf.local_addr().unwrap(), b"x"), relay).await.unwrap();
    client.send_to(&wrapped(near.local_addr().unwrap(), b"y"), relay).await.unwrap();
    let mut room = [0; 64];
    let (_, way) = near.recv_from(&mut room).await.unwrap();
    // Neither is heard from who is blocked, though the way out is open to all.
    deaf.send_to(b"z", way).await.unwrap();
    near.send_to(b"answer", way).await.unwrap();
    let len = client.recv(&mut room).await.unwrap();
    assert_eq!(room[..len], wrapped(near.local_addr().unwrap(), b"answer"));
    assert_eq!(deaf.try_recv(&mut room).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    house.stop().await;
}

/// Whoever comes by a protocol of proxy servers sits on another machine: without a rule that says so, this machine's own
/// network is not theirs.
#[tokio::test]
async fn private_targets_are_kept_from_other_machines() {
    let (quiet, open) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), echo().await);
    let id = "b831381d-6324-4d53-ad4f-8cda48b30811";
    let server = |rules: serde_json::Value| {
        House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "vless", "listen": "127.0.0.1",
                "settings": { "clients": [{ "id": id }], "decryption": "none" } }],
            "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": rules } }],
        }))
    };
    let client = |server: &House| {
        House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
            "outbounds": [{ "protocol": "vless", "settings":
                { "address": "127.0.0.1", "port": server.at("in").port(), "id": id, "encryption": "none" } }],
        }))
    };
    let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();

    let usual = server(json!([]));
    let near = client(&usual);
    let mut held = tunnel(near.at("in"), &quiet.local_addr().unwrap().to_string()).await;
    held.write_all(b"nobody hears this").await.unwrap();
    let none = tokio::time::timeout(std::time::Duration::from_millis(200), quiet.accept()).await;
    assert!(none.is_err(), "nobody may have been dialed");
    let (_control, relay) = association(near.at("in")).await;
    let asking = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    asking.send_to(&wrapped(deaf.local_addr().unwrap(), b"x"), relay).await.unwrap();
    let heard = tokio::time::timeout(std::time::Duration::from_millis(200), deaf.recv(&mut [0; 8])).await;
    assert!(heard.is_err(), "no datagram may have been sent");
    near.stop().await;
    usual.stop().await;

    let told = server(json!([{ "action": "allow", "ip": ["127.0.0.0/8"] }]));
    let near = client(&told);
    let mut way = tunnel(near.at("in"), &open.to_string()).await;
    way.write_all(b"heard\n").await.unwrap();
    assert_eq!(line(&mut way).await, "heard");
    near.stop().await;
    told.stop().await;
}

#[tokio::test]
async fn another_outbound_dials_in_its_place() {
    let (open, near) = (echo().await, UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let far = House::start(&json!({
        "inbounds": [{ "tag": "far", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "freedom", "sendThrough": "127.7.0.7" }],
    }));
    let through = [
        json!({ "proxySettings": { "tag": "far" } }),
        json!({ "proxySettings": { "tag": "far", "transportLayer": true } }),
        json!({ "streamSettings": { "sockopt": { "dialerProxy": "far" } } }),
    ];
    for mut outbound in through {
        outbound["protocol"] = "freedom".into();
        // Of what freedom does nothing may be lost: rules, the other target, the pieces.
        outbound["settings"] = json!({
            "redirect": format!(":{}", open.port()),
            "fragment": { "packets": "1-1", "length": "1-3", "interval": "0" },
            "noises": [{ "type": "str", "packet": "noise", "delay": "0" }],
            "finalRules": [{ "action": "block", "ip": ["127.0.0.66"], "blockDelay": 0 }],
        });
        let udp = json!({ "tag": "datagrams", "protocol": "freedom", "proxySettings": { "tag": "far" },
            "settings": { "noises": outbound["settings"]["noises"] } });
        let house = House::start(&json!({
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
            "outbounds": [outbound, udp, socks_outbound("far", far.at("far"))],
            "routing": { "rules": [{ "network": "udp", "outboundTag": "datagrams" }] },
        }));
        let mut way = tunnel(house.at("in"), "127.0.0.1:9").await;
        way.write_all(b"heard\n").await.unwrap();
        assert_eq!(line(&mut way).await, "heard");
        let mut blocked = tunnel(house.at("in"), "127.0.0.66:9").await;
        assert_eq!(blocked.read(&mut [0; 8]).await.unwrap(), 0);

        let (_control, relay) = association(house.at("in")).await;
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let near_at = near.local_addr().unwrap();
        client.send_to(&wrapped(near_at, b"ask"), relay).await.unwrap();
        let mut room = [0; 64];
        for want in [&b"noise"[..], b"ask"] {
            let (len, from) = near.recv_from(&mut room).await.unwrap();
            assert_eq!((&room[..len], from.ip().to_string().as_str()), (want, "127.7.0.7"));
            near.send_to(b"tell", from).await.unwrap();
        }
        let len = client.recv(&mut room).await.unwrap();
        assert_eq!(room[..len], wrapped(near_at, b"tell"));
        house.stop().await;
    }
    far.stop().await;
}

#[tokio::test]
async fn a_peer_that_is_not_ours_dials_in_its_place() {
    let (server, open) = (microsocks(None), echo().await);
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            { "protocol": "freedom", "proxySettings": { "tag": "far" } },
            socks_outbound("far", server.addr),
        ],
    }));
    let mut way = tunnel(house.at("in"), &open.to_string()).await;
    way.write_all(b"heard\n").await.unwrap();
    assert_eq!(line(&mut way).await, "heard");
    drop(server);
    // Nobody may take the way that the other was to take.
    let mut lost = tunnel(house.at("in"), &open.to_string()).await;
    lost.write_all(b"lost\n").await.unwrap();
    assert_eq!(lost.read(&mut [0; 8]).await.unwrap_or(0), 0);
    house.stop().await;
}
