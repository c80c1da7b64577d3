//! XHTTP over HTTP/3 through whole engines: behind another outbound, and over a reload.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Authority, Certificate, House, PATIENCE, echo, free_port, tunnel};

const NAME: &str = "a.example";
const ID: &str = "b831381d-6324-4d53-ad4f-8cda48b30811";

fn server(port: u16, certificate: &Certificate) -> Value {
    let shown = json!({ "certificateFile": certificate.cert(), "keyFile": certificate.key() });
    json!({
        "inbounds": [{
            "tag": "server", "listen": "127.0.0.1", "port": port, "protocol": "vless",
            "settings": { "clients": [{ "id": ID }], "decryption": "none" },
            "streamSettings": {
                "network": "xhttp", "security": "tls", "xhttpSettings": { "path": "/way" },
                "tlsSettings": { "alpn": ["h3"], "certificates": [shown] }
            }
        }],
        "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } }]
    })
}

/// What goes up is one request: those of packets would be further ones, of which a connection takes none after a reload.
fn client(port: u16, authority: &Authority, sockopt: Value, others: &[Value]) -> Value {
    let proxy = json!({
        "tag": "proxy", "protocol": "vless",
        "settings": { "address": "127.0.0.1", "port": port, "id": ID, "encryption": "none" },
        "streamSettings": {
            "network": "xhttp", "security": "tls", "sockopt": sockopt,
            "xhttpSettings": { "path": "/way", "mode": "stream-up" },
            "tlsSettings": {
                "serverName": NAME, "alpn": ["h3"],
                "certificates": [{ "usage": "verify", "certificateFile": authority.cert() }]
            }
        }
    });
    let outbounds: Vec<_> = std::iter::once(proxy).chain(others.iter().cloned()).collect();
    let inbound = json!({ "tag": "in", "listen": "127.0.0.1", "protocol": "socks" });
    json!({ "inbounds": [inbound], "outbounds": outbounds })
}

async fn echoes(stream: &mut TcpStream, said: &[u8]) -> bool {
    let once = async {
        stream.write_all(said).await.ok()?;
        let mut heard = vec![0; said.len()];
        stream.read_exact(&mut heard).await.ok()?;
        Some(heard == said)
    };
    timeout(PATIENCE, once).await.ok().flatten() == Some(true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quic_goes_behind_an_outbound_that_carries_datagrams() {
    let (authority, port) = (Authority::new(), free_port());
    let _server = House::start_there(&server(port, &authority.issue(NAME)));
    let relay = House::start(&json!({
        "inbounds": [{ "tag": "relay", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "freedom" }]
    }));
    let at = relay.at("relay");
    let front = json!({
        "tag": "front", "protocol": "socks", "settings": { "address": at.ip(), "port": at.port() }
    });
    let client = House::start(&client(port, &authority, json!({ "dialerProxy": "front" }), &[front]));
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    assert!(echoes(&mut stream, &[7; 100_000]).await);
    // It went that way: it ends with it.
    relay.stop().await;
    let ended = timeout(PATIENCE, stream.read(&mut [0; 8])).await.expect("the stream ends with its way");
    assert_eq!(ended.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_wear_masks_and_keep_a_rate_below_it() {
    let (authority, port) = (Authority::new(), free_port());
    let mask = |password: &str| {
        json!({
            "udp": [{ "type": "salamander", "settings": { "password": password } }],
            "quicParams": { "congestion": "force-brutal", "brutalUp": "16 mbps" }
        })
    };
    let certificate = authority.issue(NAME);
    let mut served = server(port, &certificate);
    served["inbounds"][0]["streamSettings"]["finalmask"] = mask("a cloak");
    let _server = House::start_there(&served);
    let mut config = client(port, &authority, json!({}), &[]);
    config["outbounds"][0]["streamSettings"]["finalmask"] = mask("a cloak");
    let masked = House::start(&config);
    let target = echo().await.to_string();
    let mut stream = tunnel(masked.at("in"), &target).await;
    let begun = std::time::Instant::now();
    for _ in 0..40 {
        assert!(echoes(&mut stream, &[7; 100_000]).await);
    }
    // 2 MiB a second, each way.
    let took = begun.elapsed().as_secs_f64();
    assert!(took > 1.5, "{took} s for twice 4 MB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_shows_another_certificate_and_keeps_streams() {
    let (old, new, port) = (Authority::new(), Authority::new(), free_port());
    let (first, second) = (old.issue(NAME), new.issue(NAME));
    let server_house = House::start_there(&server(port, &first));
    let echo = echo().await.to_string();
    let before = House::start(&client(port, &old, json!({}), &[]));
    let mut kept = tunnel(before.at("in"), &echo).await;
    assert!(echoes(&mut kept, b"before").await);
    server_house.apply_there(&server(port, &second)).await.unwrap();
    let after = House::start(&client(port, &new, json!({}), &[]));
    let mut stream = tunnel(after.at("in"), &echo).await;
    assert!(echoes(&mut stream, b"after").await, "the new certificate is not shown");
    assert!(echoes(&mut kept, b"kept").await, "a stream ends over a reload");
}
