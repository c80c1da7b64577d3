//! The peers by themselves: should one of these fail, it is the machine or the peer, not our program.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Nginx, Throttle, curl, danted, microsocks, sing_box};

#[test]
fn nginx_serves_and_keeps_a_record() {
    let origin = Nginx::start(&[("a/b.txt", b"hello")], "location = /who { return 200 nginx; }");
    assert_eq!(curl(&[&origin.url("a/b.txt")]).text(), "hello");
    assert_eq!(curl(&[&origin.url("who")]).text(), "nginx");
    assert_eq!(origin.requests(), ["GET /a/b.txt 200 5", "GET /who 200 5"]);
}

#[test]
fn microsocks_carries_and_asks_for_its_login() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let open = microsocks(None);
    assert_eq!(curl(&["-x", &format!("socks5://{}", open.addr), &origin.url("x")]).text(), "through");
    let closed = microsocks(Some(("u", "p")));
    assert_eq!(curl(&["-x", &format!("socks5://u:p@{}", closed.addr), &origin.url("x")]).text(), "through");
    assert!(!curl(&["-x", &format!("socks5://u:wrong@{}", closed.addr), &origin.url("x")]).ok);
}

#[test]
fn danted_carries_both_versions_of_socks() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let dante = danted();
    for scheme in ["socks4", "socks5", "socks5h"] {
        let answer = curl(&["-x", &format!("{scheme}://{}", dante.addr), &origin.url("x")]);
        assert_eq!(answer.text(), "through", "{scheme}: {}\n{}", answer.complaint, dante.process.output());
    }
}

#[test]
fn sing_box_is_an_http_proxy() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let proxy = sing_box(|port| {
        json!({
            "inbounds": [{"type": "http", "listen": "127.0.0.1", "listen_port": port}],
            "outbounds": [{"type": "direct"}],
        })
    });
    let answer = curl(&["-x", &format!("http://{}", proxy.addr), "-p", &origin.url("x")]);
    assert_eq!(answer.text(), "through", "{}\n{}", answer.complaint, proxy.process.output());
}

#[test]
fn a_throttle_is_slow_counts_and_can_be_cut() {
    let origin = Nginx::start(&[("x", &[b'x'; 60_000])], "");
    let wire = Throttle::start(origin.peer.addr, 200_000);
    let url = format!("http://{}/x", wire.addr);
    let start = Instant::now();
    assert_eq!(curl(&[&url]).body.len(), 60_000);
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
    assert!((60_000..62_000).contains(&wire.carried()), "{}", wire.carried());
    wire.cut();
    assert!(!curl(&[&url]).ok);
}
