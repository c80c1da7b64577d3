//! A REALITY server as strangers see it: as the site that it borrows its face from, and in no way else.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, Certificate, Engine, Nginx, Peer, curl, free_port, program, until};

const NAME: &str = "site.example";
const PRIVATE: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8";
const PUBLIC: &str = "NYBy1jZYgNGu6jKa35EhODhR7SGijjt16WXQ0s0WYlQ";
const SHORT: &str = "0123456789abcdef";
const USER: &str = "11111111-2222-3333-4444-555555555555";

/// A site, and an engine in front of it.
struct House {
    site: Nginx,
    secure: u16,
    certificate: Certificate,
    engine: Engine,
    port: u16,
}

impl House {
    /// `listen` are words of the site's TLS listener, `more` settings of REALITY.
    fn open(listen: &str, more: &[(&str, Value)]) -> Self {
        let certificate = Certificate::new(NAME);
        let (secure, port) = (free_port(), free_port());
        let site = Nginx::start(
            &[("page", b"the site itself"), ("long", &[b'x'; 400_000])],
            &format!(
                "listen 127.0.0.1:{secure} ssl {listen}; ssl_certificate {}; ssl_certificate_key {};\n\
                 ssl_protocols TLSv1.2 TLSv1.3; location = /who {{ return 200 $proxy_protocol_addr; }}",
                certificate.cert().display(),
                certificate.key().display()
            ),
        );
        let mut reality = json!({
            "target": secure, "serverNames": [NAME], "privateKey": PRIVATE, "shortIds": [SHORT],
            "minClientVer": "0.0.0", "show": true
        });
        more.iter().for_each(|(key, value)| reality[*key] = value.clone());
        let config = json!({
            "log": {"loglevel": "debug"},
            "inbounds": [{
                "listen": "127.0.0.1", "port": port, "protocol": "vless",
                "settings": {"clients": [{"id": USER}], "decryption": "none"},
                "streamSettings": {"security": "reality", "realitySettings": reality}
            }],
            "outbounds": [{"protocol": "freedom", "settings": {"finalRules": [{"action": "allow"}]}}]
        });
        let engine = Engine::json(&config, &[port]);
        Self { site, secure, certificate, engine, port }
    }

    /// What curl gets of this place at a port, by this name; the certificate must be the site's own.
    fn visit(&self, name: &str, port: u16, path: &str, more: &[&str]) -> Answer {
        let (resolve, url) = (format!("{name}:{port}:127.0.0.1"), format!("https://{name}:{port}/{path}"));
        let cert = self.certificate.cert();
        let cert = cert.to_str().expect("a plain path");
        curl(&[&["--resolve", &resolve, "--cacert", cert, &url][..], more].concat())
    }
}

#[test]
fn a_prober_sees_the_site() {
    let house = House::open("http2", &[]);
    for more in [&[][..], &["--http1.1"], &["--tls-max", "1.2"], &["--curves", "P-256"]] {
        let answer = house.visit(NAME, house.port, "page", more);
        assert_eq!(answer.text(), "the site itself", "{more:?}: {}\n{}", answer.complaint, house.engine.output());
    }
    // By another name the site shows the same certificate, which is then wrong, here as there.
    let [here, there] = [house.port, house.secure].map(|port| house.visit("other.example", port, "page", &[]));
    assert!(!here.ok && !there.ok);
    assert_eq!(
        here.complaint.replace(&house.port.to_string(), ""),
        there.complaint.replace(&house.secure.to_string(), "")
    );
    let here = house.visit("other.example", house.port, "page", &["--insecure"]);
    assert_eq!(here.text(), "the site itself");
}

/// All bytes to the end of the connection, but the clock of the site.
fn said_to(port: u16, words: &[u8]) -> String {
    let mut io = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).expect("it listens");
    io.write_all(words).expect("a few bytes");
    io.shutdown(Shutdown::Write).expect("it is open");
    let mut heard = vec![];
    // A site that closes before it has read everything resets the connection; what it said counts.
    let _ = io.read_to_end(&mut heard);
    let heard = String::from_utf8_lossy(&heard).into_owned();
    heard.lines().filter(|line| !line.starts_with("Date:")).collect::<Vec<_>>().join("\n")
}

#[test]
fn whoever_speaks_something_else_hears_the_site() {
    let house = House::open("", &[]);
    // A ClientHello in length alone: the site waits for the rest, or finds fault with it.
    let hollow = [&[22, 3, 1, 0, 60, 1, 0, 0, 56, 3, 3][..], &[0; 54]].concat();
    for words in [&b"GET /page HTTP/1.0\r\n\r\n"[..], b"\x05\x01\x00", b"", &hollow, &hollow[..20], &[0x80; 300]] {
        assert_eq!(said_to(house.port, words), said_to(house.secure, words), "{words:?}");
    }
}

#[test]
fn the_site_learns_who_visits() {
    for version in [1, 2] {
        let house = House::open("proxy_protocol", &[("xver", version.into())]);
        let answer = house.visit(NAME, house.port, "who", &[]);
        assert_eq!(answer.text(), "127.0.0.1", "{}\n{}", answer.complaint, house.engine.output());
    }
}

#[test]
fn strangers_can_be_slowed_down() {
    let slow = json!({"afterBytes": 100_000, "bytesPerSec": 100_000, "burstBytesPerSec": 150_000});
    let house = House::open("", &[("limitFallbackDownload", slow)]);
    let begun = std::time::Instant::now();
    let answer = house.visit(NAME, house.port, "long", &[]);
    assert_eq!(answer.body.len(), 400_000, "{}", answer.complaint);
    // All but what is free, what may come at once and the last piece takes its time: 80000 bytes and more.
    assert!(begun.elapsed().as_millis() > 600, "{:?}", begun.elapsed());
}

/// mihomo with a proxy behind a local port.
fn mihomo(port: u16, short: &str) -> Peer {
    Peer::start("mihomo", |own, folder| {
        let config = json!({
            "mixed-port": own, "bind-address": "127.0.0.1", "mode": "rule", "log-level": "info", "ipv6": false,
            "find-process-mode": "off", "geo-auto-update": false,
            "proxies": [{
                "name": "out", "type": "vless", "server": "127.0.0.1", "port": port, "uuid": USER, "tls": true,
                "network": "tcp", "servername": NAME, "client-fingerprint": "chrome",
                "reality-opts": {"public-key": PUBLIC, "short-id": short}
            }],
            "rules": ["MATCH,out"]
        });
        std::fs::write(folder.join("config.json"), config.to_string()).expect("the folder is ours");
        let mut command = Command::new(program("mihomo"));
        command.arg("-d").arg(folder).arg("-f").arg(folder.join("config.json"));
        // It takes a client for itself whose port equals one of its own connections; on loopback that comes to pass.
        command.env("DISABLE_LOOPBACK_DETECTOR", "true");
        command
    })
}

#[test]
fn a_client_with_the_key_is_let_in_and_others_are_not() {
    let house = House::open("", &[("masterKeyLog", "keys".into())]);
    let client = mihomo(house.port, SHORT);
    let answer = curl(&["-x", &format!("http://{}", client.addr), &house.site.url("page")]);
    assert_eq!(answer.text(), "the site itself", "{}\n{}", client.process.output(), house.engine.output());
    house.engine.process.wait_to_say("REALITY: let in");
    let keys = std::fs::read_to_string(house.engine.process.folder.path().join("keys")).expect("the keys are logged");
    assert!(keys.contains("CLIENT_TRAFFIC_SECRET_0 ") && keys.contains("SERVER_HANDSHAKE_TRAFFIC_SECRET "), "{keys}");

    let stranger = mihomo(house.port, "0123456789abcdee");
    let answer = curl(&["-x", &format!("http://{}", stranger.addr), &house.site.url("page")]);
    assert_ne!(answer.text(), "the site itself");
    let told =
        until(std::time::Duration::from_secs(10), || house.engine.output().contains("unknown shortId").then_some(()));
    assert!(told.is_some(), "{}", house.engine.output());
}
