//! PROXY protocol in and out: who comes is what the header in front says, among curl and nginx.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::support::{Certificate, Engine, Nginx, Throttle, curl, free_port};

/// A site that answers with the visitor it was told of, and the port at which it wants to be told.
fn site() -> (Nginx, u16) {
    let told = free_port();
    let words = format!(
        "listen 127.0.0.1:{told} proxy_protocol;\n\
         location = /who {{ return 200 $proxy_protocol_addr:$proxy_protocol_port; }}"
    );
    (Nginx::start(&[], &words), told)
}

/// An engine with this inbound; the flows of 192.0.2.66 are blocked, and the way out tells who comes.
fn engine(mut inbound: Value) -> (Engine, u16) {
    let port = free_port();
    inbound["listen"] = "127.0.0.1".into();
    inbound["port"] = port.into();
    let config = json!({
        "log": {"loglevel": "debug"},
        "inbounds": [inbound],
        "outbounds": [
            {"protocol": "freedom", "settings": {"proxyProtocol": 1}},
            {"tag": "block", "protocol": "blackhole"}
        ],
        "routing": {"rules": [{"type": "field", "source": ["192.0.2.66"], "outboundTag": "block"}]}
    });
    (Engine::json(&config, &[port]), port)
}

/// A header of the second version: a stream over IPv4 from there.
fn second(source: [u8; 4], port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let start = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
    [&start[..], &source, &[198, 51, 100, 1, high, low, 0, 80]].concat()
}

/// What the site says behind the door at `port` to somebody who says `header` first.
fn asked_behind(header: &[u8], port: u16) -> String {
    let mut io = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).expect("it listens");
    let request = b"GET /who HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n";
    io.write_all(&[header, request].concat()).expect("a few bytes");
    let mut heard = String::new();
    // Whoever is turned away may be so by a reset.
    let _ = io.read_to_string(&mut heard);
    heard.rsplit("\r\n").next().unwrap_or_default().to_owned()
}

#[test]
fn the_announced_source_is_who_comes() {
    let (_site, told) = site();
    let (engine, port) = engine(json!({
        "protocol": "dokodemo-door",
        "settings": {"address": "127.0.0.1", "port": told, "network": "tcp"},
        "streamSettings": {"sockopt": {"acceptProxyProtocol": true}}
    }));
    // With somebody in between, the announced port is not the one that is seen.
    let between = Throttle::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), 1_000_000);
    let url = format!("http://127.0.0.1:{}/who", between.port());
    let answer = curl(&["--haproxy-protocol", "-w", " 127.0.0.1:%{local_port}", &url]).text();
    let (seen, is) = answer.split_once(' ').unwrap_or_default();
    assert!(!seen.is_empty() && seen == is, "{answer}\n{}", engine.output());
    let first = |ip: &str| format!("PROXY TCP4 {ip} 198.51.100.1 4321 80\r\n").into_bytes();
    assert_eq!(asked_behind(&first("192.0.2.7"), port), "192.0.2.7:4321", "{}", engine.output());
    assert_eq!(asked_behind(&first("192.0.2.66"), port), "", "a rule knows who it is\n{}", engine.output());
    assert_eq!(asked_behind(&second([192, 0, 2, 8], 4321), port), "192.0.2.8:4321", "{}", engine.output());
    assert_eq!(asked_behind(&second([192, 0, 2, 66], 4321), port), "", "{}", engine.output());
    assert_eq!(asked_behind(b"", port), "", "nobody is let in without\n{}", engine.output());
}

#[test]
fn a_fallback_tells_who_comes_and_who_was_announced() {
    let (_site, told) = site();
    for version in [1, 2] {
        let inbound = |stream: Value| {
            json!({
                "protocol": "vless", "streamSettings": stream,
                "settings": {
                    "clients": [{"id": "11111111-2222-3333-4444-555555555555"}], "decryption": "none",
                    "fallbacks": [{"dest": told, "xver": version}]
                }
            })
        };
        let certificate = Certificate::new("site.example");
        let (secure, port) = engine(inbound(certificate.inbound_stream()));
        let url = format!("https://127.0.0.1:{port}/who");
        let answer = curl(&["--insecure", "--http1.1", "-w", " 127.0.0.1:%{local_port}", &url]).text();
        let (seen, is) = answer.split_once(' ').unwrap_or_default();
        assert!(!seen.is_empty() && seen == is, "version {version}: {answer}\n{}", secure.output());

        let (plain, port) = engine(inbound(json!({"sockopt": {"acceptProxyProtocol": true}})));
        let heard = asked_behind(&second([192, 0, 2, 8], 4321), port);
        assert_eq!(heard, "192.0.2.8:4321", "version {version}\n{}", plain.output());
        let heard = asked_behind(b"PROXY TCP4 192.0.2.9 127.0.0.1 5432 80\r\n", port);
        assert_eq!(heard, "192.0.2.9:5432", "version {version}\n{}", plain.output());
    }
}
