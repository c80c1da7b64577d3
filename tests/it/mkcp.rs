//! mKCP through whole engines: with v2ray 4.34 both ways, over a path that loses, and with those who have another seed.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::support::{
    Engine, House, Lossy, Nginx, PATIENCE, Peer, association, curl, echo, free_port, program, tunnel, wrapped,
};

const ID: &str = "b831381d-6324-4d53-ad4f-8cda48b30811";

/// What v2ray and older Xray write. Without either key v2ray has the checksum, and current Xray nothing.
fn forms() -> [Value; 6] {
    let look = |kind: &str| json!({ "header": { "type": kind } });
    [
        look("none"),
        json!({ "seed": "a seed", "header": { "type": "none" } }),
        json!({ "seed": "a seed", "header": { "type": "wechat-video" } }),
        look("srtp"),
        look("utp"),
        look("dtls"),
    ]
}

fn stream(form: &Value) -> Value {
    let mut kcp = json!({ "uplinkCapacity": 100, "downlinkCapacity": 100 });
    kcp.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
    json!({ "network": "kcp", "kcpSettings": kcp })
}

fn server(port: u16, form: &Value) -> Value {
    json!({
        "inbounds": [{ "tag": "server", "listen": "127.0.0.1", "port": port, "protocol": "vless",
            "settings": { "clients": [{ "id": ID }], "decryption": "none" }, "streamSettings": stream(form) }],
        "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } }]
    })
}

fn client(door: Option<u16>, port: u16, form: &Value) -> Value {
    let mut inbound = json!({ "tag": "in", "listen": "127.0.0.1", "protocol": "socks", "settings": { "udp": true } });
    if let Some(door) = door {
        inbound["port"] = door.into();
    }
    let user = json!({ "id": ID, "encryption": "none" });
    json!({
        "inbounds": [inbound],
        "outbounds": [{ "protocol": "vless", "streamSettings": stream(form),
            "settings": { "vnext": [{ "address": "127.0.0.1", "port": port, "users": [user] }] } }]
    })
}

fn v2ray(config: &Value, folder: &Path) -> Command {
    std::fs::write(folder.join("c.json"), config.to_string()).expect("the folder is ours");
    let mut command = Command::new(program("v2ray"));
    command.arg("-config").arg(folder.join("c.json"));
    command
}

/// v2ray as a server, which opens nothing that TCP could be tried at: a door of its own says that it runs.
fn v2ray_server(port: u16, form: &Value) -> Peer {
    Peer::start("v2ray", |ready, folder| {
        let mut config = server(port, form);
        let door = json!({ "listen": "127.0.0.1", "port": ready, "protocol": "socks" });
        config["inbounds"].as_array_mut().unwrap().push(door);
        v2ray(&config, folder)
    })
}

fn v2ray_client(port: u16, form: &Value) -> Peer {
    Peer::start("v2ray", |door, folder| v2ray(&client(Some(door), port, form), folder))
}

fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

async fn echoes(stream: &mut TcpStream, said: &[u8]) -> bool {
    let once = async {
        let (mut down, mut up) = stream.split();
        let mut heard = vec![0; said.len()];
        let (sent, came) = tokio::join!(up.write_all(said), down.read_exact(&mut heard));
        (sent.is_ok() && came.is_ok()).then(|| heard == said)
    };
    timeout(3 * PATIENCE, once).await.ok().flatten() == Some(true)
}

/// Three megabytes both ways at once, forty small flows, and datagrams.
async fn serves(at: std::net::SocketAddr, what: &str) {
    let target = echo().await.to_string();
    let mut stream = tunnel(at, &target).await;
    assert!(echoes(&mut stream, &bytes(3 << 20)).await, "{what}");
    let mut all = tokio::task::JoinSet::new();
    for number in 0..40_u32 {
        let target = target.clone();
        all.spawn(async move { echoes(&mut tunnel(at, &target).await, &number.to_be_bytes()).await });
    }
    assert!(all.join_all().await.into_iter().all(|well| well), "{what}");
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = far.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        while let Ok((len, from)) = far.recv_from(&mut buf).await {
            let _ = far.send_to(&buf[..len], from).await;
        }
    });
    let (_control, relay) = association(at).await;
    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for size in [1, 1200] {
        let (said, mut heard) = (wrapped(to, &vec![7; size]), [0; 2048]);
        near.send_to(&said, relay).await.unwrap();
        let (len, _) = timeout(PATIENCE, near.recv_from(&mut heard)).await.expect(what).unwrap();
        assert_eq!(heard[..len], said[..], "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_with_v2ray_in_every_look() {
    for form in forms() {
        let port = free_port();
        {
            let _server = v2ray_server(port, &form);
            let ours = House::start(&client(None, port, &form));
            serves(ours.at("in"), &format!("to v2ray, {form}")).await;
        }
        let port = free_port();
        let ours = House::start_there(&server(port, &form));
        let theirs = v2ray_client(port, &form);
        serves(theirs.addr, &format!("from v2ray, {form}")).await;
        let own = House::start(&client(None, port, &form));
        serves(own.at("in"), &format!("with ourselves, {form}")).await;
        drop(ours);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_loses_and_reorders_carries_everything() {
    let (form, port) = (json!({ "seed": "a seed", "header": { "type": "wechat-video" } }), free_port());
    let _server = House::start_there(&server(port, &form));
    let path = Lossy::to(port, 5).await;
    let client = House::start(&client(None, path.port(), &form));
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    assert!(echoes(&mut stream, &bytes(1 << 20)).await);
    assert!(path.passed() > 1000);
}

/// Whoever has another seed is not answered, and its flow fails by the server's fault; the server goes on, and so do flows
/// after it was started again.
#[test]
fn another_seed_is_not_answered_and_a_server_that_comes_back_serves() {
    let (form, other) = (json!({ "seed": "a seed" }), json!({ "seed": "another" }));
    let origin = Nginx::start(&[("page", b"page")], "");
    let (port, right, wrong) = (free_port(), free_port(), free_port());
    let listen = |port| Engine::json(&server(port, &form), &[]);
    let first = listen(port);
    let mut config = client(Some(wrong), port, &other);
    config["log"] = json!({ "loglevel": "debug" });
    let stranger = Engine::json(&config, &[wrong]);
    let user = Engine::json(&client(Some(right), port, &form), &[right]);
    let fetch = |door: u16| curl(&["-x", &format!("socks5h://127.0.0.1:{door}"), &origin.url("page")]).text();
    let served = || crate::support::until(PATIENCE, || (fetch(right) == "page").then_some(())).is_some();
    assert!(served(), "{} {}", user.output(), first.output());
    assert_ne!(fetch(wrong), "page");
    stranger.process.wait_to_say("dialing failed");
    assert!(served(), "{}", user.output());
    drop(first);
    let _second = listen(port);
    assert!(served(), "{}", user.output());
}
