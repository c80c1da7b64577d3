//! Another config while flows run: what is the same in both does not notice, and nothing is done by halves.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::support::{
    Exit, House, PATIENCE, Who, association, echo, eventually, exit_of, free_port, line, serve_each, tunnel, tunnel_as,
    wrapped,
};

/// Two doors, the outbound `first` as the default, and whatever else is said.
fn config(outbounds: Value, extra: Value) -> Value {
    let mut config = json!({
        "inbounds": [
            { "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": true } },
            { "tag": "web", "protocol": "http", "listen": "127.0.0.1" }
        ],
        "outbounds": outbounds
    });
    if let (Some(config), Some(extra)) = (config.as_object_mut(), extra.as_object()) {
        config.extend(extra.clone());
    }
    config
}

fn direct(tag: &str) -> Value {
    json!({ "tag": tag, "protocol": "freedom" })
}

/// How long flows of parts that go may go on.
fn drain(seconds: u64) -> Value {
    json!({ "policy": { "drain": seconds } })
}

/// An echo through a tunnel.
async fn echoes(stream: &mut TcpStream) -> bool {
    let once = async {
        stream.write_all(b"x").await.ok()?;
        stream.read_u8().await.ok().filter(|byte| *byte == b'x')
    };
    timeout(PATIENCE, once).await.ok().flatten().is_some()
}

/// Waits for the end of a stream, and says how long it took.
async fn ends(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let end = timeout(PATIENCE, stream.read(&mut [0; 1])).await.expect("the flow ends");
    assert_eq!(end.unwrap_or(0), 0);
    begun.elapsed()
}

/// Bytes that are sent as fast as they are taken until `all` of them have gone.
async fn source(all: usize) -> SocketAddr {
    serve_each(move |mut stream| async move {
        let chunk: Vec<u8> = (0..=255).cycle().take(16 << 10).collect();
        let mut sent = 0;
        while sent < all && stream.write_all(&chunk).await.is_ok() {
            sent += chunk.len();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

/// Everything else changes at each of them: rules, other outbounds, other inbounds, balancers, limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_through_an_unchanged_outbound_survives_a_hundred_reloads() {
    const ALL: usize = 8 << 20;
    let step = |n: usize| {
        let mut config = config(
            json!([direct("kept"), { "tag": "other", "protocol": "freedom", "settings": { "redirect": format!("127.0.0.1:{}", n + 1) } }]),
            json!({
                "policy": { "drain": 0, "levels": { "0": { "connIdle": 300 + n } } },
                "routing": {
                    "balancers": [{ "tag": "pool", "selector": ["kept", "other"], "strategy": { "type": "roundRobin" } }],
                    "rules": [{ "port": n + 1, "outboundTag": "other" }]
                }
            }),
        );
        let door = json!({ "tag": format!("extra-{n}"), "protocol": "http", "listen": "127.0.0.1" });
        config["inbounds"].as_array_mut().unwrap().insert(n % 3, door);
        if n.is_multiple_of(2) {
            config["outbounds"].as_array_mut().unwrap().push(json!({ "tag": "more", "protocol": "blackhole" }));
        }
        config
    };
    let house = House::start(&step(0));
    let target = source(ALL).await.to_string();
    let mut stream = tunnel(house.at("in"), &target).await;
    let download = tokio::spawn(async move {
        let mut all = vec![];
        stream.read_to_end(&mut all).await.unwrap();
        all
    });
    let begun = Instant::now();
    for n in 1..=100 {
        let applied = house.apply(&step(n)).await.unwrap().to_string();
        assert!(applied.contains(&format!("inbounds +extra-{n} -extra-{}", n - 1)), "{applied}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = begun.elapsed() / 100;
    assert!(!download.is_finished(), "the download was to run through all of them: {took:?} each");
    let all = timeout(Duration::from_secs(60), download).await.unwrap().unwrap();
    assert_eq!(all.len(), ALL);
    assert!(all.iter().zip((0..=255).cycle().take(16 << 10).collect::<Vec<u8>>().iter().cycle()).all(|(a, b)| a == b));
    house.stop().await;
}

#[tokio::test]
async fn an_equal_config_changes_nothing() {
    let house = House::start(&config(json!([direct("a")]), json!({})));
    let mut stream = tunnel(house.at("in"), &echo().await.to_string()).await;
    let applied = house.apply(&config(json!([direct("a")]), json!({}))).await.unwrap();
    assert!(applied.is_nothing());
    assert_eq!(applied.to_string(), "no changes");
    assert!(echoes(&mut stream).await);
    house.stop().await;
}

/// A changed outbound, a removed one, a changed inbound and a removed one; `drain` says how long their flows go on.
#[tokio::test]
async fn flows_of_changed_parts_end_when_they_have_drained() {
    for seconds in [0, 1] {
        let outbound = |target: SocketAddr| json!({ "tag": "changed", "protocol": "freedom", "settings": { "redirect": target.to_string() } });
        let (echo, other) = (echo().await, echo().await);
        let rules = |gone: bool| {
            let to = |inbound: &str, tag: &str| json!({ "inboundTag": [inbound], "outboundTag": tag });
            let mut rules = vec![to("in", "kept"), to("one", "changed"), to("three", "kept"), to("four", "kept")];
            if gone {
                rules.push(to("two", "removed"));
            }
            json!({ "routing": { "rules": rules }, "policy": { "drain": seconds } })
        };
        let door = |tag: &str, udp: bool| json!({ "tag": tag, "protocol": "socks", "listen": "127.0.0.1", "settings": { "udp": udp } });
        let mut old = config(json!([direct("kept"), outbound(echo), direct("removed")]), rules(true));
        old["inbounds"] =
            json!([door("in", true), door("one", true), door("two", true), door("three", true), door("four", true)]);
        let mut new = config(json!([outbound(other), direct("kept")]), rules(false));
        // The third inbound has other settings, the fourth is gone.
        new["inbounds"] = json!([door("two", true), door("in", true), door("three", false), door("one", true)]);
        let house = House::start(&old);
        let mut streams = vec![];
        for tag in ["in", "one", "two", "three", "four"] {
            let mut stream = tunnel(house.at(tag), &echo.to_string()).await;
            assert!(echoes(&mut stream).await);
            streams.push(stream);
        }
        let begun = Instant::now();
        let applied = house.apply(&new).await.unwrap().to_string();
        assert_eq!(
            applied,
            "inbounds ~three -four, outbounds ~changed -removed, routes changed, default route changed"
        );
        if seconds > 0 {
            for stream in &mut streams {
                assert!(echoes(stream).await, "flows go on while they drain");
            }
        }
        assert!(TcpStream::connect(house.at("four")).await.is_err(), "a removed inbound receives nobody, at once");
        let mut changed = tunnel(house.at("one"), "x.example:1").await;
        assert!(echoes(&mut changed).await, "new flows go by the new outbound");
        for stream in &mut streams[1..] {
            ends(stream).await;
        }
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(seconds) && took < Duration::from_secs(seconds + 5), "{took:?}");
        assert!(echoes(&mut streams[0]).await, "nothing of the first flow has changed");
        assert!(echoes(&mut changed).await);
        house.stop().await;
    }
}

#[tokio::test]
async fn a_flow_ends_with_the_outbound_behind_its_own() {
    let echo = echo().await.to_string();
    let far = |target: &str| json!({ "tag": "far", "protocol": "freedom", "settings": { "redirect": target } });
    let near = json!({ "tag": "near", "protocol": "freedom", "proxySettings": { "tag": "far" } });
    let step = |target: &str| config(json!([near, far(target), direct("else")]), drain(0));
    let house = House::start(&step(&echo));
    let mut stream = tunnel(house.at("in"), "x.example:1").await;
    assert!(echoes(&mut stream).await);
    let again = crate::support::echo().await.to_string();
    assert_eq!(house.apply(&step(&again)).await.unwrap().to_string(), "outbounds ~far");
    ends(&mut stream).await;
    let mut stream = tunnel(house.at("in"), "x.example:1").await;
    assert!(echoes(&mut stream).await);
    // Only the place of the one behind changes: flows stay, and new ones find it.
    let moved = config(json!([near, direct("else"), far(&again)]), drain(0));
    assert_eq!(house.apply(&moved).await.unwrap().to_string(), "outbounds in another order");
    assert!(echoes(&mut stream).await);
    assert!(echoes(&mut tunnel(house.at("in"), "x.example:1").await).await);
    house.stop().await;
}

/// Sockets change hands, so nobody who comes in between is turned away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_inbound_at_the_same_place_turns_nobody_away() {
    let door = |n: u32| {
        let mut config = config(json!([direct("a")]), drain(0));
        config["inbounds"][0]["settings"]["userLevel"] = n.into();
        config
    };
    let house = House::start(&door(0));
    let at = house.at("in");
    let echo = echo().await.to_string();
    let stop = tokio_util::sync::CancellationToken::new();
    let (stopped, target) = (stop.clone(), echo.clone());
    let clients = tokio::spawn(async move {
        let mut came = 0;
        while !stopped.is_cancelled() {
            let mut stream = tokio::net::TcpSocket::new_v4().unwrap().connect(at).await.expect("somebody receives");
            // Whoever was with the former host may be sent away by drain 0; whoever connects is always greeted.
            let greeted = async {
                stream.write_all(&[5, 1, 0]).await.ok()?;
                stream.read_u16().await.ok()
            };
            assert_eq!(timeout(PATIENCE, greeted).await.unwrap(), Some(0x0500), "{target}");
            came += 1;
        }
        came
    });
    for n in 1..=50 {
        assert_eq!(house.apply(&door(n)).await.unwrap().to_string(), "inbounds ~in");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stop.cancel();
    assert!(clients.await.unwrap() > 50);
    assert_eq!(house.now_at("in").await, Some(at));
    house.stop().await;
}

#[tokio::test]
async fn a_door_that_moves_closes_behind_its_flows() {
    let ports = [free_port(), free_port()];
    let there = |port: u16| {
        let mut config = config(json!([direct("a")]), drain(30));
        config["inbounds"] = json!([{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "port": port }]);
        config
    };
    let house = House::start_there(&there(ports[0]));
    let mut stream = tunnel(house.at("in"), &echo().await.to_string()).await;
    assert_eq!(house.apply_there(&there(ports[1])).await.unwrap().to_string(), "inbounds ~in");
    let old = SocketAddr::from(([127, 0, 0, 1], ports[0]));
    assert!(eventually(|| std::net::TcpStream::connect(old).is_err()).await, "the old door is closed");
    assert!(echoes(&mut stream).await, "who is inside stays");
    let mut new = tunnel(SocketAddr::from(([127, 0, 0, 1], ports[1])), &echo().await.to_string()).await;
    assert!(echoes(&mut new).await);
    house.stop().await;
}

#[tokio::test]
async fn a_door_that_cannot_be_opened_leaves_all_as_it_was() {
    let (free, taken) = (free_port(), free_port());
    let holder = std::net::TcpListener::bind(("127.0.0.1", taken)).unwrap();
    let there = |ports: &[u16]| {
        let mut config = config(
            json!([{ "tag": "a", "protocol": if ports.len() > 1 { "blackhole" } else { "freedom" } }]),
            drain(0),
        );
        let door = |port: &u16| json!({ "tag": format!("in-{port}"), "protocol": "socks", "listen": "127.0.0.1", "port": port });
        config["inbounds"] = ports.iter().map(door).collect();
        config
    };
    let house = House::start_there(&there(&[free]));
    let at = SocketAddr::from(([127, 0, 0, 1], free));
    let echo = echo().await.to_string();
    let mut stream = tunnel(at, &echo).await;
    let more = free_port();
    let error = house.apply_there(&there(&[free, more, taken])).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("inbound in-{taken}: cannot listen on tcp 127.0.0.1:{taken}: ")), "{error}");
    assert!(echoes(&mut stream).await && echoes(&mut tunnel(at, &echo).await).await);
    assert!(std::net::TcpStream::connect(("127.0.0.1", more)).is_err(), "what was opened is closed again");
    drop(holder);
    house.apply_there(&there(&[free, more, taken])).await.unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", taken)).is_ok());
    ends(&mut stream).await;
    house.stop().await;
}

#[tokio::test]
async fn a_change_of_users_ends_no_flow_and_counts_at_once() {
    let with = |name: &str| {
        let mut config = config(json!([direct("a")]), drain(0));
        let accounts = json!([{ "user": name, "pass": "p" }]);
        config["inbounds"][0]["settings"] = json!({ "auth": "password", "accounts": accounts });
        config["inbounds"][1]["settings"] = json!({ "accounts": accounts });
        config
    };
    let house = House::start(&with("old"));
    let echo = echo().await.to_string();
    let login = |name| Who { login: Some((name, "p")), ..Who::default() };
    let mut stream = tunnel_as(house.at("in"), &echo, login("old")).await;
    let applied = house.apply(&with("new")).await.unwrap().to_string();
    assert_eq!(applied, "inbounds ~in (users) ~web (users)");
    assert!(echoes(&mut stream).await);
    assert!(echoes(&mut tunnel_as(house.at("in"), &echo, login("new")).await).await);
    // base64 of old:p and new:p
    for (login, status) in [("b2xkOnA=", "407"), ("bmV3OnA=", "200")] {
        let mut web = TcpStream::connect(house.at("web")).await.unwrap();
        let ask = format!("CONNECT {echo} HTTP/1.1\r\nHost: {echo}\r\nProxy-Authorization: Basic {login}\r\n\r\n");
        web.write_all(ask.as_bytes()).await.unwrap();
        assert!(line(&mut web).await.starts_with(&format!("HTTP/1.1 {status}")), "{login}");
    }
    house.stop().await;
}

#[tokio::test]
async fn new_limits_count_for_new_flows_and_end_none() {
    let limited = |seconds: u64| {
        config(json!([direct("a")]), json!({ "policy": { "drain": 0, "levels": { "0": { "connIdle": seconds } } } }))
    };
    let house = House::start(&limited(300));
    let echo = echo().await.to_string();
    let mut old = tunnel(house.at("in"), &echo).await;
    assert_eq!(house.apply(&limited(1)).await.unwrap().to_string(), "policy changed");
    let mut new = tunnel(house.at("in"), &echo).await;
    assert!(echoes(&mut new).await);
    ends(&mut new).await;
    assert!(echoes(&mut old).await);
    house.stop().await;
}

#[tokio::test]
async fn a_rotation_goes_on_where_it_was() {
    let exits = [Exit::start("a").await, Exit::start("b").await, Exit::start("c").await, Exit::start("d").await];
    let group = |tags: &[(usize, &str)], port: u16| {
        let outbounds: Vec<Value> = tags.iter().map(|(at, tag)| exits[*at].outbound(tag)).collect();
        let pool = json!({ "tag": "pool", "selector": ["m-"], "strategy": { "type": "roundRobin" } });
        let rules = json!([{ "port": port, "outboundTag": "m-a" }, { "network": "tcp", "balancerTag": "pool" }]);
        config(outbounds.into(), json!({ "routing": { "balancers": [pool], "rules": rules } }))
    };
    let three = [(0, "m-a"), (1, "m-b"), (2, "m-c")];
    let house = House::start(&group(&three, 1));
    let next = || exit_of(house.at("in"), "x.example:80");
    assert_eq!(next().await, "a");
    // Rules change, the balancer is the same object.
    assert_eq!(house.apply(&group(&three, 2)).await.unwrap().to_string(), "routes changed");
    assert_eq!(next().await, "b");
    assert!(std::sync::Arc::ptr_eq(&house.balancers[0], &house.engine.balancers()[0]));
    // A member is added in front: all places shift, the turn does not.
    let four = [(3, "m-0"), (0, "m-a"), (1, "m-b"), (2, "m-c")];
    let applied = house.apply(&group(&four, 2)).await.unwrap().to_string();
    assert_eq!(applied, "outbounds +m-0, balancers ~pool (members +m-0), default route m-0");
    assert_eq!(next().await + &next().await + &next().await, "cda");
    house.stop().await;
}

/// One datagram with its header, and from whom.
async fn heard(socket: &UdpSocket) -> Vec<u8> {
    let mut room = [0; 2048];
    let len = timeout(PATIENCE, socket.recv(&mut room)).await.expect("it comes").unwrap();
    room[..len].to_vec()
}

async fn udp_echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut room = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut room).await {
            let _ = socket.send_to(&[&room[..len], from.to_string().as_bytes()].concat(), from).await;
        }
    });
    at
}

/// The sockets of an association that nothing changes for stay, so what answers there goes on; new targets go by new rules,
/// and a link of a part that is gone is replaced.
#[tokio::test]
async fn an_association_keeps_the_ways_that_go_on() {
    let (one, two) = (udp_echo().await, udp_echo().await);
    let step = |outbounds: Value, block: u16| {
        let rules = json!([
            { "network": "udp", "port": block, "outboundTag": "block" },
            { "network": "udp", "port": two.port(), "outboundTag": "second" }
        ]);
        config(outbounds, json!({ "routing": { "rules": rules }, "policy": { "drain": 0 } }))
    };
    let block = json!({ "tag": "block", "protocol": "blackhole" });
    let house = House::start(&step(json!([direct("first"), direct("second"), block]), 9));
    let (_control, relay) = association(house.at("in")).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let ask = async |to: SocketAddr| {
        client.send_to(&wrapped(to, b"from "), relay).await.unwrap();
        String::from_utf8(heard(&client).await.split_off(10)).unwrap()
    };
    let (by_first, by_second) = (ask(one).await, ask(two).await);
    // Places change, the second outbound is another.
    let second = json!({ "tag": "second", "protocol": "freedom", "settings": { "redirect": two.to_string() } });
    let next = step(json!([block, second, direct("more"), direct("first")]), one.port());
    house.apply(&next).await.unwrap();
    assert_eq!(ask(one).await, by_first, "the first way goes on, though a new target would not take it");
    assert_ne!(ask(two).await, by_second, "the second is opened anew");
    house.stop().await;
}

/// A door for datagrams: clients that are inside stay with a changed door while they drain, and never lose the socket.
#[tokio::test]
async fn datagrams_of_a_door_drain_too() {
    let (one, two) = (udp_echo().await, udp_echo().await);
    let port = free_port();
    let door = |to: SocketAddr, seconds: u64, port: u16| {
        let mut config = config(json!([direct("a")]), drain(seconds));
        let settings = json!({ "address": "127.0.0.1", "port": to.port(), "network": "udp" });
        let door = json!({ "tag": "door", "protocol": "dokodemo-door", "listen": "127.0.0.1", "port": port, "settings": settings });
        config["inbounds"] = json!([door, { "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "port": 0 }]);
        config["inbounds"].as_array_mut().unwrap().truncate(1);
        config
    };
    let house = House::start_there(&door(one, 30, port));
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let ask = async |client: &UdpSocket| {
        client.send_to(b"from ", ("127.0.0.1", port)).await.unwrap();
        String::from_utf8(heard(client).await).unwrap()
    };
    let first = ask(&client).await;
    house.apply_there(&door(two, 30, port)).await.unwrap();
    assert_eq!(ask(&client).await, first, "who is inside stays with what it came to");
    let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    assert_ne!(ask(&other).await, first);
    // The door moves: no new client, those inside go on; then it comes back.
    let away = free_port();
    house.apply_there(&door(two, 30, away)).await.unwrap();
    assert_eq!(ask(&client).await, first);
    house.apply_there(&door(one, 0, port)).await.unwrap();
    // What is on its way to the socket that drained is lost with it, as datagrams may be.
    let mut back = [0; 2048];
    let asking = async {
        loop {
            client.send_to(b"from ", ("127.0.0.1", port)).await.unwrap();
            if let Ok(Ok(len)) = timeout(Duration::from_millis(100), client.recv(&mut back)).await {
                break len;
            }
        }
    };
    let len = timeout(PATIENCE, asking).await.expect("the new socket is the only one there");
    assert_ne!(String::from_utf8_lossy(&back[..len]), first);
    house.stop().await;
}

/// A file that is changed under a running program.
struct Run {
    engine: crate::support::Engine,
    file: std::path::PathBuf,
    at: SocketAddr,
}

impl Run {
    fn start(args: &[&str], name: &str, text: &dyn Fn(u16) -> String) -> Self {
        let port = free_port();
        let engine = crate::support::Engine::started_by(args, &[(name, &text(port))], b"", &[port]);
        let file = engine.process.folder.path().join(name);
        Self { engine, file, at: ([127, 0, 0, 1], port).into() }
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.file, text).unwrap();
    }

    fn hangup(&self) {
        self.engine.process.signal(rustix::process::Signal::HUP);
    }

    fn says(&self, text: &str) {
        self.engine.process.wait_to_say(text);
    }

    fn port(&self) -> u16 {
        self.at.port()
    }
}

fn json_to(exit: &Exit) -> impl Fn(u16) -> String + use<> {
    let outbound = exit.outbound("a");
    move |port| {
        json!({
            "log": { "loglevel": "info" },
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1", "port": port }],
            "outbounds": [outbound]
        })
        .to_string()
    }
}

fn toml_to(exit: &Exit) -> impl Fn(u16) -> String + use<> {
    let to = exit.at.port();
    move |port| {
        format!(
            "[[inbound]]\ntag = \"in\"\nprotocol = \"socks\"\nlisten = \"127.0.0.1\"\nport = {port}\n\n\
             [[outbound]]\ntag = \"a\"\nprotocol = \"socks\"\nserver = \"127.0.0.1\"\nport = {to}\n"
        )
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_takes_over_a_good_file_and_a_broken_one_changes_nothing() {
    let (a, b) = (Exit::start("A").await, Exit::start("B").await);
    let (old, new) = (json_to(&a), json_to(&b));
    let run = Run::start(&["run", "-c", "config.json"], "config.json", &old);
    let mut stream = tunnel(run.at, "x.example:80").await;
    assert_eq!(line(&mut stream).await, "A");
    let good = old(run.port());
    for (n, broken) in [&good[..good.len() / 2], "", &good.replacen("socks", "sokcs", 1)].into_iter().enumerate() {
        run.write(broken);
        run.hangup();
        let told =
            || run.engine.output().matches("reload: parse failed, keeping current config: config.json:1:").count();
        assert!(eventually(|| told() == n + 1).await, "{}", run.engine.output());
        assert_eq!(exit_of(run.at, "x.example:80").await, "A");
        stream.write_all(b"x").await.unwrap();
    }
    run.write(&good);
    run.hangup();
    run.says("config reload: no changes");
    run.write(&new(run.port()));
    run.hangup();
    run.says("config reload: outbounds ~a");
    assert_eq!(exit_of(run.at, "x.example:80").await, "B");
    stream.write_all(b"x").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_toml_file_is_watched_and_a_json_file_is_not() {
    let (a, b) = (Exit::start("A").await, Exit::start("B").await);
    let run = Run::start(&["run", "-c", "config.toml"], "config.toml", &toml_to(&a));
    let text = toml_to(&a)(run.port());
    // Up to the middle of a word, as an editor may leave it for a moment.
    run.write(&text[..text.rfind('"').unwrap()]);
    run.says("reload: parse failed, keeping current config: config.toml:");
    assert_eq!(exit_of(run.at, "x.example:80").await, "A");
    let begun = Instant::now();
    run.write(&toml_to(&b)(run.port()));
    run.says("config reload: outbounds ~a");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(exit_of(run.at, "x.example:80").await, "B");
    // A reference to nothing is read and cannot be built.
    run.write(&format!("{}[route]\ndefault = \"none\"\n", toml_to(&b)(run.port())));
    run.says("reload: build failed, keeping current config: config.toml:");

    let json = Run::start(&["run", "-c", "config.json"], "config.json", &json_to(&a));
    let watched = Run::start(&["run", "--watch", "-c", "config.json"], "config.json", &json_to(&a));
    for run in [&json, &watched] {
        run.write(&json_to(&b)(run.port()));
    }
    watched.says("config reload: outbounds ~a");
    assert_eq!(exit_of(json.at, "x.example:80").await, "A", "nobody asked this one");
    json.hangup();
    json.says("config reload: outbounds ~a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_says_whether_it_is_watched_and_a_flag_wins() {
    let (a, b) = (Exit::start("A").await, Exit::start("B").await);
    let said = |exit: &Exit, watch: bool| {
        let text = json_to(exit);
        move |port| {
            let mut config: Value = serde_json::from_str(&text(port)).unwrap();
            config["reload"] = json!({ "watch": watch });
            config.to_string()
        }
    };
    let unwatched = |exit: &Exit| {
        let text = toml_to(exit);
        move |port| format!("{}[reload]\nwatch = false\n[log]\nlevel = \"info\"\n", text(port))
    };
    let json = "config.json";
    let quiet = [
        Run::start(&["run", "--no-watch", "-c", json], json, &said(&a, true)),
        Run::start(&["run", "-c", json], json, &said(&a, false)),
    ];
    let toml = Run::start(&["run", "-c", "config.toml"], "config.toml", &unwatched(&a));
    let watched = [
        Run::start(&["run", "-c", json], json, &said(&a, true)),
        Run::start(&["run", "--watch", "-c", json], json, &said(&a, false)),
    ];
    quiet[0].write(&said(&b, true)(quiet[0].port()));
    quiet[1].write(&said(&b, false)(quiet[1].port()));
    toml.write(&unwatched(&b)(toml.port()));
    watched[0].write(&said(&b, true)(watched[0].port()));
    watched[1].write(&said(&b, false)(watched[1].port()));
    for run in &watched {
        run.says("config reload: outbounds ~a");
    }
    for run in quiet.iter().chain([&toml]) {
        assert_eq!(exit_of(run.at, "x.example:80").await, "A", "nobody asked this one");
    }
    // The key itself counts from the next start.
    quiet[1].write(&said(&b, true)(quiet[1].port()));
    quiet[1].hangup();
    quiet[1].says("config reload: reload counts from the next start");
}
