//! The programs that start an Xray, each imitated as it does it: its arguments, its environment, its waits, and what it
//! looks for in the output. None of them is at hand, so the test is named for the one it stands in for.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Engine, free_port, run_once, run_once_in, until};

/// What service managers and panels grant a stopping program: v2rayN kills after a second.
const GRACE: Duration = Duration::from_secs(1);

/// A config with these SOCKS inbounds and a direct outbound.
fn config(level: &str, ports: &[u16]) -> Value {
    let inbounds = ports.iter().map(|port| json!({"listen": "127.0.0.1", "port": port, "protocol": "mixed"}));
    json!({
        "log": {"loglevel": level},
        "inbounds": inbounds.collect::<Vec<_>>(),
        "outbounds": [{"protocol": "freedom"}],
    })
}

/// 3x-ui: `^(\d{4}/\d{2}/\d{2} \d{2}:\d{2}:\d{2}\.\d{6}) \[([^\]]+)\] (.+)$` with one of four levels, or an access line.
fn is_log_line(line: &str) -> bool {
    let Some((time, rest)) = line.split_at_checked(27) else { return false };
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let level = ["[Debug] ", "[Info] ", "[Warning] ", "[Error] ", "from "].iter().any(|head| rest.starts_with(head));
    shape == "0000/00/00 00:00:00.000000 " && level
}

/// The SOCKS5 greeting as v2rayN's speed test sends it.
fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let mut answer = [0; 2];
    stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
        && stream.write_all(&[5, 1, 0]).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer == [5, 0]
}

#[test]
fn marzban_feeds_standard_input_and_waits_for_the_started_line() {
    let port = free_port();
    let text = config("warning", &[port]).to_string();
    let engine = Engine::started_by(&["run", "-config", "stdin:"], &[], text.as_bytes(), &[port]);
    engine.process.wait_to_say("Xray 26.7.28 started");
    let first = engine.output().lines().next().unwrap_or_default().to_owned();
    assert!(first.starts_with("Xray 26.7.28 ("), "{first}");
    let before = Instant::now();
    let (status, _) = engine.stop();
    assert_eq!(status.code(), Some(0));
    assert!(before.elapsed() < GRACE);
}

#[test]
fn marzban_never_reads_standard_error() {
    let port = free_port();
    // The port is taken inside the config itself: the program speaks and ends.
    let text = config("debug", &[port, port]).to_string();
    let output = run_once_in(Path::new("."), &["run", "-config", "stdin:"], text.as_bytes());
    assert_eq!(output.status.code(), Some(23));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn v2rayn_starts_a_relative_file_kills_it_and_starts_again() {
    let ports: Vec<u16> = (0..20).map(|_| free_port()).collect();
    let text = config("warning", &ports).to_string();
    for _ in 0..2 {
        let mut engine = Engine::start("config.json", &text, &ports);
        assert!(ports.iter().all(|port| greets(*port)));
        engine.process.kill();
    }
}

#[test]
fn threexui_starts_without_a_verb_and_reads_every_line() {
    let output = run_once(&["-version"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.split_whitespace().nth(1), Some("26.7.28"));

    let port = free_port();
    let files = [("bin/config.json", &*config("debug", &[port]).to_string())];
    let engine = Engine::started_by(&["-c", "bin/config.json"], &files, b"", &[port]);
    // A flow to the inbound itself, so that there is an access line.
    let mut flow = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("an open inbound");
    flow.set_read_timeout(Some(Duration::from_secs(5))).expect("an open socket");
    let [high, low] = port.to_be_bytes();
    flow.write_all(&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, high, low]).expect("an open socket");
    let mut answers = [0; 12];
    flow.read_exact(&mut answers).expect("a choice and a reply");
    assert_eq!(answers[..5], [5, 0, 5, 0, 0]);
    let line = format!(" accepted tcp:127.0.0.1:{port}");
    until(Duration::from_secs(5), || engine.output().contains(&line).then_some(())).expect("an access line");
    drop(flow);
    let (_, text) = engine.stop();
    let strange: Vec<_> = text.lines().skip(2).filter(|line| !is_log_line(line)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn threexui_shows_the_last_bare_line_as_the_reason() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (text, status) in [("{\"inbounds\": [{\"port\": \"x\"}]}", 23), ("{", 23), ("[1]", 23)] {
        std::fs::write(folder.path().join("config.json"), text).expect("the folder is ours");
        let output = run_once_in(folder.path(), &["-c", "config.json"], b"");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(status), "{text}: {said}");
        assert!(said.lines().last().unwrap_or_default().starts_with("Failed to start: "), "{text}: {said}");
        for word in ["panic", "exception", "stack trace", "fatal error"] {
            assert!(!said.to_lowercase().contains(word), "{text}: {said}");
        }
    }
}

#[test]
fn remnawave_hands_the_config_out_over_an_abstract_socket() {
    let port = free_port();
    let body = config("warning", &[port]).to_string();
    let name = format!("etemenanki-callers-{}-{port}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("a name of our own");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the program asks");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a whole request");
            request.push(byte[0]);
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("an open socket");
        String::from_utf8_lossy(&request).into_owned()
    });
    let source = format!("@{name}:/internal/get-config?token=SECRET");
    let engine = Engine::started_by(&["-config", &source, "-format", "json"], &[], b"", &[port]);
    assert!(
        server.join().expect("the server does not fail").starts_with("GET /internal/get-config?token=SECRET HTTP/1.1")
    );
    let (status, said) = engine.stop();
    assert_eq!(status.code(), Some(0));
    assert!(!said.contains("SECRET"), "{said}");
}

#[test]
fn the_installer_starts_a_folder_of_empty_files() {
    let files = [("c/00_log.json", "{}"), ("c/05_inbounds.json", "{}"), ("c/06_outbounds.json", "{}")];
    let mut engine = Engine::started_by(&["run", "-confdir", "c"], &files, b"", &[]);
    engine.process.wait_to_say("Xray 26.7.28 started");
    assert!(engine.process.ended().is_none());
    let folder = engine.process.folder.path().to_owned();
    let output = run_once_in(&folder, &["run", "-confdir", "c", "-test"], b"");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), said.lines().last()), (Some(0), Some("Configuration OK.")), "{said}");
}

#[test]
fn a_test_says_before_its_verdict_that_run_refuses() {
    let config = r#"{"inbounds": [{"protocol": "tun"}], "outbounds": [{"protocol": "freedom", "tag": "a"}]}"#;
    let folder = tempfile::tempdir().expect("a folder for the test");
    std::fs::write(folder.path().join("c.json"), config).expect("the folder can be written");
    let said = |more: &[&str]| {
        let output = run_once_in(folder.path(), &[&["run", "-c", "c.json"], more].concat(), b"");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, tested) = said(&["-test"]);
    let last: Vec<_> = tested.lines().rev().take(2).collect();
    let warning = "warning: `run` refuses this configuration, for 1 part of it is not built yet";
    assert_eq!((status, last), (Some(0), vec!["Configuration OK.", warning]), "{tested}");
    assert_eq!(said(&[]).0, Some(23));
}

#[test]
fn a_service_manager_learns_whether_to_try_again() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = taken.local_addr().expect("a bound socket has an address").port();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("the folder is ours");
    write("c.json", &config("warning", &[port]).to_string());
    write(
        "c.toml",
        &format!(
            "[[inbound]]\nprotocol = \"socks\"\nlisten = \"127.0.0.1\"\nport = {port}\n[[outbound]]\ntag = \"direct\"\nprotocol = \"direct\"\n"
        ),
    );
    write("bad.toml", "[[inbound]]\nprotocol = \"socks\"\nporrt = 1\n");
    for (args, status, last) in [
        (&["run", "-c", "c.json"][..], 255, "Failed to start: "),
        (&["run", "-c", "c.toml"], 255, "failed to start: "),
        (&["run", "-c", "gone.json"], 23, "Failed to start: "),
        (&["run", "-c", "."], 23, "Failed to start: "),
        (&["run", "-c", "bad.toml"], 23, "failed to start: "),
        (&["--test", "-c", "bad.toml"], 23, "configuration invalid: "),
    ] {
        let output = run_once_in(folder.path(), args, b"");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.lines().last().unwrap_or_default().starts_with(last), "{args:?}: {said}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn both_signals_end_it_at_once_even_with_a_client_that_waits() {
    for signal in [Signal::TERM, Signal::INT] {
        let port = free_port();
        let mut engine = Engine::json(&config("warning", &[port]), &[port]);
        let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
        engine.process.signal(signal);
        let status = until(GRACE, || engine.process.ended());
        assert_eq!(status.and_then(|status| status.code()), Some(0), "{signal:?}");
        drop(silent);
    }
}
