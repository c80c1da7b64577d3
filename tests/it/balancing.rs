//! The main job with other people's programs on both sides: three SOCKS servers behind wires of different rates, curl in
//! front, nginx behind. What is right is read off the wires, not off what the engine says.

use serde_json::{Value, json};

use crate::support::{Engine, Nginx, Throttle, curl, danted, free_port, microsocks, run_once_in, sing_box};

/// What a member's wire carries a second.
const FAST: u64 = 4_000_000;
const SLOW: u64 = 400_000;
const SLOWEST: u64 = 200_000;

fn config(socks: u16, http: u16, members: [u16; 3], url: &str) -> Value {
    let outbounds = ["a", "b", "c"].into_iter().zip(members).map(|(tag, port)| {
        json!({
            "tag": format!("proxy-{tag}"),
            "protocol": "socks",
            "settings": {"servers": [{"address": "127.0.0.1", "port": port}]},
        })
    });
    json!({
        "log": {"loglevel": "debug"},
        "inbounds": [
            {"tag": "socks", "listen": "127.0.0.1", "port": socks, "protocol": "socks"},
            {"tag": "http", "listen": "127.0.0.1", "port": http, "protocol": "http"},
        ],
        "outbounds": outbounds.collect::<Vec<_>>(),
        "routing": {
            "balancers": [{
                "tag": "best",
                "selector": ["proxy-"],
                "strategy": "optimal",
                "optimalSettings": {"timeout": 2000, "interval": 500, "url": url},
            }],
            "rules": [{"inboundTag": ["socks", "http"], "balancerTag": "best"}],
        },
    })
}

/// Fetches `url` through both inbounds.
fn fetch(socks: u16, http: u16, url: &str, size: usize) {
    for proxy in [format!("socks5h://127.0.0.1:{socks}"), format!("http://127.0.0.1:{http}")] {
        for tunnel in [&[][..], &["-p"]] {
            let answer = curl(&[&["-x", &proxy, url][..], tunnel].concat());
            assert_eq!(answer.body.len(), size, "{proxy} {tunnel:?}: {}", answer.complaint);
        }
    }
}

#[test]
fn the_fast_one_serves_until_it_dies_and_convert_changes_nothing() {
    let origin = Nginx::start(&[("speed", &[b's'; 40_000]), ("page", &[b'p'; 60_000])], "");
    let (speed, page) = (origin.url("speed"), origin.url("page"));
    let (first, second) = (microsocks(None), danted());
    let third = sing_box(|port| {
        json!({
            "inbounds": [{"type": "socks", "listen": "127.0.0.1", "listen_port": port}],
            "outbounds": [{"type": "direct"}],
        })
    });
    // The first of the list is not the fast one: whoever serves the first of the list is found out.
    let wires = [(first.addr, SLOW), (second.addr, FAST), (third.addr, SLOWEST)];
    let wires = wires.map(|(addr, rate)| Throttle::start(addr, rate));
    let (socks, http) = (free_port(), free_port());
    let config = config(socks, http, [wires[0].port(), wires[1].port(), wires[2].port()], &speed);
    let carried = || wires.each_ref().map(Throttle::carried);

    let engine = Engine::json(&config, &[socks, http]);
    engine.process.wait_to_say("serving proxy-b");
    let before = carried();
    fetch(socks, http, &page, 60_000);
    let now = carried();
    assert!(now[1] - before[1] >= 4 * 60_000, "{before:?} {now:?}\n{}", engine.output());

    wires[1].cut();
    engine.process.wait_to_say("serving proxy-a");
    let before = carried();
    fetch(socks, http, &page, 60_000);
    let now = carried();
    assert!(now[0] - before[0] >= 4 * 60_000, "{before:?} {now:?}\n{}", engine.output());
    let folder = engine.process.folder.path().to_owned();
    let converted = run_once_in(&folder, &["convert", "config.json"], b"");
    let toml = String::from_utf8(converted.stdout).expect("TOML is UTF-8");
    let (status, said) = engine.stop();
    assert_eq!(status.code(), Some(0), "{said}");
    for member in ["proxy-a", "proxy-b", "proxy-c"] {
        assert!(said.contains(&format!("member {member} bytes=")), "{said}");
    }

    let engine = Engine::toml(&toml, &[socks, http]);
    engine.process.wait_to_say("serving proxy-a");
    let before = carried();
    fetch(socks, http, &page, 60_000);
    let now = carried();
    assert!(now[0] - before[0] >= 4 * 60_000, "{before:?} {now:?}\n{}", engine.output());
}
