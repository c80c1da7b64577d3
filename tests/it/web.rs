//! The HTTP inbound and outbound among curl, nginx and sing-box.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Certificate, Engine, Nginx, PATIENCE, Peer, curl, free_port, program, sing_box};

fn config(inbound: Value, outbound: Value) -> (u16, Value) {
    let port = free_port();
    let mut inbound = inbound;
    inbound["listen"] = "127.0.0.1".into();
    inbound["port"] = port.into();
    let config = json!({"log": {"loglevel": "debug"}, "inbounds": [inbound], "outbounds": [outbound]});
    (port, config)
}

/// An engine with an HTTP inbound and a way straight out.
fn proxy() -> (Engine, String) {
    let (port, config) = config(json!({"protocol": "http"}), json!({"protocol": "freedom"}));
    (Engine::json(&config, &[port]), format!("http://127.0.0.1:{port}"))
}

/// An HTTP server of our own that answers each connection by these bytes once the request's head is there, then goes on
/// with `then`.
fn scripted(answer: &'static [u8], then: fn(TcpStream)) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut head = vec![];
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let _ = stream.write_all(answer);
                then(stream);
            });
        }
    });
    port
}

#[test]
fn methods_bodies_and_heads_pass_unchanged() {
    let origin = Nginx::start(
        &[("x", b"through")],
        "client_max_body_size 0; dav_methods PUT DELETE; create_full_put_path on;\n\
         location = /moved { return 302 /x; }",
    );
    let (_engine, proxy) = proxy();
    assert_eq!(curl(&["-x", &proxy, &origin.url("x")]).text(), "through");
    let head = curl(&["-x", &proxy, "-I", &origin.url("x")]).text();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("Content-Length: 7"), "{head}");
    assert_eq!(curl(&["-x", &proxy, "-L", &origin.url("moved")]).text(), "through");
    // Two files of more than any buffer: one of known length, one in chunks, both asked for leave first.
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("body");
    std::fs::write(&file, &body).expect("the folder is ours");
    for (name, header) in
        [("put", "Expect: 100-continue"), ("chunked", "Transfer-Encoding: chunked"), ("plain", "Expect:")]
    {
        let answer = curl(&["-x", &proxy, "-T", &file.to_string_lossy(), "-H", header, &origin.url(name)]);
        assert!(answer.ok, "{name}: {}", answer.complaint);
        assert!(curl(&["-x", &proxy, &origin.url(name)]).body == body, "{name} comes back as it went");
    }
    assert!(curl(&["-x", &proxy, "-X", "DELETE", &origin.url("put")]).ok);
    let status = curl(&["-x", &proxy, "-o", "/dev/null", "-w", "%{http_code}", &origin.url("put")]).text();
    assert_eq!(status, "404");
}

#[test]
fn one_connection_carries_several_requests_to_several_origins() {
    let (a, b) = (Nginx::start(&[("x", b"a")], ""), Nginx::start(&[("x", b"b")], ""));
    let (_engine, proxy) = proxy();
    let (one, two) = (a.url("x"), b.url("x"));
    let answer = curl(&["-x", &proxy, "-w", "%{num_connects} ", &one, &two, &one, &two, "-I", &one]);
    let text = answer.text();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    // -I asks for heads, which have no bodies: an answer whose end is misjudged would hang or mix with the next.
    let counts: String = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(first, _)| first)
        .filter(|word| *word == "0" || *word == "1")
        .collect();
    assert!(counts.starts_with('1') && !counts[1..].contains('1'), "{counts}: {text}");
    let answer = curl(&["-x", &proxy, "-w", "%{num_connects} ", &one, &two, &one]);
    assert_eq!(answer.text(), "a1 b0 a0 ");
}

#[test]
fn a_tunnel_to_tls_and_an_old_origin_without_length() {
    let certificate = Certificate::new("127.0.0.1");
    let tls_port = free_port();
    let origin = Nginx::start(
        &[("x", b"through")],
        &format!(
            "listen 127.0.0.1:{tls_port} ssl; ssl_certificate {}; ssl_certificate_key {};",
            certificate.cert().display(),
            certificate.key().display()
        ),
    );
    let (_engine, proxy) = proxy();
    let url = format!("https://127.0.0.1:{tls_port}/x");
    let answer = curl(&["-x", &proxy, "--cacert", &certificate.cert().to_string_lossy(), &url]);
    assert_eq!(answer.text(), "through", "{}", answer.complaint);
    assert!(origin.requests().contains(&"GET /x 200 7".to_owned()));

    let old = scripted(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\nuntil the end", drop);
    assert_eq!(curl(&["-x", &proxy, &format!("http://127.0.0.1:{old}/")]).text(), "until the end");
    let cut = scripted(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut", drop);
    let answer = curl(&["-x", &proxy, &format!("http://127.0.0.1:{cut}/")]);
    assert!(!answer.ok, "a body cut short must not look whole");
    assert!(!answer.complaint.contains("timed out"), "it ends as the origin ends: {}", answer.complaint);
    let none = scripted(b"", drop);
    let status = curl(&["-x", &proxy, "-o", "/dev/null", "-w", "%{http_code}", &format!("http://127.0.0.1:{none}/")]);
    assert_eq!(status.text(), "502");
    let refused = format!("http://127.0.0.1:{}/", free_port());
    let status = curl(&["-x", &proxy, "-o", "/dev/null", "-w", "%{http_code}", &refused]);
    assert_eq!(status.text(), "502");
}

#[test]
fn a_change_of_protocol_becomes_a_tunnel() {
    let port = scripted(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly",
        |mut stream| {
            let mut word = [0; 4];
            while stream.read_exact(&mut word).is_ok() && stream.write_all(&word).is_ok() {}
        },
    );
    let (_engine, proxy) = proxy();
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout that is not zero");
    let request = format!(
        "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nping"
    );
    stream.write_all(request.as_bytes()).expect("the inbound reads");
    let mut seen = String::new();
    let mut byte = [0];
    while !seen.ends_with("earlyping") {
        stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error} after {seen}"));
        seen.push(byte[0].into());
    }
    assert!(seen.starts_with("HTTP/1.1 101") && seen.contains("Upgrade: echo"), "{seen}");
    stream.write_all(b"pong").expect("the tunnel stands");
    let mut back = [0; 4];
    stream.read_exact(&mut back).expect("the tunnel stands");
    assert_eq!(&back, b"pong");
}

#[test]
fn users_are_let_in_by_password_and_a_refusal_arrives_whatever_they_send() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let inbound = json!({"protocol": "http", "settings": {"accounts": [{"user": "u", "pass": "p"}]}});
    let (port, config) = config(inbound, json!({"protocol": "freedom"}));
    let _engine = Engine::json(&config, &[port]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("body");
    std::fs::write(&file, vec![b'x'; 400_000]).expect("the folder is ours");
    let upload = file.to_string_lossy();
    for (login, plain, tunnel) in [("u:p@", "200", "through"), ("u:wrong@", "407", ""), ("", "407", "")] {
        let proxy = format!("http://{login}127.0.0.1:{port}");
        let code = curl(&["-x", &proxy, "-o", "/dev/null", "-w", "%{http_code}", &origin.url("x")]);
        assert_eq!(code.text(), plain, "{login}");
        assert_eq!(curl(&["-x", &proxy, "-p", &origin.url("x")]).text(), tunnel, "{login}");
        if plain == "407" {
            // The body is on its way while it is refused.
            for _ in 0..5 {
                let answer = curl(&[
                    "-x",
                    &proxy,
                    "-o",
                    "/dev/null",
                    "-w",
                    "%{http_code}",
                    "-H",
                    "Expect:",
                    "-T",
                    &upload,
                    &origin.url("x"),
                ]);
                assert_eq!(answer.text(), "407", "{login}: {}", answer.complaint);
            }
        }
    }
    assert!(!origin.requests().iter().any(|line| line.contains("PUT")), "{:?}", origin.requests());
    // An end by reset takes the answer along on some systems.
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout that is not zero");
    let head = format!("POST {} HTTP/1.1\r\nContent-Length: 100000\r\n\r\n", origin.url("x"));
    stream.write_all(&[head.as_bytes(), &[b'x'; 100_000]].concat()).expect("the inbound reads it over");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an end and no reset");
    assert!(answer.starts_with("HTTP/1.1 407"), "{answer}");
}

/// sing-box's HTTP inbound with a user, plain or within TLS.
fn their_proxy(certificate: Option<&Certificate>) -> Peer {
    sing_box(|port| {
        let mut inbound = json!({
            "type": "http", "listen": "127.0.0.1", "listen_port": port,
            "users": [{"username": "u", "password": "p"}],
        });
        if let Some(certificate) = certificate {
            inbound["tls"] = json!({
                "enabled": true, "certificate_path": certificate.cert(), "key_path": certificate.key(),
            });
        }
        json!({"inbounds": [inbound], "outbounds": [{"type": "direct"}]})
    })
}

#[test]
fn our_http_outbound_logs_in_at_sing_box_plain_and_in_tls() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let certificate = Certificate::new("proxy.example");
    let (plain, secure) = (their_proxy(None), their_proxy(Some(&certificate)));
    let trusted = json!({
        "security": "tls",
        "tlsSettings": {"serverName": "proxy.example", "disableSystemRoot": true,
            "certificates": [{"usage": "verify", "certificateFile": certificate.cert()}]},
    });
    let mut other = trusted.clone();
    other["tlsSettings"]["serverName"] = "other.example".into();
    for (peer, stream, password, works) in [
        (&plain, json!({}), "p", true),
        (&plain, json!({}), "wrong", false),
        (&secure, trusted, "p", true),
        (&secure, other, "p", false),
        (&secure, json!({"security": "tls", "tlsSettings": {"serverName": "proxy.example"}}), "p", false),
        (&secure, json!({}), "p", false),
    ] {
        let outbound = json!({"protocol": "http", "streamSettings": stream, "settings": {"servers": [{
            "address": "127.0.0.1", "port": peer.port(), "users": [{"user": "u", "pass": password}],
        }]}});
        let (port, config) = config(json!({"protocol": "socks"}), outbound);
        let engine = Engine::json(&config, &[port]);
        let answer = curl(&["-x", &format!("socks5h://127.0.0.1:{port}"), &origin.url("x")]);
        assert_eq!(answer.text() == "through", works, "{stream} {password}: {}\n{}", answer.complaint, engine.output());
        assert!(!engine.output().contains("wrong"), "no password in the log: {}", engine.output());
    }
}

#[test]
fn inbounds_in_tls_serve_whoever_checks_the_certificate() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let certificate = Certificate::new("127.0.0.1");
    let (web, socks) = (free_port(), free_port());
    let inbound = |protocol: &str, port: u16| json!({"listen": "127.0.0.1", "port": port, "protocol": protocol, "streamSettings": certificate.inbound_stream()});
    let config = json!({
        "log": {"loglevel": "debug"},
        "inbounds": [inbound("http", web), inbound("socks", socks)],
        "outbounds": [{"protocol": "freedom"}],
    });
    let _engine = Engine::json(&config, &[web, socks]);
    let proxy = format!("https://127.0.0.1:{web}");
    for tunnel in [&[][..], &["-p"]] {
        let cert = certificate.cert();
        let trust = ["-x", &proxy, "--proxy-cacert", &cert.to_string_lossy(), &origin.url("x")].map(str::to_owned);
        let args: Vec<&str> = trust.iter().map(String::as_str).chain(tunnel.iter().copied()).collect();
        let answer = curl(&args);
        assert_eq!(answer.text(), "through", "{}", answer.complaint);
    }
    let answer = curl(&["-x", &proxy, &origin.url("x")]);
    assert!(!answer.ok && answer.complaint.contains("certificate"), "{}", answer.complaint);

    // curl speaks no SOCKS in TLS; our own outbound does, and openssl sees what is there.
    let port = free_port();
    let config = json!({
        "inbounds": [{"listen": "127.0.0.1", "port": port, "protocol": "http"}],
        "outbounds": [{"protocol": "socks", "settings": {"servers": [{"address": "127.0.0.1", "port": socks}]},
            "streamSettings": {"security": "tls", "tlsSettings": {"serverName": "127.0.0.1", "disableSystemRoot": true,
                "certificates": [{"usage": "verify", "certificateFile": certificate.cert()}]}}}],
    });
    let engine = Engine::json(&config, &[port]);
    let answer = curl(&["-x", &format!("http://127.0.0.1:{port}"), &origin.url("x")]);
    assert_eq!(answer.text(), "through", "{}\n{}", answer.complaint, engine.output());
    let shown = Command::new(program("openssl"))
        .args(["s_client", "-connect", &format!("127.0.0.1:{socks}"), "-brief"])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("openssl runs");
    let shown = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.contains("TLSv1.3"), "{shown}");
}
