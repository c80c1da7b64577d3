//! Streams through the engine: both ways, to the end, and many at a time.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Engine, House, echo, eventually, free_port, line, open_files, serve_each, tunnel};

fn direct(extra: serde_json::Value) -> serde_json::Value {
    let mut config = json!({
        "inbounds": [
            { "tag": "in", "protocol": "socks", "listen": "127.0.0.1" },
            { "tag": "web", "protocol": "http", "listen": "127.0.0.1" }
        ],
        "outbounds": [{ "protocol": "freedom" }]
    });
    if let (Some(config), Some(extra)) = (config.as_object_mut(), extra.as_object()) {
        config.extend(extra.clone());
    }
    config
}

#[tokio::test]
async fn bytes_arrive_unchanged_both_ways() {
    let house = House::start(&direct(json!({})));
    let echo = echo().await.to_string();
    let payload: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut connect = TcpStream::connect(house.at("web")).await.unwrap();
    connect.write_all(format!("CONNECT {echo} HTTP/1.1\r\nHost: {echo}\r\n\r\n").as_bytes()).await.unwrap();
    assert!(line(&mut connect).await.starts_with("HTTP/1.1 200"));
    while !matches!(line(&mut connect).await.as_str(), "" | "\r") {}
    for stream in [connect, tunnel(house.at("in"), &echo).await] {
        let (mut read, mut write) = stream.into_split();
        let sent = payload.clone();
        let sending = tokio::spawn(async move {
            write.write_all(&sent).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let mut back = vec![];
        read.read_to_end(&mut back).await.unwrap();
        sending.await.unwrap();
        assert!(back == payload, "{} bytes came back", back.len());
    }
    house.stop().await;
}

#[tokio::test]
async fn the_end_of_one_half_is_passed_on_and_the_other_goes_on() {
    let house = House::start(&direct(json!({})));
    let server = serve_each(|mut stream| async move {
        let mut all = String::new();
        stream.read_to_string(&mut all).await.unwrap();
        stream.write_all(format!("heard {all}").as_bytes()).await.unwrap();
    })
    .await;
    let mut stream = tunnel(house.at("in"), &server.to_string()).await;
    stream.write_all(b"it all").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "heard it all");
    house.stop().await;
}

#[tokio::test]
async fn a_quiet_tunnel_ends_by_its_level() {
    let house = House::start(&direct(json!({ "policy": { "levels": { "0": { "connIdle": 1 } } } })));
    let mut stream = tunnel(house.at("in"), &echo().await.to_string()).await;
    stream.write_all(b"x").await.unwrap();
    let begun = Instant::now();
    let mut all = vec![];
    stream.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"x");
    assert!((900..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    house.stop().await;
}

#[tokio::test]
async fn a_stop_ends_running_tunnels_within_a_second() {
    let house = House::start(&direct(json!({})));
    let mut stream = tunnel(house.at("in"), &echo().await.to_string()).await;
    stream.write_all(b"x").await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'x');
    let begun = Instant::now();
    house.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_tunnels_own_two_files_each_and_give_them_back() {
    const TUNNELS: usize = 150;
    let port = free_port();
    let mut config = direct(json!({}));
    config["inbounds"] = json!([{ "protocol": "socks", "listen": "127.0.0.1", "port": port }]);
    let engine = Engine::json(&config, &[port]);
    // Ports accept before all files are open that the engine keeps.
    engine.process.wait_to_say(" started");
    let (door, files) = (SocketAddr::from(([127, 0, 0, 1], port)), || open_files(engine.process.pid()));
    let echo = echo().await.to_string();
    let before = files();
    let mut streams = vec![];
    for _ in 0..TUNNELS {
        let mut stream = tunnel(door, &echo).await;
        stream.write_all(&[7; 1024]).await.unwrap();
        stream.read_exact(&mut [0; 1024]).await.unwrap();
        streams.push(stream);
    }
    let each = (files() - before) as f64 / TUNNELS as f64;
    assert!((1.95..2.1).contains(&each), "{each} files a tunnel");
    drop(streams);
    assert!(eventually(|| files() <= before + 4).await, "{} files, {before} before", files());
}
