//! Hysteria through whole engines: what strangers see, paths that lose, servers that go and come, ports that change.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use etemenanki::net::{SocketOptions, udp};
use etemenanki::tls;
use etemenanki::transport::http3::Link;
use etemenanki::transport::quic::{Client, Params, Port};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

use crate::support::{
    Authority, Engine, House, Lossy, Nginx, PATIENCE, association, curl, echo, free_port, tunnel, until, wrapped,
};

const NAME: &str = "a.example";
const AUTH: &str = "a secret";

/// A server with one user, at these ports.
fn server(port: impl Into<Value>, authority: &Authority, masquerade: Value, mask: Value) -> Value {
    let certificate = authority.issue(NAME);
    let shown = json!({
        "certificate": text(certificate.cert()), "key": text(certificate.key())
    });
    json!({
        "inbounds": [{
            "tag": "server", "listen": "127.0.0.1", "port": port.into(), "protocol": "hysteria",
            "settings": { "version": 2, "users": [{ "auth": AUTH, "email": "ann" }] },
            "streamSettings": {
                "network": "hysteria", "security": "tls", "finalmask": mask,
                "hysteriaSettings": { "version": 2, "masquerade": masquerade },
                "tlsSettings": { "certificates": [shown] }
            }
        }],
        "outbounds": [{ "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } }]
    })
}

fn text(path: std::path::PathBuf) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// A way to that server.
fn way(tag: &str, port: u16, authority: &Authority, auth: &str, mask: Value) -> Value {
    json!({
        "tag": tag, "protocol": "hysteria", "settings": { "version": 2, "address": "127.0.0.1", "port": port },
        "streamSettings": {
            "network": "hysteria", "security": "tls", "finalmask": mask,
            "hysteriaSettings": { "version": 2, "auth": auth },
            "tlsSettings": {
                "serverName": NAME, "certificates": [{ "usage": "verify", "certificateFile": authority.cert() }]
            }
        }
    })
}

fn client(port: u16, authority: &Authority, mask: Value) -> Value {
    let inbound = json!({ "tag": "in", "listen": "127.0.0.1", "protocol": "socks", "settings": { "udp": true } });
    json!({ "inbounds": [inbound], "outbounds": [way("proxy", port, authority, AUTH, mask)] })
}

async fn echoes(stream: &mut TcpStream, said: &[u8]) -> bool {
    let once = async {
        let (mut down, mut up) = stream.split();
        let mut heard = vec![0; said.len()];
        let (sent, came) = tokio::join!(up.write_all(said), down.read_exact(&mut heard));
        (sent.is_ok() && came.is_ok()).then(|| heard == said)
    };
    timeout(PATIENCE, once).await.ok().flatten() == Some(true)
}

/// Whether a datagram comes back through a new association.
async fn datagram_echoes(house: &House, size: usize) -> bool {
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = far.local_addr().unwrap();
    let echo = tokio::spawn(async move {
        let mut buf = vec![0; 65_536];
        while let Ok((len, from)) = far.recv_from(&mut buf).await {
            let _ = far.send_to(&buf[..len], from).await;
        }
    });
    let (_control, at) = association(house.at("in")).await;
    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (said, mut heard) = (wrapped(to, &vec![7; size]), vec![0; 65_536]);
    for _ in 0..20 {
        near.send_to(&said, at).await.unwrap();
        if let Ok(Ok((len, _))) = timeout(Duration::from_secs(1), near.recv_from(&mut heard)).await {
            echo.abort();
            return heard[..len] == said[..];
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_loses_and_reorders_carries_everything() {
    for mask in [json!({}), json!({ "udp": [{ "type": "salamander", "settings": { "password": "a cloak" } }] })] {
        let (authority, port) = (Authority::new(), free_port());
        let _server = House::start_there(&server(port, &authority, json!({}), mask.clone()));
        let path = Lossy::to(port, 5).await;
        let client = House::start(&client(path.port(), &authority, mask));
        let target = echo().await.to_string();
        let mut stream = tunnel(client.at("in"), &target).await;
        let said: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        assert!(echoes(&mut stream, &said).await);
        for size in [64, 1200, 5000] {
            assert!(datagram_echoes(&client, size).await, "{size}");
        }
        assert!(path.passed() > 100);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_again_is_found_by_the_next_flow() {
    let (authority, port) = (Authority::new(), free_port());
    let config = server(port, &authority, json!({}), json!({}));
    let first = House::start_there(&config);
    let path = Lossy::to(port, 0).await;
    let client = House::start(&client(path.port(), &authority, json!({})));
    let target = echo().await.to_string();
    let mut stream = tunnel(client.at("in"), &target).await;
    assert!(echoes(&mut stream, b"before").await);
    // It says that it goes.
    first.stop().await;
    let ended = timeout(PATIENCE, stream.read(&mut [0; 8])).await.expect("the stream ends with its server");
    assert_eq!(ended.unwrap_or(0), 0);
    // Its last word follows the end of the stream.
    sleep(Duration::from_millis(200)).await;
    let second = House::start_there(&config);
    assert!(echoes(&mut tunnel(client.at("in"), &target).await, b"after a stop").await);
    // It goes without a word.
    path.close(true);
    second.stop().await;
    sleep(Duration::from_millis(5500)).await;
    let _third = House::start_there(&config);
    path.close(false);
    assert!(echoes(&mut tunnel(client.at("in"), &target).await, b"after a crash").await);
    assert!(datagram_echoes(&client, 64).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_goes_from_port_to_port_and_keeps_its_streams() {
    let (authority, port) = (Authority::new(), free_port());
    // The server listens at several ports itself, and behind each there is a path that counts.
    let ports: Vec<u16> = std::iter::once(port).chain((0..2).map(|_| free_port())).collect();
    let listed = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let _server = House::start_there(&server(listed.as_str(), &authority, json!({}), json!({})));
    let mut paths = vec![];
    for port in &ports {
        paths.push(Lossy::to(*port, 0).await);
    }
    let hopped = paths.iter().map(|path| path.port().to_string()).collect::<Vec<_>>().join(",");
    let hop = json!({ "quicParams": { "udpHop": { "ports": hopped, "interval": 5 } } });
    let client = House::start(&client(1, &authority, hop));
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    let begun = Instant::now();
    while paths.iter().filter(|path| path.passed() > 10).count() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays at one port");
        assert!(echoes(&mut stream, &[7; 10_000]).await, "the stream ends where the port changes");
        sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..20 {
        assert!(echoes(&mut stream, &[8; 10_000]).await);
    }
    assert!(datagram_echoes(&client, 1200).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_quiet_is_another_one_later() {
    let (authority, port) = (Authority::new(), free_port());
    let mut config = server(port, &authority, json!({}), json!({}));
    config["inbounds"][0]["streamSettings"]["hysteriaSettings"]["udpIdleTimeout"] = 2.into();
    let _server = House::start_there(&config);
    let client = House::start(&client(port, &authority, json!({})));
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (_control, at) = association(client.at("in")).await;
    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let said = wrapped(far.local_addr().unwrap(), b"said");
    let seen = async || {
        near.send_to(&said, at).await.unwrap();
        timeout(PATIENCE, far.recv_from(&mut [0; 16])).await.unwrap().unwrap().1
    };
    let first = seen().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(seen().await, first);
    sleep(Duration::from_secs(4)).await;
    assert_ne!(seen().await, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_behind_an_outbound_that_carries_datagrams() {
    let (authority, port) = (Authority::new(), free_port());
    let ports = format!("{port},{}", free_port());
    let cloak = json!([{ "type": "salamander", "settings": { "password": "a cloak" } }]);
    let _server = House::start_there(&server(ports.as_str(), &authority, json!({}), json!({ "udp": cloak })));
    let relay = House::start(&json!({
        "inbounds": [{ "tag": "relay", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } }],
        "outbounds": [{ "protocol": "freedom" }]
    }));
    let at = relay.at("relay");
    let hop = json!({ "udpHop": { "ports": ports, "interval": 5 }, "maxIdleTimeout": 5 });
    let mut config = client(1, &authority, json!({ "udp": cloak, "quicParams": hop }));
    config["outbounds"][0]["streamSettings"]["sockopt"] = json!({ "dialerProxy": "front" });
    let front = json!({ "tag": "front", "protocol": "socks", "settings": { "address": at.ip(), "port": at.port() } });
    config["outbounds"].as_array_mut().unwrap().push(front);
    let client = House::start(&config);
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        assert!(echoes(&mut stream, &[7; 50_000]).await);
        sleep(Duration::from_millis(500)).await;
    }
    assert!(datagram_echoes(&client, 1200).await);
    // It went that way: it ends with it.
    relay.stop().await;
    let ended = timeout(PATIENCE, stream.read(&mut [0; 8])).await.expect("the stream ends with its way");
    assert_eq!(ended.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_changes_who_is_known_and_keeps_streams() {
    let (authority, port) = (Authority::new(), free_port());
    let mut config = server(port, &authority, json!({}), json!({}));
    let served = House::start_there(&config);
    let before = House::start(&client(port, &authority, json!({})));
    let target = echo().await.to_string();
    let mut kept = tunnel(before.at("in"), &target).await;
    assert!(echoes(&mut kept, b"before").await);
    config["inbounds"][0]["settings"]["users"] = json!([{ "auth": "a new secret", "email": "bob" }]);
    served.apply_there(&config).await.unwrap();
    let mut changed = client(port, &authority, json!({}));
    changed["outbounds"][0]["streamSettings"]["hysteriaSettings"]["auth"] = "a new secret".into();
    let after = House::start(&changed);
    assert!(echoes(&mut kept, b"kept").await);
    assert!(echoes(&mut tunnel(after.at("in"), &target).await, b"new").await);
    // Whoever is not known any more is out, by the connection that is open as well.
    let mut refused = tunnel(before.at("in"), &target).await;
    let _ = refused.write_all(b"old").await;
    let heard = timeout(PATIENCE, refused.read(&mut [0; 8])).await.expect("it ends");
    assert_eq!(heard.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_is_the_lesser_of_what_both_sides_say() {
    let (authority, port) = (Authority::new(), free_port());
    // 16 of these are 2 MiB a second.
    let rates = |up: &str, down: &str| json!({ "quicParams": { "brutalUp": up, "brutalDown": down } });
    let _server = House::start_there(&server(port, &authority, json!({}), rates("100 mbps", "100 mbps")));
    let path = Lossy::to(port, 5).await;
    let client = House::start(&client(path.port(), &authority, rates("100 mbps", "16 mbps")));
    let mut stream = tunnel(client.at("in"), &echo().await.to_string()).await;
    let begun = Instant::now();
    assert!(echoes(&mut stream, &vec![7; 6 * 1024 * 1024]).await);
    let took = begun.elapsed().as_secs_f64();
    assert!((2.2..9.0).contains(&took), "{took} s for 6 MiB at 2 MiB a second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_secrets_reach_nobody() {
    let (authority, port) = (Authority::new(), free_port());
    let mask = |password: &str| json!({ "udp": [{ "type": "salamander", "settings": { "password": password } }] });
    let server = House::start_there(&server(port, &authority, json!({}), mask("a cloak")));
    let good = House::start(&client(port, &authority, mask("a cloak")));
    let target = echo().await.to_string();
    assert!(echoes(&mut tunnel(good.at("in"), &target).await, b"known").await);
    let mut bad = client(port, &authority, mask("a cloak"));
    bad["outbounds"][0]["streamSettings"]["hysteriaSettings"]["auth"] = "another".into();
    let bad = House::start(&bad);
    let mut stream = tunnel(bad.at("in"), &target).await;
    let _ = stream.write_all(b"unknown").await;
    let heard = timeout(PATIENCE, stream.read(&mut [0; 8])).await.expect("it ends at once");
    assert_eq!(heard.unwrap_or(0), 0);
    // Packets of strangers, of every length, change nothing for those who are known.
    let noise = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for n in 0..1500_u16 {
        let packet: Vec<u8> = (0..n).map(|at| (at.wrapping_mul(n) >> 3) as u8).collect();
        noise.send_to(&packet, ("127.0.0.1", port)).await.unwrap();
    }
    assert!(echoes(&mut tunnel(good.at("in"), &target).await, b"still known").await);
    server.stop().await;
}

/// A connection of somebody who speaks HTTP/3, as any browser does.
async fn connection(port: u16, authority: &Authority) -> quinn::Connection {
    let options = tls::ClientOptions {
        roots: vec![tls::Pem::File(authority.cert())],
        no_system_roots: true,
        server_name: Some(NAME.to_owned()),
        common: tls::Common { alpn: vec!["h3".to_owned()], ..tls::Common::default() },
        ..tls::ClientOptions::default()
    };
    let tls = tls::Client::new(&tls::Crypto::default(), &options).unwrap();
    let client = Client::new(&tls, &Params { datagrams: true, ..Params::default() }).unwrap();
    let (to, options) = (([127, 0, 0, 1], port).into(), SocketOptions::default());
    let (socket, to) = udp::bare_to(&[to], &options).unwrap();
    client
        .connect(Port::Own { socket, to, options }, &"127.0.0.1:1".parse::<etemenanki::addr::Target>().unwrap().host)
        .await
        .unwrap()
}

type Sender = h3::client::SendRequest<etemenanki::transport::http3::Opener, Bytes>;

async fn browser(connection: &quinn::Connection) -> Sender {
    let (mut driver, sender) = h3::client::builder().build(Link::new(connection.clone())).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    sender
}

async fn asked(sender: &mut Sender, request: Request<()>) -> (StatusCode, http::HeaderMap, Vec<u8>) {
    let all = async {
        let mut stream = sender.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        let response = stream.recv_response().await.unwrap();
        let mut body = vec![];
        while let Some(mut chunk) = stream.recv_data().await.unwrap() {
            body.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
        }
        (response.status(), response.headers().clone(), body)
    };
    timeout(PATIENCE, all).await.unwrap()
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("https://{NAME}{path}")).body(()).unwrap()
}

fn auth(shown: &str) -> Request<()> {
    let request = Request::post("https://hysteria/auth").header("hysteria-auth", shown).header("hysteria-cc-rx", "0");
    request.body(()).unwrap()
}

/// A path, and what a stranger is shown there.
type Seen = (&'static str, u16, &'static str);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_sees_a_web_site() {
    let authority = Authority::new();
    let origin = Nginx::start(&[("page", b"the page behind")], "location /host { return 200 \"$host\"; }");
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("index.html"), "<p>the index").unwrap();
    std::fs::write(files.path().join("a.css"), "b{}").unwrap();
    let text = json!({ "type": "string", "content": "some text", "statusCode": 418, "headers": { "X-Own": "yes" } });
    let proxied = json!({ "type": "proxy", "url": origin.url(""), "rewriteHost": true });
    let cases: [(Value, &[Seen]); 5] = [
        (json!({}), &[("/", 404, "404 page not found\n"), ("/auth", 404, "404 page not found\n")]),
        (json!({ "type": "404" }), &[("/x", 404, "404 page not found\n")]),
        (text, &[("/", 418, "some text"), ("/x/y", 418, "some text")]),
        (
            json!({ "type": "file", "dir": files.path() }),
            &[("/", 200, "<p>the index"), ("/a.css", 200, "b{}"), ("/../x", 404, "404 page not found\n")],
        ),
        (proxied, &[("/page", 200, "the page behind"), ("/host", 200, "127.0.0.1")]),
    ];
    for (masquerade, wanted) in cases {
        let port = free_port();
        let server = House::start_there(&server(port, &authority, masquerade.clone(), json!({})));
        let connection = connection(port, &authority).await;
        let mut sender = browser(&connection).await;
        for (path, status, body) in wanted {
            let (got, headers, heard) = asked(&mut sender, get(path)).await;
            assert_eq!(
                (got.as_u16(), String::from_utf8_lossy(&heard).as_ref()),
                (*status, *body),
                "{masquerade} {path}"
            );
            assert!(!headers.contains_key("hysteria-udp"));
        }
        // A wrong password is a page like all others, and what would be a flow then is no flow.
        let (status, headers, _) = asked(&mut sender, auth("wrong")).await;
        assert!(status != 233 && !headers.contains_key("hysteria-udp"), "{masquerade}");
        let (mut up, mut down) = connection.open_bi().await.unwrap();
        up.write_all(b"\x44\x01\x0b127.0.0.1:1\x00GET").await.unwrap();
        let told = timeout(Duration::from_millis(300), down.read(&mut [0; 8])).await;
        assert!(!matches!(told, Ok(Ok(Some(_)))), "{masquerade}");
        server.stop().await;
    }
}

/// What somebody who is known sends ill: it harms nobody, and is not kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_datagrams_of_a_known_client_change_nothing() {
    let (authority, port) = (Authority::new(), free_port());
    let _server = House::start_there(&server(port, &authority, json!({}), json!({})));
    let connection = connection(port, &authority).await;
    let mut sender = browser(&connection).await;
    let (status, headers, _) = asked(&mut sender, auth(AUTH)).await;
    assert!(status.as_u16() == 233 && headers["hysteria-udp"] == "true");
    let padding = headers["hysteria-padding"].len();
    assert!((256..2048).contains(&padding));
    // It is told the same as often as it asks.
    assert_eq!(asked(&mut sender, auth("anything")).await.0.as_u16(), 233);
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = far.local_addr().unwrap().to_string();
    let piece = |session: u32, packet: u16, index: u8, count: u8, payload: &[u8]| {
        let mut out = session.to_be_bytes().to_vec();
        out.extend_from_slice(&packet.to_be_bytes());
        out.extend_from_slice(&[index, count, address.len() as u8]);
        out.extend_from_slice(address.as_bytes());
        out.extend_from_slice(payload);
        Bytes::from(out)
    };
    let large = [7; 1000];
    for session in 0..3000_u32 {
        // Pieces without the others, twice, out of range, none at all; and what is no datagram.
        for odd in [
            piece(session, 1, 0, 255, &large),
            piece(session, 1, 0, 255, &large),
            piece(session, 1, 200, 3, &large),
            piece(session, 2, 1, 2, &large),
            Bytes::from_static(b"\0\0\0\x01"),
            Bytes::copy_from_slice(&session.to_le_bytes()),
        ] {
            let _ = connection.send_datagram(odd);
        }
        if session % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // A session that is new finds its way all the same, also in pieces that come in the wrong order.
    let mut heard = [0; 16];
    let told = async {
        loop {
            let _ = connection.send_datagram(piece(5, 9, 1, 2, b"world"));
            let _ = connection.send_datagram(piece(5, 9, 0, 2, b"hello "));
            if let Ok(Ok(len)) = timeout(Duration::from_millis(300), far.recv(&mut heard)).await {
                return len;
            }
        }
    };
    let len = timeout(PATIENCE, told).await.unwrap();
    assert_eq!(&heard[..len], b"hello world");
    // Streams too.
    let (mut up, mut down) = connection.open_bi().await.unwrap();
    let target = echo().await.to_string();
    let mut request = vec![0x44, 1, target.len() as u8];
    request.extend_from_slice(target.as_bytes());
    request.extend_from_slice(b"\x00said");
    up.write_all(&request).await.unwrap();
    let mut answer = vec![];
    while !answer.ends_with(b"said") {
        let chunk = timeout(PATIENCE, down.read_chunk(4096, true)).await.unwrap().unwrap().unwrap();
        answer.extend_from_slice(&chunk.bytes);
    }
    assert_eq!(answer[0], 0);
    let (mut up, mut down) = connection.open_bi().await.unwrap();
    up.write_all(b"\x44\x01\x03a:x\x00").await.unwrap();
    assert!(!matches!(timeout(PATIENCE, down.read(&mut [0; 8])).await.unwrap(), Ok(Some(_))));
}

#[test]
fn a_member_is_probed_through_itself() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let (authority, port, door) = (Authority::new(), free_port(), free_port());
    let origin = Nginx::start(&[("page", b"page")], "location /generate_204 { return 204; }");
    let _server = House::start_there(&server(port, &authority, json!({}), json!({})));
    let config = json!({
        "log": { "loglevel": "debug" },
        "inbounds": [{ "tag": "in", "listen": "127.0.0.1", "port": door, "protocol": "socks" }],
        "outbounds": [
            { "tag": "block", "protocol": "blackhole" },
            way("n-wrong", port, &authority, "wrong", json!({})),
            way("n-right", port, &authority, AUTH, json!({})),
        ],
        "routing": {
            "balancers": [{ "tag": "all", "selector": ["n-"], "strategy": { "type": "leastPing" } }],
            "rules": [{ "inboundTag": ["in"], "balancerTag": "all" }]
        },
        "observatory": { "subjectSelector": ["n-"], "probeURL": origin.url("generate_204"), "probeInterval": "1h", "enableConcurrency": true }
    });
    let engine = Engine::json(&config, &[door]);
    engine.process.wait_to_say("balancer member n-wrong is now down");
    engine.process.wait_to_say("n-right answered");
    let url = origin.url("page");
    let fetched = || curl(&["-x", &format!("socks5h://127.0.0.1:{door}"), &url]).body;
    assert!(until(PATIENCE, || (fetched() == b"page").then_some(())).is_some(), "{}", engine.output());
    let (_, said) = engine.stop();
    assert!(said.contains("handshake failed: the server does not know this password"), "{said}");
}
