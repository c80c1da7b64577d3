//! What flows see of members that fail: the next member, at once, while no byte of theirs was given away.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::support::{
    Engine, Exit, House, association, eventually, exit_of, free_port, line, serve_each, socks_outbound, tunnel, wrapped,
};

/// Members `m-…` in list order behind a balancer that probes nothing.
fn by_order(members: &[Value], more: Value) -> Value {
    let mut pool = json!({
        "tag": "pool", "selector": ["m-"], "strategy": { "type": "failover", "settings": { "probe": "none" } }
    });
    pool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let sniffing = json!({ "enabled": true, "destOverride": ["http"], "routeOnly": true });
    json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": sniffing, "settings": { "udp": true } }],
        "outbounds": members,
        "routing": { "balancers": [pool], "rules": [{ "network": "tcp,udp", "balancerTag": "pool" }] }
    })
}

/// A server that takes connections and counts them, reads what comes and answers what it is told to, then ends them.
async fn says(answers: &'static [&'static [u8]]) -> (SocketAddr, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let at = serve_each(move |mut stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            for answer in answers {
                let mut heard = [0; 512];
                if stream.read(&mut heard).await.is_err() || stream.write_all(answer).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    (at, count)
}

#[tokio::test]
async fn first_bytes_that_were_read_reach_the_next_member_whole() {
    let (mut gone, good) = (Exit::start("gone").await, Exit::start("good").await);
    let hangs_up = says(&[b"\x05\x00"]).await;
    gone.die().await;
    let members = [gone.outbound("m-a"), socks_outbound("m-b", hangs_up.0), good.outbound("m-c")];
    let house = House::start(&by_order(&members, json!({})));
    let request = b"POST / HTTP/1.1\r\nHost: shop.example.com\r\nContent-Length: 3\r\n\r\nabc";
    let mut stream = tunnel(house.at("in"), "192.0.2.10:80").await;
    stream.write_all(request).await.unwrap();
    assert_eq!(line(&mut stream).await, "good");
    stream.write_all(b"and more").await.unwrap();
    drop(stream);
    assert!(eventually(|| good.heard().len() == 1).await);
    assert_eq!(good.heard()[0], [&request[..], b"and more"].concat());
    assert_eq!(hangs_up.1.load(Ordering::Relaxed), 1);
    house.stop().await;
}

#[tokio::test]
async fn what_a_member_says_of_the_target_is_not_asked_of_others() {
    // Granted or refused: 5 is "connection refused", the target's word; 1 may be the server's own trouble.
    let refuses = says(&[b"\x05\x00", b"\x05\x05\x00\x01\0\0\0\0\0\0"]).await;
    let failing = says(&[b"\x05\x00", b"\x05\x01\x00\x01\0\0\0\0\0\0"]).await;
    let good = Exit::start("good").await;
    for (first, seen, dialed) in [(&refuses, "", 1), (&failing, "good", 1)] {
        let members = [socks_outbound("m-a", first.0), good.outbound("m-b")];
        let house = House::start(&by_order(&members, json!({})));
        assert_eq!(exit_of(house.at("in"), "x.example:80").await, seen);
        assert_eq!(first.1.load(Ordering::Relaxed), dialed);
        house.stop().await;
    }
    assert!(eventually(|| !good.heard().is_empty()).await);
    assert_eq!(good.heard().len(), 1, "asked once, by the flow that it could help");
}

#[tokio::test]
async fn without_guards_a_failed_dial_ends_the_flow_as_it_did() {
    let (mut gone, good) = (Exit::start("gone").await, Exit::start("good").await);
    gone.die().await;
    for (guards, seen) in [(false, ""), (true, "good")] {
        let members = [gone.outbound("m-a"), good.outbound("m-b")];
        let house = House::start(&by_order(&members, json!({ "guards": guards })));
        assert_eq!(exit_of(house.at("in"), "x.example:80").await, seen, "guards {guards}");
        house.stop().await;
    }
}

#[tokio::test]
async fn datagrams_wait_while_the_next_member_is_tried() {
    let mut gone = Exit::start("gone").await;
    gone.die().await;
    let members = [gone.outbound("m-a"), json!({ "tag": "m-b", "protocol": "freedom" })];
    let house = House::start(&by_order(&members, json!({})));
    let (_control, relay) = association(house.at("in")).await;
    let (client, server) =
        (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let at = server.local_addr().unwrap();
    for word in [&b"one"[..], b"two"] {
        client.send_to(&wrapped(at, word), relay).await.unwrap();
    }
    let mut room = [0; 64];
    for word in [&b"one"[..], b"two"] {
        let (len, _) = timeout(Duration::from_secs(10), server.recv_from(&mut room)).await.expect("it comes").unwrap();
        assert_eq!(&room[..len], word);
    }
    let pool = house.balancers[0].clone();
    assert_eq!((pool.counted(0), pool.counted(1)), ((1, 0), (1, 1)), "an association counts as one flow");
    house.stop().await;
    assert_eq!(pool.counted(1), (1, 0));
}

/// Flows that come back through a loopback count where they run, like any other.
#[tokio::test]
async fn a_flow_is_counted_behind_a_loopback() {
    let (mut gone, good) = (Exit::start("gone").await, Exit::start("good").await);
    gone.die().await;
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            { "tag": "again", "protocol": "loopback", "settings": { "inboundTag": "back" } },
            gone.outbound("m-a"), good.outbound("m-b")
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"], "strategy": { "type": "failover", "settings": { "probe": "none" } } }],
            "rules": [{ "inboundTag": ["back"], "balancerTag": "pool" }]
        }
    }));
    let pool = house.balancers[0].clone();
    let mut stream = tunnel(house.at("in"), "x.example:80").await;
    assert_eq!(line(&mut stream).await, "good");
    assert_eq!((pool.counted(0), pool.counted(1)), ((1, 0), (1, 1)));
    drop(stream);
    assert!(eventually(|| pool.counted(1) == (1, 0)).await);
    house.stop().await;
}

#[tokio::test]
async fn an_association_is_counted_behind_a_loopback() {
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [
            { "tag": "again", "protocol": "loopback", "settings": { "inboundTag": "back" } },
            { "tag": "m-a", "protocol": "freedom" }
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"] }],
            "rules": [{ "inboundTag": ["back"], "balancerTag": "pool" }]
        }
    }));
    let pool = house.balancers[0].clone();
    let (control, relay) = association(house.at("in")).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.send_to(&wrapped(server.local_addr().unwrap(), b"ask"), relay).await.unwrap();
    let mut room = [0; 64];
    let (_, way) = timeout(Duration::from_secs(10), server.recv_from(&mut room)).await.expect("it comes").unwrap();
    server.send_to(b"answer", way).await.unwrap();
    let (len, _) = timeout(Duration::from_secs(10), client.recv_from(&mut room)).await.expect("it comes").unwrap();
    assert!(room[..len].ends_with(b"answer"));
    assert_eq!(pool.counted(0), (1, 1));
    drop(control);
    assert!(eventually(|| pool.counted(0) == (1, 0)).await);
    house.stop().await;
}

/// A ring that only some flows meet, by rules that do not name the way back, loads; such a flow ends.
#[tokio::test]
async fn a_balancer_that_leads_to_itself_for_some_flows_ends_them() {
    let other = Exit::start("other").await;
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            other.outbound("rest"),
            { "tag": "again", "protocol": "loopback", "settings": { "inboundTag": "back" } }
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "members": ["again"], "guards": true }],
            "rules": [{ "domain": ["full:round.example"], "balancerTag": "pool" }]
        }
    }));
    assert_eq!(exit_of(house.at("in"), "round.example:80").await, "");
    assert_eq!(exit_of(house.at("in"), "x.example:80").await, "other");
    assert_eq!(house.balancers[0].counted(0).1, 0);
    house.stop().await;
}

#[tokio::test]
async fn the_log_says_who_failed_how_and_who_is_next() {
    let (mut gone, good) = (Exit::start("gone").await, Exit::start("good").await);
    gone.die().await;
    let port = free_port();
    let mut config = by_order(&[gone.outbound("m-a"), good.outbound("m-b")], json!({}));
    config["log"] = json!({ "loglevel": "debug" });
    config["inbounds"][0]["port"] = port.into();
    let engine = Engine::json(&config, &[port]);
    assert_eq!(exit_of(([127, 0, 0, 1], port).into(), "x.example:80").await, "good");
    let said = engine.output();
    for part in [
        "tcp:x.example:80 goes to m-a: rule rules[0], balancer pool (failover)",
        "tcp:x.example:80 failed by m-a after ",
        "dialing failed: Connection refused (os error 111); next is m-b",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}
