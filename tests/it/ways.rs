//! SOCKS both ways and the direct way, among curl, microsocks, dante, sing-box and nginx.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Engine, Nginx, Peer, Throttle, curl, danted, free_port, microsocks, program, sing_box, until};

/// An engine with one inbound and these outbounds; the first is the way.
fn engine(inbound: Value, outbounds: Value) -> (Engine, u16) {
    let port = free_port();
    let mut inbound = inbound;
    inbound["port"] = port.into();
    if inbound["listen"].is_null() {
        inbound["listen"] = "127.0.0.1".into();
    }
    let hosts = json!({"origin.example": "127.0.0.1", "six.example": "::1"});
    let config =
        json!({"log": {"loglevel": "debug"}, "dns": {"hosts": hosts}, "inbounds": [inbound], "outbounds": outbounds});
    (Engine::json(&config, &[port]), port)
}

fn socks_to(server: SocketAddr, user: Value) -> Value {
    let users = if user.is_null() { json!([]) } else { json!([user]) };
    json!({"protocol": "socks", "settings": {"servers": [
        {"address": server.ip().to_string(), "port": server.port(), "users": users}
    ]}})
}

/// sing-box, which takes SOCKS and HTTP from one user.
fn sing_box_mixed() -> Peer {
    sing_box(|port| {
        json!({
            "inbounds": [{"type": "mixed", "listen": "127.0.0.1", "listen_port": port,
                "users": [{"username": "u", "password": "p"}]}],
            "outbounds": [{"type": "direct"}],
        })
    })
}

#[test]
fn every_socks_that_curl_speaks() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let (_open, port) = engine(
        json!({"protocol": "socks"}),
        json!([{"protocol": "freedom",
        "settings": {"domainStrategy": "UseIP"}}]),
    );
    let by_name = format!("http://origin.example:{}/x", origin.peer.port());
    for scheme in ["socks4", "socks4a", "socks5", "socks5h"] {
        let proxy = format!("{scheme}://127.0.0.1:{port}");
        assert_eq!(curl(&["-x", &proxy, &origin.url("x")]).text(), "through", "{scheme}");
        if scheme.ends_with(['a', 'h']) {
            assert_eq!(curl(&["-x", &proxy, &by_name]).text(), "through", "{scheme}, by a name that only we know");
        }
    }
    let (_closed, port) = engine(
        json!({"protocol": "socks", "settings": {"auth": "password", "accounts": [{"user": "u", "pass": "p"}]}}),
        json!([{"protocol": "freedom"}]),
    );
    for (proxy, works) in [
        ("socks5://u:p@", true),
        ("socks5h://u:p@", true),
        ("socks5://u:wrong@", false),
        ("socks5://other:p@", false),
        ("socks5://", false),
        ("socks4://u@", false),
        ("socks4a://u@", false),
    ] {
        let answer = curl(&["-x", &format!("{proxy}127.0.0.1:{port}"), &origin.url("x")]);
        assert_eq!(answer.ok && answer.text() == "through", works, "{proxy}: {}", answer.complaint);
    }
}

#[test]
fn our_socks_outbound_at_every_server_with_right_and_wrong_login() {
    let origin = Nginx::start(&[("x", b"through")], "");
    let user = |password: &str| json!({"user": "u", "pass": password});
    let (open, closed, dante, singbox) = (microsocks(None), microsocks(Some(("u", "p"))), danted(), sing_box_mixed());
    for (peer, login, works) in [
        (&open, json!(null), true),
        // Whoever configured a login wants to be known by it, so an open server is refused, as Xray does.
        (&open, user("p"), false),
        (&closed, user("p"), true),
        (&closed, user("wrong"), false),
        (&closed, json!(null), false),
        (&dante, json!(null), true),
        (&singbox, user("p"), true),
        (&singbox, user("wrong"), false),
        (&singbox, json!(null), false),
    ] {
        let (engine, port) = engine(json!({"protocol": "http"}), json!([socks_to(peer.addr, login.clone())]));
        let answer = curl(&["-x", &format!("http://127.0.0.1:{port}"), "-p", &origin.url("x")]);
        assert_eq!(answer.text() == "through", works, "{login}: {}\n{}", answer.complaint, engine.output());
    }
}

/// Sends every datagram back to whoever sent it.
fn udp_echo(ip: IpAddr) -> SocketAddr {
    let socket = UdpSocket::bind((ip, 0)).expect("a free port");
    let at = socket.local_addr().expect("it is bound");
    thread::spawn(move || {
        let mut room = [0; 65535];
        while let Ok((len, from)) = socket.recv_from(&mut room) {
            let _ = socket.send_to(&room[..len], from);
        }
    });
    at
}

/// A client that is not ours: whatever its port is sent it wraps for the SOCKS server at `socks`, meant for `target`.
fn udp_client(socks: SocketAddr, target: SocketAddr) -> Peer {
    sing_box(|port| {
        json!({
            "inbounds": [{"type": "direct", "listen": "127.0.0.1", "listen_port": port,
                "override_address": target.ip().to_string(), "override_port": target.port()}],
            "outbounds": [{"type": "socks", "server": socks.ip().to_string(), "server_port": socks.port()}],
        })
    })
}

/// Datagrams of many sizes come back as they went. The first of an association may be lost, as any datagram may.
fn datagrams_return(at: SocketAddr, what: &str) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket.connect(at).expect("loopback is there");
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout that is not zero");
    for size in [1, 64, 1200, 8000] {
        let payload: Vec<u8> = (0..size).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let back = until(Duration::from_secs(10), || {
            socket.send(&payload).ok()?;
            let mut room = [0; 65535];
            let len = socket.recv(&mut room).ok()?;
            (room[..len] == payload).then_some(())
        });
        assert!(back.is_some(), "{what}: {size} bytes do not come back");
    }
}

#[test]
fn datagrams_of_a_foreign_client_through_foreign_servers() {
    let echo = udp_echo(Ipv4Addr::LOCALHOST.into());
    let (dante, singbox) = (danted(), sing_box_mixed());
    let ways = [
        ("direct", json!({"protocol": "freedom"})),
        ("dante", socks_to(dante.addr, json!(null))),
        ("sing-box", socks_to(singbox.addr, json!({"user": "u", "pass": "p"}))),
    ];
    for (name, outbound) in ways {
        let (engine, port) = engine(json!({"protocol": "socks", "settings": {"udp": true}}), json!([outbound]));
        let client = udp_client(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), echo);
        datagrams_return(client.addr, &format!("{name}\n{}", engine.output()));
    }
    // Without a client in between: the door wraps nothing.
    let settings = json!({"address": "127.0.0.1", "port": echo.port(), "network": "tcp,udp"});
    let (_engine, port) =
        engine(json!({"protocol": "dokodemo-door", "settings": settings}), json!([socks_to(dante.addr, json!(null))]));
    datagrams_return(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), "door");
}

#[test]
fn the_newer_address_family_everywhere() {
    let port = free_port();
    let _origin = Nginx::start(&[("x", b"through")], &format!("listen [::1]:{port} ipv6only=on;"));
    let echo = udp_echo(Ipv6Addr::LOCALHOST.into());
    let inbound = json!({"protocol": "mixed", "listen": "::", "settings": {"udp": true}});
    let (engine, at) = engine(inbound, json!([{"protocol": "freedom", "settings": {"domainStrategy": "UseIP"}}]));
    for proxy in ["http", "socks5h", "socks5"] {
        for listener in ["[::1]", "127.0.0.1"] {
            let proxy = format!("{proxy}://{listener}:{at}");
            let url = format!("http://[::1]:{port}/x");
            assert_eq!(curl(&["-x", &proxy, &url]).text(), "through", "{proxy}\n{}", engine.output());
            assert_eq!(curl(&["-x", &proxy, "-p", &url]).text(), "through", "{proxy} -p\n{}", engine.output());
        }
    }
    let by_name = format!("http://six.example:{port}/x");
    assert_eq!(curl(&["-x", &format!("socks5h://[::1]:{at}"), &by_name]).text(), "through");
    for socks in [IpAddr::from(Ipv6Addr::LOCALHOST), Ipv4Addr::LOCALHOST.into()] {
        datagrams_return(udp_client((socks, at).into(), echo).addr, &format!("{socks}"));
    }
}

/// A file of many different blocks.
fn large_file(path: &Path, megabytes: u32) {
    let mut file = std::fs::File::create(path).expect("the folder is ours");
    let mut block: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for number in 0..megabytes {
        block[..4].copy_from_slice(&number.to_be_bytes());
        file.write_all(&block).expect("there is room");
    }
}

fn same(a: &Path, b: &Path) -> bool {
    Command::new(program("cmp")).arg(a).arg(b).status().expect("cmp runs").success()
}

#[test]
fn three_hundred_megabytes_each_way_arrive_whole() {
    let origin = Nginx::start(&[], "client_max_body_size 0; dav_methods PUT; create_full_put_path on;");
    let root = origin.peer.process.folder.path().join("root");
    std::fs::create_dir_all(&root).expect("the folder is ours");
    large_file(&root.join("large"), 300);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let got = folder.path().join("got");
    let upstream = microsocks(None);
    let (_engine, port) = engine(json!({"protocol": "mixed"}), json!([socks_to(upstream.addr, json!(null))]));
    let proxy = format!("socks5h://127.0.0.1:{port}");
    let answer = curl(&["-m", "100", "-x", &proxy, "-o", &got.to_string_lossy(), &origin.url("large")]);
    assert!(answer.ok, "{}", answer.complaint);
    assert!(same(&got, &root.join("large")), "what came is not what was sent");
    // The way back up is a plain request, whose body is copied and not spliced.
    let proxy = format!("http://127.0.0.1:{port}");
    let answer = curl(&["-m", "100", "-x", &proxy, "-T", &got.to_string_lossy(), "-H", "Expect:", &origin.url("up")]);
    assert!(answer.ok, "{}", answer.complaint);
    assert!(same(&got, &root.join("up")), "what went is not what arrived");
}

#[test]
fn two_hundred_flows_at_a_time() {
    let origin = Nginx::start(&[("x", &[b'x'; 3000])], "");
    let upstream = microsocks(None);
    let (engine, port) = engine(json!({"protocol": "mixed"}), json!([socks_to(upstream.addr, json!(null))]));
    for proxy in ["socks5h", "http"] {
        let url = origin.url("x?[1-200]");
        let answer = curl(&["-x", &format!("{proxy}://127.0.0.1:{port}"), "-p", "-Z", "--parallel-max", "200", &url]);
        assert_eq!(answer.body.len(), 200 * 3000, "{proxy}: {}\n{}", answer.complaint, engine.output());
    }
}

#[test]
fn a_server_that_dies_in_the_middle_ends_the_flow_at_once() {
    let origin = Nginx::start(&[("x", &[b'x'; 2_000_000])], "");
    let mut upstream = microsocks(None);
    let slow = Throttle::start(origin.peer.addr, 400_000);
    let (engine, port) = engine(json!({"protocol": "mixed"}), json!([socks_to(upstream.addr, json!(null))]));
    let url = format!("http://{}/x", slow.addr);
    let proxy = format!("http://127.0.0.1:{port}");
    let fetches: Vec<_> = [&["-p"][..], &[]]
        .map(|tunnel| {
            let args: Vec<String> = ["-x", &proxy, &url].iter().chain(tunnel).map(|arg| (*arg).to_owned()).collect();
            thread::spawn(move || curl(&args.iter().map(String::as_str).collect::<Vec<_>>()))
        })
        .into();
    assert!(until(Duration::from_secs(10), || (slow.carried() > 200_000).then_some(())).is_some());
    upstream.process.kill();
    let begun = Instant::now();
    for fetch in fetches {
        let answer = fetch.join().expect("curl runs");
        assert!(!answer.ok, "a download cut short must not look whole");
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let (status, said) = engine.stop();
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn the_direct_way_redirects_resolves_and_tells_who_comes() {
    let told = free_port();
    let origin = Nginx::start(
        &[("x", b"through")],
        &format!(
            "listen 127.0.0.1:{told} proxy_protocol;\n\
             location = /who {{ return 200 $proxy_protocol_addr:$proxy_protocol_port; }}"
        ),
    );
    let redirect = json!([{"protocol": "freedom", "settings": {"redirect": origin.peer.addr.to_string()}}]);
    let (_engine, port) = engine(json!({"protocol": "socks"}), redirect);
    let proxy = format!("socks5h://127.0.0.1:{port}");
    assert_eq!(curl(&["-x", &proxy, "http://nowhere.invalid:9/x"]).text(), "through");

    for version in [1, 2] {
        let settings = json!({"proxyProtocol": version});
        let (_engine, port) =
            engine(json!({"protocol": "socks"}), json!([{"protocol": "freedom", "settings": settings}]));
        let proxy = format!("socks5h://127.0.0.1:{port}");
        let url = format!("http://127.0.0.1:{told}/who");
        let answer = curl(&["-x", &proxy, "-w", " 127.0.0.1:%{local_port}", &url]).text();
        let (seen, is) = answer.split_once(' ').unwrap_or_default();
        assert!(!seen.is_empty() && seen == is, "version {version}: {answer}");
    }
}

#[test]
fn what_is_blocked_is_told_so_in_http() {
    let settings = json!({"response": {"type": "http"}});
    let (_engine, port) =
        engine(json!({"protocol": "mixed"}), json!([{"protocol": "blackhole", "settings": settings}]));
    for scheme in ["http", "socks5h"] {
        let proxy = format!("{scheme}://127.0.0.1:{port}");
        let code = curl(&["-x", &proxy, "-o", "/dev/null", "-w", "%{http_code}", "http://a.example/"]);
        assert_eq!(code.text(), "403", "{scheme}: {}", code.complaint);
    }
}

#[test]
fn the_seeds_failover_moves_with_the_probes_and_says_so_in_its_words() {
    let origin = Nginx::start(&[("x", &[b'x'; 2000])], "");
    let mut primary = microsocks(None);
    let backup = microsocks(None);
    let wire = Throttle::start(backup.addr, 100_000_000);
    let port = free_port();
    let config = format!(
        "[log]\nlevel = \"info\"\n\
         [[inbound]]\nprotocol = \"socks\"\nlisten = \"127.0.0.1\"\nport = {port}\n\
         [[outbound]]\ntag = \"direct\"\nprotocol = \"freedom\"\n\
         [[outbound]]\ntag = \"primary\"\nprotocol = \"socks\"\nserver = \"127.0.0.1\"\nport = {}\n\
         [[outbound]]\ntag = \"backup\"\nprotocol = \"socks\"\nserver = \"127.0.0.1\"\nport = {}\n\
         [[balancer]]\ntag = \"proxy\"\noutbounds = [\"primary\", \"backup\"]\nprobe_interval = 1\nprobe_timeout = 1\n\
         [route]\ndefault = \"proxy\"\n",
        primary.port(),
        wire.port()
    );
    let engine = Engine::toml(&config, &[port]);
    let proxy = format!("socks5h://127.0.0.1:{port}");
    let fetch = || curl(&["-x", &proxy, &origin.url("x")]).body.len();
    assert_eq!(fetch(), 2000);
    assert_eq!(wire.carried(), 0, "the first of the list serves");
    let place = primary.port();
    primary.process.kill();
    let killed = Instant::now();
    engine.process.wait_to_say("balancer member primary is now down\n");
    assert!(killed.elapsed() < Duration::from_secs(4), "{:?}", killed.elapsed());
    assert_eq!(fetch(), 2000);
    assert!(wire.carried() >= 2000);
    let again = TcpListener::bind((Ipv4Addr::LOCALHOST, place)).expect("its place is free");
    engine.process.wait_to_say("balancer member primary is now up\n");
    drop(again);
    engine.process.wait_to_say("balancer member primary is now down\n");
    let said = engine.output();
    let lines: Vec<_> = said.lines().filter(|line| line.contains("is now")).collect();
    for (line, words) in lines.iter().zip(["primary is now down", "primary is now up"]) {
        assert!(line.ends_with(&format!("balancer member {words}")), "{said}");
    }
}

#[test]
fn several_servers_of_one_outbound_take_turns_and_a_dead_one_is_passed_over() {
    let origin = Nginx::start(&[("x", &[b'x'; 10_000])], "");
    let (mut first, second) = (microsocks(None), microsocks(None));
    let wires = [&first, &second].map(|peer| Throttle::start(peer.addr, 100_000_000));
    let servers = wires.each_ref().map(|wire| json!({"address": "127.0.0.1", "port": wire.port()}));
    let (engine, port) =
        engine(json!({"protocol": "socks"}), json!([{"protocol": "socks", "settings": {"servers": servers}}]));
    let proxy = format!("socks5h://127.0.0.1:{port}");
    for _ in 0..4 {
        assert_eq!(curl(&["-x", &proxy, &origin.url("x")]).body.len(), 10_000);
    }
    let carried = wires.each_ref().map(Throttle::carried);
    assert!(carried.iter().all(|count| (20_000..25_000).contains(count)), "{carried:?}");
    first.process.kill();
    wires[0].cut();
    for _ in 0..4 {
        assert_eq!(curl(&["-x", &proxy, &origin.url("x")]).body.len(), 10_000, "{}", engine.output());
    }
}
