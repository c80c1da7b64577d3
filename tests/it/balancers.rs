//! Balancers over real upstreams.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Exit, House, eventually, exit_of, line, serve_each, tunnel};

/// Exits a, b, c behind one balancer, and one outside of it that is the default; `pool` holds the balancer's other keys.
async fn group(pool: Value) -> (House, Vec<Exit>) {
    let exits = vec![Exit::start("a").await, Exit::start("b").await, Exit::start("c").await, Exit::start("rest").await];
    let mut balancer = json!({ "tag": "pool", "selector": ["m-"] });
    if let (Some(balancer), Some(pool)) = (balancer.as_object_mut(), pool.as_object()) {
        balancer.extend(pool.clone());
    }
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            exits[3].outbound("rest"),
            exits[0].outbound("m-a"), exits[1].outbound("m-b"), exits[2].outbound("m-c")
        ],
        "routing": { "balancers": [balancer], "rules": [{ "network": "tcp", "balancerTag": "pool" }] }
    }));
    (house, exits)
}

#[tokio::test]
async fn round_robin_takes_turns() {
    let (house, _exits) = group(json!({ "strategy": { "type": "roundRobin" } })).await;
    let mut seen = String::new();
    for _ in 0..6 {
        seen += &exit_of(house.at("in"), "x.example:80").await;
    }
    assert_eq!(seen, "abcabc");
    house.stop().await;
}

#[tokio::test]
async fn random_reaches_all() {
    let (house, _exits) = group(json!({ "strategy": "random" })).await;
    let mut seen = BTreeSet::new();
    // Missing one in 200 tries has a chance of 10^-35.
    for _ in 0..200 {
        seen.insert(exit_of(house.at("in"), "x.example:80").await);
        if seen.len() == 3 {
            break;
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    house.stop().await;
}

#[tokio::test]
async fn failover_leaves_a_dead_member_and_the_group_only_by_a_fallback() {
    let settings = json!({ "probe": "tcp", "probeInterval": 0, "probeTimeout": 1 });
    let pool = json!({ "strategy": { "type": "failover", "settings": settings } });
    for fallback in [None, Some("rest")] {
        let mut pool = pool.clone();
        pool["fallbackTag"] = fallback.into();
        let (house, mut exits) = group(pool).await;
        let board = || house.balancers[0].board();
        assert_eq!(exit_of(house.at("in"), "x.example:80").await, "a");
        exits[0].die().await;
        assert!(
            eventually(|| !board().usable(0, etemenanki::addr::Network::Tcp)).await,
            "the probe finds the dead one"
        );
        assert_eq!(exit_of(house.at("in"), "x.example:80").await, "b");
        exits[1].die().await;
        exits[2].die().await;
        assert!(eventually(|| board().all_down()).await);
        let left = if fallback.is_some() { "rest" } else { "" };
        assert_eq!(exit_of(house.at("in"), "x.example:80").await, left);
        house.stop().await;
    }
}

/// A server that has the test file, and exits that really dial.
async fn source() -> std::net::SocketAddr {
    serve_each(|mut stream| async move {
        let mut head = vec![0; 1024];
        let _ = stream.read(&mut head).await;
        let body = vec![b'x'; 64 * 1024];
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
        let _ = stream.shutdown().await;
    })
    .await
}

#[tokio::test]
async fn optimal_serves_by_who_really_delivers() {
    let source = source().await;
    let dead = Exit::start("dead").await;
    // Members two and three are direct ways with a name of their own to tell them apart: where they lead is fixed.
    let (b, c) = (names_itself("b").await, names_itself("c").await);
    let way = |tag: &str, to: std::net::SocketAddr| json!({ "tag": tag, "protocol": "freedom", "settings": { "redirect": to.to_string() } });
    let relay = |to| relay_or_name(source, to);
    let (b, c) = (relay(b).await, relay(c).await);
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
        "outbounds": [
            { "tag": "block", "protocol": "blackhole" },
            dead.outbound("m-a"), way("m-b", b), way("m-c", c)
        ],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"], "strategy": "optimal", "optimalSettings": {
                "url": format!("http://{source}/file"), "timeout": 2000, "interval": 200, "count": 1,
                "startup": "wait", "startupWait": 10_000,
                "weights": [{ "tag": "m-a", "weight": 100_000 }, { "tag": "m-b", "weight": 1 }, { "tag": "m-c", "weight": 10_000 }]
            } }],
            "rules": [{ "network": "tcp", "balancerTag": "pool" }]
        }
    }));
    // Whoever comes before the first result waits for it, instead of trying the first of the list.
    assert!(["b", "c"].contains(&exit_of(house.at("in"), "x.example:80").await.as_str()));
    let balancer = house.balancers[0].clone();
    assert!(eventually(|| balancer.board().round >= 1).await, "a round ends");
    let board = balancer.board();
    assert_eq!(board.serving(), Some(2), "{board:?}");
    assert_eq!(board.members[0].score, Some(0.0), "who does not deliver scores nothing");
    assert_eq!(exit_of(house.at("in"), "x.example:80").await, "c");
    house.stop().await;
}

/// Says its name to whoever connects.
async fn names_itself(name: &'static str) -> std::net::SocketAddr {
    serve_each(move |mut stream| async move {
        let _ = stream.write_all(format!("{name}\n").as_bytes()).await;
    })
    .await
}

/// HTTP goes to the source, everything that does not speak at once to the other.
async fn relay_or_name(source: std::net::SocketAddr, other: std::net::SocketAddr) -> std::net::SocketAddr {
    serve_each(move |mut stream| async move {
        let mut first = [0; 1];
        let spoke = tokio::time::timeout(std::time::Duration::from_millis(300), stream.peek(&mut first)).await;
        let to = if spoke.is_ok() { source } else { other };
        if let Ok(mut server) = tokio::net::TcpStream::connect(to).await {
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
        }
    })
    .await
}

#[tokio::test]
async fn hrw_keeps_what_is_alike_together_by_what_the_request_says() {
    let exits = [Exit::start("a").await, Exit::start("b").await, Exit::start("c").await];
    let sniffing = json!({ "enabled": true, "destOverride": ["http"], "routeOnly": true });
    let house = House::start(&json!({
        "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "sniffing": sniffing }],
        "outbounds": [exits[0].outbound("m-a"), exits[1].outbound("m-b"), exits[2].outbound("m-c")],
        "routing": {
            "balancers": [{ "tag": "pool", "selector": ["m-"], "strategy": {
                "type": "hrw", "settings": { "hashKey": ["$http_x_user_id"] }
            } }],
            "rules": [{ "network": "tcp", "balancerTag": "pool" }]
        }
    }));
    let mut homes = BTreeSet::new();
    for user in 0..12 {
        let mut seen = BTreeSet::new();
        for site in ["one.example.com", "two.example.com", "three.example.com"] {
            let mut stream = tunnel(house.at("in"), &format!("{site}:80")).await;
            let head = format!("GET /{site} HTTP/1.1\r\nHost: {site}\r\nX-User-Id: u{user}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            seen.insert(line(&mut stream).await);
        }
        assert_eq!(seen.len(), 1, "user {user}: {seen:?}");
        homes.extend(seen);
    }
    assert_eq!(homes.len(), 3, "twelve users over three members: {homes:?}");
    house.stop().await;
}
