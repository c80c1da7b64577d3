//! Clients' questions, answered by the `dns` outbound: dig asks, dnsmasq knows, and v2ray is given the same to do.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{Engine, Peer, dig, dnsmasq_knowing, free_port, microsocks, program, run_once_in};

/// A server that knows some names below `probe.example`, and that there are no others.
fn names() -> Peer {
    let mut records = vec![
        "--local=/probe.example/".to_owned(),
        "--local-ttl=60".to_owned(),
        "--host-record=www.probe.example,10.0.0.1,2001:db8::1".to_owned(),
        "--host-record=four.probe.example,10.0.0.4".to_owned(),
        "--txt-record=www.probe.example,hello".to_owned(),
        "--mx-host=www.probe.example,mail.probe.example,10".to_owned(),
        "--dns-rr=www.probe.example,65,00010000010003026832".to_owned(),
    ];
    records.extend((1..=60).map(|n| format!("--host-record=many.probe.example,10.0.1.{n}")));
    dnsmasq_knowing(&records)
}

/// A door whose questions go to the `dns` outbound with these settings; what it passes on goes to the server itself.
fn config(door: u16, names: u16, settings: Value) -> Value {
    let mut settings = settings;
    settings["address"] = json!("127.0.0.1");
    settings["port"] = json!(names);
    json!({
        "log": { "loglevel": "debug", "access": "none" },
        "dns": {
            "servers": [{ "address": "127.0.0.1", "port": names }],
            "hosts": {
                "fixed.test": ["10.0.0.9", "2001:db8::9"], "never.test": "#3", "failed.test": "#2", "refused.test": "#5",
                "alias.test": "www.probe.example", "domain:tree.test": "10.0.0.8", "empty.test": [],
            },
        },
        "inbounds": [{ "tag": "door", "listen": "127.0.0.1", "port": door, "protocol": "dokodemo-door",
                       "settings": { "address": "192.0.2.53", "port": 53, "network": "tcp,udp" } }],
        "outbounds": [
            { "tag": "direct", "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } },
            { "tag": "answers", "protocol": "dns", "settings": settings },
        ],
        "routing": { "rules": [{ "type": "field", "inboundTag": ["door"], "outboundTag": "answers" }] },
    })
}

/// The status and the answers, one a line: type and data.
fn told(said: &str) -> (String, Vec<String>) {
    let status = said.split_once("status: ").map_or("none", |(_, rest)| rest.split(',').next().unwrap_or_default());
    let answers = said.lines().filter(|line| !line.starts_with(';') && !line.trim().is_empty());
    let data = |line: &str| line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
    let mut answers: Vec<String> = answers.map(data).collect();
    answers.sort();
    (status.to_owned(), answers)
}

fn asked(door: u16, args: &[&str]) -> (String, Vec<String>) {
    told(&dig(door, args))
}

#[test]
fn addresses_are_answered_by_datagram_and_stream() {
    let (names, door) = (names(), free_port());
    let engine = Engine::json(&config(door, names.port(), json!({})), &[door]);
    for over in ["+notcp", "+tcp"] {
        let said = |name: &str, kind: &str| asked(door, &[over, name, kind]);
        let one = |data: &str| ("NOERROR".to_owned(), vec![data.to_owned()]);
        let none = |status: &str| (status.to_owned(), vec![]);
        assert_eq!(said("www.probe.example", "A"), one("A 10.0.0.1"), "{over}: {}", engine.output());
        assert_eq!(said("www.probe.example", "AAAA"), one("AAAA 2001:db8::1"));
        assert_eq!(said("four.probe.example", "AAAA"), none("NOERROR"));
        assert_eq!(said("gone.probe.example", "A"), none("NXDOMAIN"));
        assert_eq!(said("fixed.test", "A"), one("A 10.0.0.9"));
        assert_eq!(said("fixed.test", "AAAA"), one("AAAA 2001:db8::9"));
        assert_eq!(said("a.tree.test", "A"), one("A 10.0.0.8"));
        assert_eq!(said("a.tree.test", "AAAA"), none("NOERROR"));
        assert_eq!(said("alias.test", "A"), one("A 10.0.0.1"));
        assert_eq!(said("empty.test", "A"), none("NOERROR"));
        assert_eq!(said("never.test", "A"), none("NXDOMAIN"));
        assert_eq!(said("failed.test", "A"), none("SERVFAIL"));
        assert_eq!(said("refused.test", "A"), none("REFUSED"));
        assert_eq!(said(".", "A"), none("NOERROR"));
    }
    let said = dig(door, &["WWW.Probe.example", "A"]);
    assert!(said.contains(";; flags: qr rd ra;") && said.contains("; EDNS: version: 0, flags:; udp: 1232"), "{said}");
    assert!(said.contains("WWW.Probe.example.\t"), "{said}");
    let said = dig(door, &["+noedns", "+norecurse", "fixed.test", "A"]);
    assert!(said.contains(";; flags: qr ra;") && !said.contains("EDNS:"), "{said}");
    assert!(said.contains("fixed.test.\t\t10\tIN\tA\t10.0.0.9"), "{said}");
    assert!(dig(door, &["+edns=1", "+noednsnegotiation", "fixed.test", "A"]).contains("status: BADVERS"));
    assert!(dig(door, &["+opcode=NOTIFY", "fixed.test", "A"]).contains("status: NOTIMP"));
    // All of them leave one after the other on one connection.
    let several = ["+tcp", "+keepopen", "www.probe.example", "A", "+tcp", "+keepopen", "fixed.test", "AAAA"];
    let said = dig(door, &several);
    assert!(said.contains("10.0.0.1") && said.contains("2001:db8::9"), "{said}");
}

/// What does not fit is marked, and dig comes back by TCP for all of it.
#[test]
fn what_does_not_fit_a_datagram_is_had_by_stream() {
    let (names, door) = (names(), free_port());
    let engine = Engine::json(&config(door, names.port(), json!({})), &[door]);
    let cut = dig(door, &["+ignore", "+bufsize=512", "many.probe.example", "A"]);
    assert!(cut.contains(";; flags: qr tc rd ra;"), "{cut}{}", engine.output());
    let some = told(&cut).1.len();
    assert!((25..35).contains(&some), "as many as fit: {some}");
    assert_eq!(asked(door, &["+bufsize=512", "many.probe.example", "A"]).1.len(), 60);
    assert_eq!(asked(door, &["+notcp", "+ignore", "+bufsize=4096", "many.probe.example", "A"]).1.len(), 60);
}

#[test]
fn other_types_are_dropped_refused_or_passed_on() {
    let names = names();
    let https = json!({ "action": "direct", "qType": 65 });
    let text = json!({ "action": "return", "qType": "16", "domain": ["full:www.probe.example"], "rCode": 9 });
    // What comes of TXT, MX and HTTPS; a line of data, a status, or nothing.
    for (settings, txt, mx, svc) in [
        (json!({}), "NOERROR", "NOERROR", "NOERROR"),
        (json!({ "nonIPQuery": "reject" }), "REFUSED", "REFUSED", "REFUSED"),
        (json!({ "nonIPQuery": "drop" }), "none", "none", "none"),
        (json!({ "nonIPQuery": "skip" }), "TXT \"hello\"", "MX 10 mail.probe.example.", "HTTPS 1 . alpn=\"h2\""),
        (json!({ "nonIPQuery": "skip", "blockTypes": [65, 16] }), "none", "MX 10 mail.probe.example.", "none"),
        (json!({ "blockTypes": [16] }), "REFUSED", "REFUSED", "REFUSED"),
        (json!({ "rules": [https, text] }), "NOTAUTH", "NOERROR", "HTTPS 1 . alpn=\"h2\""),
        (
            json!({ "network": "tcp", "nonIPQuery": "skip" }),
            "TXT \"hello\"",
            "MX 10 mail.probe.example.",
            "HTTPS 1 . alpn=\"h2\"",
        ),
        (
            json!({ "network": "udp", "nonIPQuery": "skip" }),
            "TXT \"hello\"",
            "MX 10 mail.probe.example.",
            "HTTPS 1 . alpn=\"h2\"",
        ),
    ] {
        let door = free_port();
        let engine = Engine::json(&config(door, names.port(), settings.clone()), &[door]);
        for over in ["+notcp", "+tcp"] {
            for (kind, want) in [("TXT", txt), ("MX", mx), ("HTTPS", svc)] {
                let time = if want == "none" { "+time=1" } else { "+time=4" };
                let (status, answers) = asked(door, &[over, time, "www.probe.example", kind]);
                let said = if answers.is_empty() { status } else { answers.join("; ") };
                assert!(said.starts_with(want), "{settings} {over} {kind}: {said}, not {want}; {}", engine.output());
            }
            assert_eq!(asked(door, &[over, "www.probe.example", "A"]).1, ["A 10.0.0.1"], "{settings} {over}");
        }
    }
}

/// What is passed on takes the way that the outbound's settings say.
#[test]
fn what_is_passed_on_goes_through_another_outbound() {
    let (names, socks) = (names(), microsocks(None));
    let chained = json!({ "sockopt": { "dialerProxy": "socks" } });
    for (key, value) in [("proxySettings", json!({ "tag": "socks" })), ("streamSettings", chained)] {
        let door = free_port();
        let mut config = config(door, names.port(), json!({ "network": "tcp", "nonIPQuery": "skip" }));
        config["outbounds"][1][key] = value;
        let served = json!([{ "address": "127.0.0.1", "port": socks.port() }]);
        let way = json!({ "tag": "socks", "protocol": "socks", "settings": { "servers": served } });
        config["outbounds"].as_array_mut().unwrap().push(way);
        let engine = Engine::json(&config, &[door]);
        let before = socks.process.output().matches("connected to").count();
        for over in ["+notcp", "+tcp"] {
            let said = asked(door, &[over, "www.probe.example", "TXT"]);
            assert_eq!(said.1, ["TXT \"hello\""], "{key} {over}: {}", engine.output());
        }
        let after = socks.process.output().matches("connected to").count();
        assert_eq!(after - before, 2, "{key}: {}", socks.process.output());
    }
}

/// A server that fails is no name that does not exist, and one that is silent is told of as a failure.
#[test]
fn a_server_that_fails_is_told_of() {
    let (failing, silent) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let at = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let (failing_at, silent_at) = (at(&failing), at(&silent));
    std::thread::spawn(move || {
        let mut buf = [0; 2048];
        while let Ok((n, from)) = failing.recv_from(&mut buf) {
            (buf[2], buf[3]) = (0x81, 0x82);
            let _ = failing.send_to(&buf[..n], from);
        }
    });
    for server in [failing_at, silent_at] {
        let door = free_port();
        let mut config = config(door, server, json!({}));
        config["dns"]["servers"][0]["timeoutMs"] = json!(700);
        let engine = Engine::json(&config, &[door]);
        for over in ["+notcp", "+tcp"] {
            let said = asked(door, &[over, "a.probe.example", "A"]);
            assert_eq!(said, ("SERVFAIL".to_owned(), vec![]), "{}", engine.output());
        }
    }
}

/// A question of ours that the rules lead to the outbound is passed on: it would else wait for itself.
#[test]
fn questions_of_ours_are_not_asked_of_ourselves() {
    for form in ["udp", "tcp"] {
        let (names, door) = (names(), free_port());
        let mut config = config(door, names.port(), json!({}));
        config["dns"]["tag"] = json!("ours");
        if form == "tcp" {
            config["dns"]["servers"] = json!([format!("tcp://127.0.0.1:{}", names.port())]);
        }
        config["routing"]["rules"][0]["inboundTag"] = json!(["door", "ours"]);
        let engine = Engine::json(&config, &[door]);
        assert_eq!(asked(door, &["www.probe.example", "A"]).1, ["A 10.0.0.1"], "{form}: {}", engine.output());
    }
}

/// v2ray 4.34 is given the same config. It passes on what is not for addresses, gives every answer 600 seconds, and says
/// nothing of codes in its hosts; all else must be the same.
#[test]
fn v2ray_says_the_same() {
    let (names, ours, theirs) = (names(), free_port(), free_port());
    let plain = |door: u16| {
        let mut config = config(door, names.port(), json!({ "nonIPQuery": "skip", "network": "udp" }));
        for name in ["never.test", "failed.test", "refused.test", "empty.test"] {
            config["dns"]["hosts"].as_object_mut().unwrap().remove(name);
        }
        config["dns"]["hosts"]["fixed.test"] = json!("10.0.0.9");
        config
    };
    let engine = Engine::json(&plain(ours), &[ours]);
    let v2ray = Peer::start_at("v2ray", theirs, |_, folder| {
        let file = folder.join("config.json");
        std::fs::write(&file, plain(theirs).to_string()).unwrap();
        let mut command = Command::new(program("v2ray"));
        command.arg("-config").arg(file);
        command
    });
    for over in ["+notcp", "+tcp"] {
        for (name, kind) in [
            ("www.probe.example", "A"),
            ("www.probe.example", "AAAA"),
            ("www.probe.example", "TXT"),
            ("www.probe.example", "MX"),
            ("four.probe.example", "AAAA"),
            ("gone.probe.example", "A"),
            ("gone.probe.example", "TXT"),
            ("fixed.test", "A"),
            ("fixed.test", "AAAA"),
            ("a.tree.test", "A"),
            ("alias.test", "A"),
            ("alias.test", "AAAA"),
        ] {
            let (one, other) = (asked(ours, &[over, name, kind]), asked(theirs, &[over, name, kind]));
            assert_eq!(one, other, "{over} {name} {kind}: {}\n{}", engine.output(), v2ray.process.output());
        }
    }
}

#[test]
fn the_access_log_says_which_names_were_asked_about() {
    let (names, door) = (names(), free_port());
    let mut config = config(door, names.port(), json!({}));
    config["log"] = json!({ "loglevel": "warning", "dnsLog": true });
    let engine = Engine::json(&config, &[door]);
    for name in ["www.probe.example", "www.probe.example", "gone.probe.example", "fixed.test"] {
        asked(door, &[name, "A"]);
    }
    let server = format!("UDP:127.0.0.1:{}", names.port());
    engine.process.wait_to_say(" gone.probe.example. -> [] ");
    let output = engine.output();
    let lines: Vec<&str> = output.lines().filter_map(|line| Some(&line[line.find(&server)?..])).collect();
    assert_eq!(lines.len(), 3, "the hosts are nobody's answer: {output}");
    assert!(lines[0].starts_with(&format!("{server} got answer: www.probe.example. -> [10.0.0.1] ")), "{output}");
    assert!(lines[0].ends_with("ms") || lines[0].ends_with("µs"), "{output}");
    assert_eq!(lines[1], format!("{server} cache HIT: www.probe.example. -> [10.0.0.1]"));
    assert!(lines[2].ends_with(" <rcode: 3>"), "{output}");
    drop(engine);
    for log in [json!({ "dnsLog": true, "access": "none" }), json!({ "dnsLog": true, "loglevel": "none" }), json!({})] {
        let door = free_port();
        config["log"] = log;
        config["inbounds"][0]["port"] = json!(door);
        let engine = Engine::json(&config, &[door]);
        asked(door, &["www.probe.example", "A"]);
        let (_, said) = engine.stop();
        assert!(!said.contains("got answer"), "{said}");
    }
}

/// `etemenanki dns CONFIG ARGS…`.
fn verb(config: &Value, args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    run_once_in(folder.path(), &[&["dns", "config.json"], args].concat(), b"")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// Three servers: one that nobody is, one for some names by way of a SOCKS server, and one that is for nothing else.
fn three(names: u16, socks: u16) -> Value {
    json!({
        "dns": {
            "servers": [
                { "address": "127.0.0.1", "port": 1, "timeoutMs": 400 },
                { "address": format!("tcp://127.0.0.1:{names}"), "domains": ["domain:probe.example"], "tag": "by-socks",
                  "expectedIPs": ["!10.0.0.4"] },
                { "address": "127.0.0.1", "port": names, "skipFallback": true, "domains": ["domain:org.example"] },
            ],
            "hosts": { "alias.test": "www.probe.example", "never.test": "#3", "fixed.test": "10.0.0.9" },
        },
        "outbounds": [
            { "tag": "direct", "protocol": "freedom", "settings": { "finalRules": [{ "action": "allow" }] } },
            { "tag": "socks", "protocol": "socks", "settings": { "servers": [{ "address": "127.0.0.1", "port": socks }] } },
        ],
        "routing": { "rules": [{ "inboundTag": ["by-socks"], "outboundTag": "socks" }] },
    })
}

#[test]
fn the_verb_tells_who_was_asked_and_why() {
    let (names, socks) = (names(), microsocks(None));
    let config = three(names.port(), socks.port());
    let told = verb(&config, &["alias.test"]);
    assert_eq!(told.status.code(), Some(0), "{}", text(&told));
    let said = text(&told);
    let server = format!("tcp://127.0.0.1:{}", names.port());
    for part in [
        "alias.test (A and AAAA)\n  hosts: alias.test stands for www.probe.example by `full:alias.test`\n".to_owned(),
        format!("    1  {server}  the name meets its `domain:probe.example`"),
        "A: 10.0.0.1 for 60 s; AAAA: 2001:db8::1 for 60 s; ".to_owned(),
        "    2  127.0.0.1  ".to_owned(),
        "fallback".to_owned(),
        "not asked any more".to_owned(),
        "for its own names only (skipFallback)".to_owned(),
        format!("said by {server}, after "),
    ] {
        let squeezed = |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        assert!(squeezed(&said).contains(&squeezed(&part)), "{part:?} in {said}");
    }
    let told = object(&verb(&config, &["www.probe.example", "--type", "a", "--json"]));
    assert_eq!(told["addresses"], json!(["10.0.0.1"]));
    assert_eq!((&told["by"], &told["code"], &told["error"]), (&json!(server), &json!(0), &Value::Null));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&told), "name addresses ttl code error by hosts asked_about servers ms");
    assert_eq!(keys(&told["servers"][0]), "server place asked why rule absent said");
    assert_eq!(keys(&told["servers"][0]["said"]), "answers addresses unwanted error ms");
    assert_eq!(keys(&told["servers"][0]["said"]["answers"][0]), "type from addresses ttl code error");
    assert_eq!(told["servers"][0]["rule"], "domain:probe.example");
    let whys: Vec<&Value> = told["servers"].as_array().unwrap().iter().map(|one| &one["why"]).collect();
    assert_eq!(whys, ["rule", "fallback", "skipFallback"]);
    names.process.wait_to_say("query[A] www.probe.example");
}

#[test]
fn a_name_that_is_not_there_is_no_server_that_is_not_there() {
    let (names, socks) = (names(), microsocks(None));
    let config = three(names.port(), socks.port());
    for (args, code, words) in [
        (&["gone.probe.example"][..], 5, "=> the name does not exist, after "),
        (&["never.test"], 5, "=> the hosts answer with code 3 (there is no such name), after "),
        (&["four.probe.example", "--type", "AAAA"], 5, "=> the name has no address, after "),
        (&["fixed.test"], 0, "=> 10.0.0.9 for 10 s, said by the hosts, after "),
        (&["www.elsewhere.example"], 1, "=> nobody could say: 127.0.0.1"),
        (&["www.elsewhere.example"], 1, "A and AAAA: did not answer within 400ms"),
        (&["www.probe.example", "--server", "1"], 1, "=> nobody could say: 127.0.0.1"),
        (&["www.probe.example", "--server", "3"], 0, "said by 127.0.0.1"),
        // The address that is not expected leaves nothing, and nobody else is there.
        (&["four.probe.example", "--type", "A"], 1, "not wanted from it: 10.0.0.4"),
        (&["fixed.test", "gone.probe.example"], 5, "=> 10.0.0.9"),
        (&["gone.probe.example", "www.elsewhere.example"], 1, "does not exist"),
    ] {
        let told = verb(&config, args);
        assert_eq!(told.status.code(), Some(code), "{args:?}: {}", text(&told));
        assert!(text(&told).contains(words), "{args:?}: {words:?} in {}", text(&told));
    }
    for args in [&["--server", "4", "a.example"][..], &["10.0.0.1"], &[], &["--type", "TXT", "a.example"]] {
        assert_eq!(verb(&config, args).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(verb(&json!({ "dns": 7 }), &["a.example"]).status.code(), Some(23));
}

#[test]
fn the_systems_hosts_count_where_they_are_wanted() {
    let server = json!({ "address": "127.0.0.1", "port": 1, "timeoutMs": 300 });
    let config = |wanted: bool| json!({ "dns": { "servers": [server], "useSystemHosts": wanted } });
    let told = object(&verb(&config(true), &["localhost", "--type", "A", "--json"]));
    assert_eq!((&told["addresses"], &told["by"], &told["ttl"]), (&json!(["127.0.0.1"]), &json!("hosts"), &json!(10)));
    assert_eq!(verb(&config(false), &["localhost", "--type", "A"]).status.code(), Some(1));
}
