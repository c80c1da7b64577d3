//! UDP associations: full cone, routes, and their end.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{Engine, Exit, House, association, eventually, free_port, open_files, wrapped};

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

fn config(rules: serde_json::Value) -> serde_json::Value {
    json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "freedom", "tag": "direct" }, { "protocol": "blackhole", "tag": "block" }],
        "routing": { "rules": rules }
    })
}

#[tokio::test]
async fn whoever_learns_of_the_way_out_may_answer() {
    let house = House::start(&config(json!([])));
    let (_control, relay) = association(house.at("in")).await;
    let ((client, _), (near, near_at), (far, far_at)) = (socket().await, socket().await, socket().await);
    client.send_to(&wrapped(near_at, b"ask"), relay).await.unwrap();
    let (asked, way) = heard(&near).await;
    assert_eq!(asked, b"ask");
    // The same way out serves every target, and a stranger may use it.
    client.send_to(&wrapped(far_at, b"ask too"), relay).await.unwrap();
    assert_eq!(heard(&far).await, (b"ask too".to_vec(), way));
    let (stranger, stranger_at) = socket().await;
    for (socket, at, word) in [(&near, near_at, "near"), (&far, far_at, "far"), (&stranger, stranger_at, "stranger")] {
        socket.send_to(word.as_bytes(), way).await.unwrap();
        assert_eq!(heard(&client).await.0, wrapped(at, word.as_bytes()));
    }
    house.stop().await;
}

#[tokio::test]
async fn each_target_goes_by_its_own_rule() {
    let ((client, _), (good, good_at), (bad, bad_at)) = (socket().await, socket().await, socket().await);
    let house = House::start(&config(json!([{ "network": "udp", "port": bad_at.port(), "outboundTag": "block" }])));
    let (_control, relay) = association(house.at("in")).await;
    for at in [bad_at, good_at, bad_at, good_at] {
        client.send_to(&wrapped(at, b"x"), relay).await.unwrap();
    }
    heard(&good).await;
    heard(&good).await;
    assert!(bad.try_recv(&mut [0; 1]).is_err(), "what is blocked does not leave");
    house.stop().await;
}

#[tokio::test]
async fn a_group_that_carries_no_datagrams_sends_none() {
    let exit = Exit::start("a").await;
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom" },
            { "tag": "proxy", "protocol": "http", "settings": { "servers": [{ "address": "127.0.0.1", "port": exit.at.port() }] } }
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["proxy"] }],
            "rules": [{ "port": "9", "balancerTag": "pool" }]
        }
    }));
    let (_control, relay) = association(house.at("in")).await;
    let ((client, _), (server, server_at)) = (socket().await, socket().await);
    client.send_to(&wrapped(SocketAddr::from(([127, 0, 0, 1], 9)), b"x"), relay).await.unwrap();
    client.send_to(&wrapped(server_at, b"y"), relay).await.unwrap();
    assert_eq!(heard(&server).await.0, b"y", "the association goes on for other targets");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_control_stream_closes_everything() {
    const ASSOCIATIONS: usize = 20;
    let port = free_port();
    let mut written = config(json!([]));
    written["inbounds"][0]["port"] = port.into();
    let engine = Engine::json(&written, &[port]);
    // Ports accept before all files are open that the engine keeps.
    engine.process.wait_to_say(" started");
    let (door, files) = (SocketAddr::from(([127, 0, 0, 1], port)), || open_files(engine.process.pid()));
    let (server, server_at) = socket().await;
    let before = files();
    let mut held = vec![];
    for _ in 0..ASSOCIATIONS {
        let (control, relay) = association(door).await;
        let (client, _) = socket().await;
        client.send_to(&wrapped(server_at, b"x"), relay).await.unwrap();
        heard(&server).await;
        held.push((control, client));
    }
    // The control stream, the relay's socket and the one that sends.
    let peak = files();
    // What asked whether the port accepts may still have been open at first.
    assert!(peak + 3 >= before + 3 * ASSOCIATIONS, "{before} files before, {peak} now");
    drop(held);
    assert!(eventually(|| files() <= before + 2).await, "{} files of {peak}, {before} before", files());
}
