//! A running engine, looked into and ordered about from the command line as a person does it.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use etemenanki::journal::{Lines, Read, What};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Engine, Exit, PATIENCE, eventually, exit_of, free_port, line, tunnel, until};

/// An engine with a balancer `proxy` over exits a and b, and a client's surroundings.
struct Stage {
    engine: Engine,
    exits: Vec<Exit>,
    at: std::net::SocketAddr,
    runtime: TempDir,
}

/// Checks fast enough that nobody waits, and no guards: those have tests of their own.
const CHECKED: &str = "probe_interval = 0\nprobe_timeout = 1\nguards = false";

impl Stage {
    async fn new(balancer: &str, more: &str) -> Self {
        let exits = vec![Exit::start("a").await, Exit::start("b").await];
        let (runtime, port) = (tempfile::tempdir().unwrap(), free_port());
        let engine = Engine::within(runtime.path(), &config(port, &exits, balancer, more), &[port]);
        let at = ([127, 0, 0, 1], port).into();
        Self { engine, exits, at, runtime }
    }

    fn client(&self, args: &[&str]) -> Output {
        client(self.runtime.path(), args)
    }

    /// What it says of the balancer.
    fn report(&self) -> Value {
        let shown = self.client(&["balancers", "proxy", "--json"]);
        assert!(shown.status.success(), "{}", text(&shown));
        serde_json::from_slice::<Value>(&shown.stdout).unwrap()["balancers"][0].clone()
    }

    /// The last of both streams of an order that must be followed.
    fn order(&self, args: &[&str]) -> String {
        let done = self.client(args);
        assert_eq!(done.status.code(), Some(0), "{args:?}: {}", text(&done));
        text(&done)
    }

    async fn exit(&self) -> String {
        exit_of(self.at, "x.example:80").await
    }

    fn socket(&self) -> PathBuf {
        self.runtime.path().join(format!("etemenanki/{}.sock", self.engine.process.pid()))
    }
}

fn config(port: u16, exits: &[Exit], balancer: &str, more: &str) -> String {
    let mut text = format!(
        "[log]\nlevel = \"debug\"\n[[inbound]]\ntag = \"in\"\nprotocol = \"socks\"\nlisten = \"127.0.0.1\"\nport = {port}\n"
    );
    for (tag, exit) in ["a", "b"].iter().zip(exits) {
        let port = exit.at.port();
        text +=
            &format!("[[outbound]]\ntag = \"{tag}\"\nprotocol = \"socks\"\nserver = \"127.0.0.1\"\nport = {port}\n");
    }
    text + &format!(
        "[[balancer]]\ntag = \"proxy\"\noutbounds = [\"a\", \"b\"]\n{balancer}\n[route]\ndefault = \"proxy\"\n{more}\n"
    )
}

/// Runs a verb where engines put their sockets into `runtime`.
fn client(runtime: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    command.args(args).env("XDG_RUNTIME_DIR", runtime).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn balancers_show_who_serves_and_why_as_it_changes() {
    let mut stage = Stage::new(CHECKED, "").await;
    assert_eq!(stage.exit().await, "a");
    assert!(until(PATIENCE, || (stage.report()["members"][1]["life"] == "up").then_some(())).is_some());
    let report = stage.report();
    assert_eq!((&report["strategy"], &report["serving"]), (&"failover".into(), &serde_json::json!(["a"])));
    let a = &report["members"][0];
    assert_eq!((&a["member"], &a["picks"], &a["serves"]), (&"a".into(), &1.into(), &true.into()));
    assert!(a["delay_ms"].as_f64().unwrap() > 0.0 && a["tried_ms"].as_u64().is_some(), "{a}");
    stage.exits[0].die().await;
    assert!(until(PATIENCE, || (stage.report()["serving"][0] == "b").then_some(())).is_some());
    let report = stage.report();
    assert_eq!(report["members"][0]["life"], "down");
    assert!(report["members"][0]["last_error"].as_str().unwrap().contains("refused"), "{report}");
    let last = report["decisions"].as_array().unwrap().last().unwrap();
    assert!(last["wall_ms"].as_u64().unwrap() > 1_700_000_000_000 && last["what"] != "", "{last}");
    let table = stage.order(&["balancers", "-v"]);
    assert!(table.contains("balancer proxy (failover)") && table.contains("│ * ┆ b"), "{table}");
    assert!(!table.contains('\x1b'), "no colours in a pipe: {table}");
    stage.engine.stop();
}

#[tokio::test]
async fn a_pin_moves_new_flows_and_unpin_gives_them_back() {
    let stage = Stage::new(CHECKED, "").await;
    let mut old = tunnel(stage.at, "x.example:80").await;
    assert_eq!(line(&mut old).await, "a");
    let said = stage.order(&["pin", "proxy", "b"]);
    assert!(said.contains("pinned to b until told otherwise; new flows go to b"), "{said}");
    assert_eq!(stage.exit().await, "b");
    assert_eq!(stage.report()["pin"]["member"], "b");
    old.write_all(b"still here").await.unwrap();
    stage.order(&["unpin", "proxy"]);
    assert_eq!(stage.exit().await, "a");
    assert_eq!(stage.report()["pin"], Value::Null);
    drop(old);
    let heard = || stage.exits[0].heard().iter().any(|all| all == b"still here");
    assert!(eventually(heard).await, "flows that ran stay where they were");
}

#[tokio::test]
async fn a_pin_to_the_dead_falls_through_unless_it_is_strict() {
    let mut stage = Stage::new(CHECKED, "").await;
    stage.exits[1].die().await;
    assert!(until(PATIENCE, || (stage.report()["members"][1]["life"] == "down").then_some(())).is_some());
    let said = stage.order(&["pin", "proxy", "b"]);
    assert!(said.contains("warning: member b is down"), "{said}");
    assert_eq!(stage.exit().await, "a");
    let said = stage.order(&["pin", "proxy", "b", "--strict"]);
    assert!(said.contains("warning: member b is down"), "{said}");
    assert_eq!(stage.report()["serving"], serde_json::json!(["b"]));
    assert_eq!(stage.exit().await, "", "nobody else serves");
}

#[tokio::test]
async fn a_pin_ends_with_its_time() {
    let stage = Stage::new(CHECKED, "").await;
    let said = stage.order(&["pin", "proxy", "b", "--for", "1500ms"]);
    assert!(said.contains("for 1 s"), "{said}");
    assert!(stage.report()["pin"]["left_ms"].as_u64().unwrap() <= 1500);
    assert_eq!(stage.exit().await, "b");
    assert!(until(PATIENCE, || stage.report()["pin"].is_null().then_some(())).is_some());
    assert_eq!(stage.exit().await, "a");
}

#[tokio::test]
async fn a_fence_drains() {
    let stage = Stage::new(CHECKED, "").await;
    let mut old = tunnel(stage.at, "x.example:80").await;
    assert_eq!(line(&mut old).await, "a");
    let said = stage.order(&["fence", "proxy", "a"]);
    assert!(said.contains("a is fenced, 1 of its flows still run; new flows go to b"), "{said}");
    assert_eq!(stage.exit().await, "b");
    assert_eq!((&stage.report()["members"][0]["fenced"], alive(&mut old).await), (&true.into(), true));
    drop(old);
    assert!(until(PATIENCE, || (stage.report()["members"][0]["flows"] == 0).then_some(())).is_some());
    let said = stage.order(&["fence", "proxy", "b"]);
    assert!(said.contains("warning: every member is fenced"), "{said}");
    assert_eq!(stage.exit().await, "", "a fence holds even where nobody else is left");
    stage.order(&["unfence", "proxy", "a"]);
    assert_eq!(stage.exit().await, "a");
}

/// Whether the other end still keeps it.
async fn alive(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    let read = tokio::time::timeout(std::time::Duration::from_millis(100), stream.read(&mut byte)).await;
    stream.write_all(b"x").await.is_ok() && read.is_err()
}

#[tokio::test]
async fn a_test_is_waited_for() {
    // Nothing is checked by itself within the test's time.
    let mut stage = Stage::new("probe_interval = 3600\nguards = false", "").await;
    assert!(until(PATIENCE, || (stage.report()["members"][1]["life"] == "up").then_some(())).is_some());
    let said = stage.order(&["test", "proxy"]);
    assert!(said.contains("a answered after") && said.contains("b answered after"), "{said}");
    stage.exits[1].die().await;
    let one = stage.client(&["test", "proxy", "b"]);
    assert_eq!(one.status.code(), Some(1), "{}", text(&one));
    assert!(text(&one).contains("b failed after") && text(&one).contains("down"), "{}", text(&one));
    assert!(!text(&one).contains("┆ a "), "only who was asked for: {}", text(&one));
    assert_eq!(stage.report()["members"][1]["life"], "down");
}

#[tokio::test]
async fn unknown_names_list_what_there_is() {
    let stage = Stage::new(CHECKED, "").await;
    let refused = |args: &[&str], say: &str| {
        let output = stage.client(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output));
        assert!(text(&output).contains(say), "{args:?}: {}", text(&output));
    };
    refused(&["balancers", "prxy"], "there is no balancer prxy; there are proxy");
    refused(&["pin", "prxy", "a"], "there is no balancer prxy; there are proxy");
    for verb in ["pin", "fence", "unfence", "test"] {
        refused(&[verb, "proxy", "c"], "balancer proxy has no member c; its members are a, b");
    }
    assert_eq!(stage.client(&["pin", "proxy", "a", "--for", "soon"]).status.code(), Some(2));
}

#[tokio::test]
async fn the_socket_is_for_its_user_alone_and_goes_with_the_engine() {
    let stage = Stage::new(CHECKED, "").await;
    let (socket, folder) = (stage.socket(), stage.runtime.path().join("etemenanki"));
    let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&folder)), (0o600, 0o700));
    assert!(socket.symlink_metadata().unwrap().file_type().is_socket());
    if rustix::process::geteuid().is_root() {
        // Even where somebody opens all doors, another user is not answered.
        for path in [stage.runtime.path(), &folder, &socket] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", "nc", "-U"]).arg(&socket);
        if let Ok(output) = other.stdin(Stdio::null()).output() {
            assert!(output.stdout.is_empty(), "{}", text(&output));
        }
    }
    let (status, _) = stage.engine.stop();
    assert!(status.success());
    assert!(!socket.exists());
    let none = client(stage.runtime.path(), &["balancers"]);
    assert_eq!(none.status.code(), Some(3), "{}", text(&none));
}

#[tokio::test]
async fn of_several_engines_one_must_be_named_and_the_dead_are_cleaned_away() {
    let mut first = Stage::new(CHECKED, "").await;
    let port = free_port();
    let second = Engine::within(first.runtime.path(), &config(port, &first.exits, CHECKED, ""), &[port]);
    let both = first.client(&["balancers"]);
    assert_eq!(both.status.code(), Some(4), "{}", text(&both));
    let (one, two) = (first.socket(), first.runtime.path().join(format!("etemenanki/{}.sock", second.process.pid())));
    for socket in [&one, &two] {
        assert!(text(&both).contains(&format!("--socket {}", socket.display())), "{}", text(&both));
    }
    let named = first.client(&["balancers", "--json", "--socket", two.to_str().unwrap()]);
    let shown: Value = serde_json::from_slice(&named.stdout).unwrap();
    assert_eq!(shown["engine"]["pid"], second.process.pid());
    first.engine.process.kill();
    assert!(one.exists(), "whoever is killed leaves it behind");
    assert!(first.client(&["balancers"]).status.success(), "and it confuses nobody");
    let third = free_port();
    let third = Engine::within(first.runtime.path(), &config(third, &first.exits, CHECKED, ""), &[third]);
    assert!(!one.exists() && two.exists());
    third.stop();
    second.stop();
}

#[tokio::test]
async fn watching_goes_on_until_it_is_told_to_end() {
    let stage = Stage::new(CHECKED, "").await;
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
    command.args(["balancers", "--watch", "--json"]).env("XDG_RUNTIME_DIR", stage.runtime.path());
    let mut watch = crate::support::Process::start("watch", command, folder);
    assert!(until(PATIENCE, || (watch.output().lines().count() >= 3).then_some(())).is_some());
    watch.signal(Signal::INT);
    assert_eq!(watch.wait(PATIENCE).code(), Some(0), "{}", watch.output());
    let reads =
        |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|one| one["balancers"][0]["balancer"] == "proxy");
    assert!(watch.output().lines().all(reads), "{}", watch.output());
}

#[tokio::test]
async fn a_socket_that_is_off_or_elsewhere() {
    let off = Stage::new(CHECKED, "[control]\nsocket = \"off\"").await;
    assert!(!off.runtime.path().join("etemenanki").exists());
    assert_eq!(off.client(&["balancers"]).status.code(), Some(3));
    let there = Stage::new(CHECKED, "[control]\nsocket = \"here.sock\"").await;
    let path = there.engine.process.folder.path().join("here.sock");
    let shown = there.client(&["balancers", "--socket", path.to_str().unwrap()]);
    assert!(shown.status.success(), "{}", text(&shown));
    there.engine.stop();
}

#[tokio::test]
async fn the_journal_has_what_was_measured_seen_and_decided() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut stage = Stage::new(CHECKED, &format!("[control]\njournal = {:?}", path.to_str().unwrap())).await;
    assert_eq!(stage.exit().await, "a");
    stage.exits[0].die().await;
    assert!(until(PATIENCE, || (stage.report()["serving"][0] == "b").then_some(())).is_some());
    stage.engine.stop();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let whats: Vec<What> = Lines::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap()))
        .map(|line| if let Read::Line(line) = line.unwrap() { line.what } else { panic!("a bad line") })
        .collect();
    assert!(matches!(&whats[0], What::Start { journal: 1, .. }));
    let has = |what: &dyn Fn(&What) -> bool| whats.iter().any(what);
    assert!(has(&|what| matches!(what, What::Keeper { setup, .. } if setup.groups[0].tag.as_str() == "proxy")));
    assert!(has(&|what| matches!(what, What::Sample(sample) if sample.ok && sample.member.as_str() == "b")));
    assert!(has(&|what| matches!(what, What::Sample(sample) if !sample.ok && sample.member.as_str() == "a")));
    assert!(has(&|what| matches!(what, What::Decision(word) if word.up == Some(false) && word.member.as_str() == "a")));
    assert!(has(&|what| matches!(what, What::Seen(flow) if flow.member.as_str() == "a")));
}
