//! Fake addresses: a client asks by a `dns` outbound, comes back with the address that it got, and reaches the name.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{House, association, dnsmasq, echo, line, serve_each, tunnel, wrapped};

/// A door to the `dns` outbound, and one that sniffs as is said; the names are dnsmasq's.
fn config(names: u16, pool: u32, sniffing: Value) -> Value {
    json!({
        "dns": { "servers": ["fakedns", { "address": "127.0.0.1", "port": names }], "queryStrategy": "UseIPv4" },
        "fakedns": { "ipPool": "198.18.0.0/15", "poolSize": pool },
        "inbounds": [
            { "tag": "dns-in", "protocol": "dokodemo-door", "listen": "127.0.0.1",
              "settings": { "address": "192.0.2.1", "port": 53, "network": "udp" } },
            { "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true }, "sniffing": sniffing },
        ],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom",
              "settings": { "domainStrategy": "ForceIP", "finalRules": [{ "action": "allow" }] } },
            { "tag": "dns-out", "protocol": "dns" },
            { "tag": "block", "protocol": "blackhole" },
        ],
        "routing": { "rules": [
            { "inboundTag": ["dns-in"], "outboundTag": "dns-out" },
            { "ip": ["198.18.0.0/15"], "outboundTag": "block" },
            { "inboundTag": ["in"], "protocol": ["http1"], "domain": ["full:web.probe.example"], "outboundTag": "block" },
        ] },
    })
}

fn listed() -> Value {
    json!({ "enabled": true, "destOverride": ["fakedns+others"] })
}

/// The address that a client is given for a name, and for how long.
async fn given(door: SocketAddr, name: &str) -> (IpAddr, u32) {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&message.to_vec().unwrap(), door).await.unwrap();
    let answer = heard(&socket).await.0;
    let answer = Message::from_vec(&answer).unwrap();
    let [record] = &answer.answers[..] else { panic!("{answer}") };
    let RData::A(a) = &record.data else { panic!("{record}") };
    (a.0.into(), record.ttl)
}

async fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

/// One datagram, and whose it is.
async fn heard(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut room = [0; 2048];
    let (len, from) = timeout(Duration::from_secs(10), socket.recv_from(&mut room)).await.expect("it comes").unwrap();
    (room[..len].to_vec(), from)
}

/// Whether what is said by a tunnel to there comes back.
async fn echoes(door: SocketAddr, to: SocketAddr) -> bool {
    let mut way = tunnel(door, &to.to_string()).await;
    way.write_all(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n").await.unwrap();
    let mut answer = [0; 5];
    matches!(timeout(Duration::from_secs(10), way.read_exact(&mut answer)).await, Ok(Ok(_))) && &answer == b"GET /"
}

#[tokio::test]
async fn who_comes_back_with_a_fake_address_reaches_its_name() {
    let (names, port) = (dnsmasq("probe.example", "127.0.0.1"), echo().await.port());
    let house = House::start(&config(names.port(), 100, listed()));
    let (fake, ttl) = given(house.at("dns-in"), "www.probe.example").await;
    assert!(fake.to_string().starts_with("198.1") && ttl == 1, "{fake} {ttl}");
    assert_eq!(given(house.at("dns-in"), "WWW.Probe.Example").await.0, fake, "letters do not matter");
    assert!(echoes(house.at("in"), (fake, port).into()).await);
    // Rules see name and protocol of such a flow, and an address that means nothing stays one.
    let web = given(house.at("dns-in"), "web.probe.example").await.0;
    for to in [web, "198.18.0.77".parse().unwrap()] {
        assert!(!echoes(house.at("in"), (to, port).into()).await, "{to}");
    }
    house.stop().await;
}

#[tokio::test]
async fn datagrams_are_answered_as_from_the_fake_addresses_and_anybody_may_answer() {
    let names = dnsmasq("probe.example", "127.0.0.1");
    let house = House::start(&config(names.port(), 100, listed()));
    let (near_name, far_name) = ("near.probe.example", "far.probe.example");
    let fakes = [given(house.at("dns-in"), near_name).await.0, given(house.at("dns-in"), far_name).await.0];
    let (_control, relay) = association(house.at("in")).await;
    let ((client, _), (near, near_at), (far, far_at)) = (socket().await, socket().await, socket().await);
    let [near_fake, far_fake] = [(fakes[0], near_at.port()).into(), (fakes[1], far_at.port()).into()];
    client.send_to(&wrapped(near_fake, b"ask"), relay).await.unwrap();
    let (asked, way) = heard(&near).await;
    assert_eq!(asked, b"ask");
    client.send_to(&wrapped(far_fake, b"ask too"), relay).await.unwrap();
    assert_eq!(heard(&far).await, (b"ask too".to_vec(), way), "one socket serves both");
    let (stranger, stranger_at) = socket().await;
    for (socket, as_from, word) in [
        (&far, far_fake, "far"),
        (&near, near_fake, "near"),
        (&stranger, stranger_at, "stranger"),
        (&far, far_fake, "far"),
    ] {
        socket.send_to(word.as_bytes(), way).await.unwrap();
        assert_eq!(heard(&client).await.0, wrapped(as_from, word.as_bytes()));
    }
    house.stop().await;
}

#[tokio::test]
async fn addresses_keep_their_names_through_a_reload_of_other_things() {
    let (names, port) = (dnsmasq("probe.example", "127.0.0.1"), echo().await.port());
    let mut written = config(names.port(), 100, listed());
    let house = House::start(&written);
    let fake = given(house.at("dns-in"), "www.probe.example").await.0;
    written["policy"] = json!({ "levels": { "0": { "connIdle": 100 } } });
    written["dns"]["servers"][1]["tag"] = json!("names");
    written["inbounds"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "tag": "more", "protocol": "socks", "listen": "127.0.0.1" }));
    house.apply(&written).await.unwrap();
    assert!(echoes(house.at("in"), (fake, port).into()).await);
    assert_eq!(given(house.at("dns-in"), "www.probe.example").await.0, fake);
    // Another pool knows nothing of it.
    written["fakedns"]["poolSize"] = json!(101);
    house.apply(&written).await.unwrap();
    assert!(!echoes(house.at("in"), (fake, port).into()).await);
    house.stop().await;
}

#[tokio::test]
async fn with_metadata_only_the_server_may_speak_first_and_nothing_is_read() {
    let names = dnsmasq("probe.example", "127.0.0.1");
    let greeter = serve_each(|mut stream| async move {
        let _ = stream.write_all(b"220 ready\n").await;
        let _ = stream.read(&mut [0; 64]).await;
        let _ = stream.write_all(b"221 bye\n").await;
    })
    .await;
    let sniffing = json!({ "enabled": true, "destOverride": ["fakedns"], "metadataOnly": true, "routeOnly": true });
    let house = House::start(&config(names.port(), 100, sniffing));
    let fake = given(house.at("dns-in"), "web.probe.example").await.0;
    let mut way = tunnel(house.at("in"), &format!("{fake}:{}", greeter.port())).await;
    assert_eq!(line(&mut way).await, "220 ready");
    // What follows would be blocked if somebody had looked at it.
    let mut way = tunnel(house.at("in"), &format!("{fake}:{}", greeter.port())).await;
    way.write_all(b"GET / HTTP/1.1\r\nHost: web.probe.example\r\n\r\n").await.unwrap();
    assert_eq!(line(&mut way).await, "220 ready");
    assert_eq!(line(&mut way).await, "221 bye");
    house.stop().await;
}
