//! What is known of members outlives reloads and restarts for as long as it is true, and an end can be had at once.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::support::{Engine, House, PATIENCE, eventually, free_port, serve_each, tunnel, until};

/// A web server that takes its time, says who it is, and counts who comes.
struct Site {
    at: SocketAddr,
    came: Arc<AtomicUsize>,
}

impl Site {
    /// One that never answers.
    async fn silent() -> Self {
        Self::start("", Duration::from_secs(600)).await
    }

    async fn start(name: &'static str, pause: Duration) -> Self {
        let came = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&came);
        let at = serve_each(move |mut stream| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                let mut head = vec![];
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { return };
                    head.push(byte);
                }
                sleep(pause).await;
                let body = format!("{name}\n{}", ".".repeat(8 << 10));
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        })
        .await;
        Self { at, came }
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::Relaxed)
    }
}

/// Which site a flow comes to.
async fn site_of(at: SocketAddr) -> String {
    let mut stream = tunnel(at, "x.example:80").await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut all = vec![];
    timeout(PATIENCE, stream.read_to_end(&mut all)).await.unwrap().unwrap();
    let text = String::from_utf8(all).unwrap();
    text.split_once("\r\n\r\n").and_then(|(_, body)| body.lines().next()).unwrap_or_default().to_owned()
}

/// Engines one after another with one state file.
struct Stage {
    folder: TempDir,
    port: u16,
}

impl Stage {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state.json")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    fn config(&self, members: &[(&str, &Site)]) -> String {
        let mut text = format!(
            "[log]\nlevel = \"info\"\n[control]\nsocket = {:?}\nstate_file = {:?}\n\
             [[inbound]]\ntag = \"in\"\nprotocol = \"socks\"\nlisten = \"127.0.0.1\"\nport = {}\n",
            self.socket(),
            self.state(),
            self.port
        );
        for (tag, site) in members {
            text += &format!(
                "[[outbound]]\ntag = \"{tag}\"\nprotocol = \"freedom\"\nsettings.redirect = \"{}\"\n",
                site.at
            );
        }
        let tags: Vec<&str> = members.iter().map(|(tag, _)| *tag).collect();
        text + &format!(
            "[[balancer]]\ntag = \"proxy\"\noutbounds = {tags:?}\nstrategy = \"adaptive\"\nguards = false\n\
             [balancer.adaptive]\nurl = \"http://192.0.2.1/test\"\ninterval = \"1h\"\nwarmup = []\n[route]\ndefault = \"proxy\"\n"
        )
    }

    fn start(&self, members: &[(&str, &Site)]) -> Engine {
        Engine::toml(&self.config(members), &[self.port])
    }

    fn client(&self, args: &[&str]) -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_etemenanki"));
        let shown = command.args(args).arg("--socket").arg(self.socket()).stdin(Stdio::null()).output().unwrap();
        assert!(shown.status.success(), "{args:?}: {}", String::from_utf8_lossy(&shown.stderr));
        serde_json::from_slice(&shown.stdout).unwrap_or_default()
    }

    /// What is known of a member.
    fn member(&self, tag: &str) -> Value {
        let report = self.client(&["balancers", "proxy", "--json"]);
        let members = report["balancers"][0]["members"].as_array().unwrap().clone();
        members.into_iter().find(|member| member["member"] == tag).unwrap_or_default()
    }

    fn pinned(&self) -> Value {
        self.client(&["balancers", "proxy", "--json"])["balancers"][0]["pin"]["member"].clone()
    }

    fn tests(&self, tag: &str) -> u64 {
        self.member(tag)["terms"]["tests"].as_u64().unwrap_or(0)
    }
}

/// The same, so far as age may change it.
fn alike(then: &Value, now: &Value) -> bool {
    let score = |member: &Value| member["score"].as_f64().unwrap();
    now["life"] == "up"
        && now["terms"]["tests"] == then["terms"]["tests"]
        && (score(now) / score(then) - 1.0).abs() < 0.05
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_survives_a_reload_and_a_restart_and_goes_with_its_member() {
    let stage = Stage::new();
    let (a, b) = (Site::start("A", Duration::ZERO).await, Site::start("B", Duration::from_millis(50)).await);
    let (c, other, d) = (Site::start("C", Duration::ZERO).await, Site::silent().await, Site::silent().await);
    let engine = stage.start(&[("a", &a), ("b", &b), ("c", &c)]);
    let tested = || ["a", "b", "c"].iter().all(|tag| stage.tests(tag) == 1);
    assert!(until(PATIENCE, || tested().then_some(())).is_some(), "{}", engine.output());
    let known = [stage.member("a"), stage.member("b")];
    stage.client(&["pin", "proxy", "b", "--for", "1h"]);
    assert!(!stage.state().exists());

    // One changes, one is added.
    let next = [("a", &a), ("d", &d), ("b", &b), ("c", &other)];
    std::fs::write(engine.process.folder.path().join("config.toml"), stage.config(&next)).unwrap();
    engine.process.wait_to_say("config reload: outbounds +d ~c");
    let survived = |engine: &Engine| {
        let now = [stage.member("a"), stage.member("b")];
        assert!(known.iter().zip(&now).all(|(then, now)| alike(then, now)), "{known:?} {now:?} {}", engine.output());
        for tag in ["c", "d"] {
            let member = stage.member(tag);
            assert_eq!((&member["life"], stage.tests(tag)), (&"untested".into(), 0), "{member}");
        }
    };
    survived(&engine);
    assert_eq!(stage.pinned(), "b");
    assert_eq!(site_of(([127, 0, 0, 1], stage.port).into()).await, "B");
    assert!(until(PATIENCE, || stage.state().exists().then_some(())).is_some(), "a reload writes it");
    stage.client(&["fence", "proxy", "d"]);
    let came = (a.came(), b.came());
    engine.stop();
    assert_eq!(std::fs::metadata(stage.state()).unwrap().permissions().mode() & 0o777, 0o600);

    // The next process begins with it, and tests only those of whom nothing is known.
    let engine = stage.start(&next);
    survived(&engine);
    assert_eq!(
        (stage.pinned(), &stage.member("d")["fenced"]),
        ("b".into(), &true.into()),
        "what came last is kept too"
    );
    assert!(eventually(|| other.came() >= 2 && d.came() >= 2).await);
    assert_eq!((a.came(), b.came()), (came.0, came.1));
    assert_eq!(site_of(([127, 0, 0, 1], stage.port).into()).await, "B");
    engine.stop();

    // Half a file costs a line, and the next engine writes a whole one.
    let whole = std::fs::read(stage.state()).unwrap();
    std::fs::write(stage.state(), &whole[..whole.len() / 2]).unwrap();
    let engine = stage.start(&[("a", &a), ("b", &b)]);
    let line = format!("state file {}: it cannot be understood: ", stage.state().display());
    engine.process.wait_to_say(&line);
    assert_eq!(engine.output().matches("state file").count(), 1);
    assert_eq!(stage.pinned(), Value::Null);
    assert!(until(PATIENCE, || (stage.tests("a") == 1).then_some(())).is_some(), "it is tested anew");
    assert!(a.came() > came.0);
    engine.stop();
    serde_json::from_slice::<Value>(&std::fs::read(stage.state()).unwrap()).unwrap();
}

/// O15: alone, within a second, and it competes at once.
#[tokio::test]
async fn a_member_that_a_reload_adds_is_tested_within_a_second() {
    let (slow, fast) =
        (Site::start("slow", Duration::from_millis(200)).await, Site::start("fast", Duration::ZERO).await);
    let config = |members: &[(&str, &Site)]| {
        let outbound = |(tag, site): &(&str, &Site)| json!({ "tag": tag, "protocol": "freedom", "settings": { "redirect": site.at.to_string() } });
        let strategy = json!({ "type": "optimal", "settings": { "url": "http://192.0.2.1/test", "interval": "1h" } });
        json!({
            "inbounds": [{ "tag": "in", "protocol": "socks", "listen": "127.0.0.1" }],
            "outbounds": members.iter().map(outbound).collect::<Vec<_>>(),
            "routing": {
                "balancers": [{ "tag": "proxy", "selector": ["m-"], "strategy": strategy, "guards": false }],
                "rules": [{ "network": "tcp", "balancerTag": "proxy" }]
            }
        })
    };
    let house = House::start(&config(&[("m-slow", &slow)]));
    assert!(eventually(|| house.balancers[0].board().members[0].score.is_some()).await);
    assert_eq!(slow.came(), 1);
    house.apply(&config(&[("m-slow", &slow), ("m-fast", &fast)])).await.unwrap();
    let added = Instant::now();
    assert!(eventually(|| fast.came() == 1).await);
    assert!(added.elapsed() < Duration::from_secs(1), "{:?}", added.elapsed());
    let at = house.at("in");
    let served = async {
        while site_of(at).await != "fast" {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, served).await.expect("it competes");
    house.stop().await;
}

/// A request that a service still has would have half a minute to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_what_still_drains() {
    let (site, port) = (Site::silent().await, free_port());
    let text = format!(
        "[[service]]\ntag = \"web\"\nlisten = \"127.0.0.1\"\nport = {port}\nhash_key = \"source_ip\"\n\
         [[service.server]]\nurl = \"http://{}\"\n",
        site.at
    );
    for signals in [[Signal::TERM, Signal::TERM], [Signal::INT, Signal::TERM]] {
        let mut engine = Engine::toml(&text, &[port]);
        let before = site.came();
        let mut client = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert!(eventually(|| site.came() > before).await);
        engine.process.signal(signals[0]);
        sleep(Duration::from_secs(1)).await;
        assert!(engine.process.ended().is_none(), "the request drains: {}", engine.output());
        engine.process.signal(signals[1]);
        let status = engine.process.wait(Duration::from_secs(2));
        assert!(status.success(), "{status}");
    }
}
