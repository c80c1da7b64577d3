//! What somebody without secrets sees of our servers is what they see of a peer that serves the same, whatever carries the
//! protocol: what is said, and how and how soon the connection ends.
//!
//! Xray is not among the peers that the tests start, but its servers are those whose face ours should have: `xray.txt` is
//! what 26.7.28 showed. `XRAY_BIN=/path/to/xray cargo test --test it matrix::strangers` compares with an Xray instead of
//! the peers; with `UPDATE_SIGHTS=1` it is recorded anew.

mod carried;
mod flights;
mod probes;
mod sight;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::support::{PATIENCE, curl, free_port, until};

use super::group::face;
use super::keys::{Keys, NAME};
use super::link::{Carrier, Cell, Flow, Lengths, Link, Proto, Secure, Users};
use super::sides::{Program, Role};
use super::targets::Targets;
use flights::Flights;
use probes::{Probe, probes, served};
use sight::{End, Sight};

/// The protocols with secrets.
const PROTOS: [Proto; 5] = [
    Proto::Vless(Flow::Plain),
    Proto::Trojan,
    Proto::Vmess("auto", Lengths::Usual),
    Proto::Shadowsocks("aes-128-gcm", Users::One),
    Proto::Shadowsocks("2022-blake3-aes-128-gcm", Users::One),
];

/// What carries them.
const CARRIERS: [(Carrier, Secure); 7] = [
    (Carrier::Raw, Secure::None),
    (Carrier::Raw, Secure::Tls),
    (Carrier::Ws, Secure::None),
    (Carrier::Ws, Secure::Tls),
    (Carrier::Upgrade, Secure::None),
    (Carrier::Upgrade, Secure::Tls),
    (Carrier::Grpc, Secure::Tls),
];

/// Strangers at the same time.
const AT_ONCE: usize = 150;

/// The frame by which WebSocket ends.
const CLOSE: &[u8] = &[0x88];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_sees_what_a_peer_shows() {
    let (_face, keys) = face();
    let targets = Targets::start().await;
    let chosen = std::env::var("MATRIX_ONLY").unwrap_or_default();
    let mut tried = vec![];
    for proto in PROTOS {
        let flights = Flights::record(proto, &keys, &targets).await;
        let links = CARRIERS.iter().map(|(carrier, secure)| Link::new(proto, *carrier, *secure));
        for link in links.filter(|link| link.tag().contains(&chosen) && !peers(link).is_empty()) {
            tried.push(Tried { link, right: flights.right.clone(), probes: probes(&link, &flights) });
        }
    }
    let ours = sights(Program::Ours, &tried, &keys).await;
    let mut theirs = vec![];
    for peer in Program::ALL {
        let some: Vec<_> = tried.iter().filter(|tried| peers(&tried.link).contains(&peer)).cloned().collect();
        if !some.is_empty() {
            theirs.push((peer, sights(peer, &some, &keys).await));
        }
    }
    if std::env::var_os("UPDATE_SIGHTS").is_some() {
        let seen = theirs.iter().flat_map(|(_, seen)| seen).map(|(probe, sight)| format!("{probe}: {sight}\n"));
        std::fs::write(recorded(), seen.collect::<String>()).expect("the folder is ours");
    }
    let recorded = std::fs::read_to_string(recorded()).expect("it was recorded");
    let recorded: BTreeMap<_, _> = recorded.lines().filter_map(|line| line.split_once(": ")).collect();
    let mut differ = vec![];
    for (probe, sight) in &ours {
        let xray = recorded.get(probe.as_str()).copied().unwrap_or("nothing recorded");
        let seen = || theirs.iter().filter_map(|(peer, seen)| Some((peer, seen.get(probe)?)));
        let same = xray == sight.to_string() || seen().any(|(_, seen)| seen == sight);
        if !same && !on_purpose(probe, sight) {
            let seen: Vec<_> = seen().map(|(peer, sight)| format!("{}: {sight}", peer.name())).collect();
            differ.push(format!("{probe}:\n  ours: {sight}\n  recorded: {xray}\n  {}", seen.join("\n  ")));
        }
    }
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), ours.len(), differ.join("\n"));
}

/// What Xray shows; see above.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/matrix/strangers/xray.txt")
}

/// Where ours is like nobody's, for a reason.
fn on_purpose(probe: &str, sight: &Sight) -> bool {
    // Xray and v2ray serve whoever repeats a user's first bytes; that of shadowsocks-libev, as ours, is silent.
    let repeated =
        probe.starts_with("Shadowsocks aes") && probe.ends_with("first bytes again") && sight.said.is_empty();
    // Xray closes on what is too short; sing-box resets, as it does without a carrier.
    let short = probe.starts_with("Shadowsocks 2022-blake3-aes-128-gcm | HTTPUpgrade,") && sight.end == End::Reset;
    repeated || short
}

/// A link, what opens it, and what is tried at it.
#[derive(Clone)]
struct Tried {
    link: Link,
    right: Vec<u8>,
    probes: Vec<(String, Probe)>,
}

/// Whom to compare with.
fn peers(link: &Link) -> Vec<Program> {
    if std::env::var_os("XRAY_BIN").is_some() {
        return vec![Program::Xray];
    }
    let can = |peer: &Program| peer.lacks(link, Role::Server).is_none();
    Program::PEERS.into_iter().filter(can).collect()
}

/// What strangers see of a program, by link and probe.
async fn sights(program: Program, tried: &[Tried], keys: &Keys) -> BTreeMap<String, Sight> {
    let cell = |(nth, tried): (usize, &Tried)| Cell {
        link: tried.link,
        nth,
        server: free_port(),
        door: free_port(),
        wrong: free_port(),
    };
    let cells: Vec<Cell> = tried.iter().enumerate().map(cell).collect();
    let servers = program.start(Role::Server, &cells, keys);
    let (tls, room) = (carried::tls(keys), Arc::new(Semaphore::new(AT_ONCE)));
    // Some listen before they carry anything. The first bytes of VLESS, which comes first, are good more than once.
    if matches!(tried[0].link.proto, Proto::Vless(_)) {
        served(cells[0].link, cells[0].server, &tls, &tried[0].right).await;
    }
    let mut looking = JoinSet::new();
    for (tried, cell) in tried.iter().cloned().zip(&cells) {
        let (tls, room, port) = (Arc::clone(&tls), Arc::clone(&room), cell.server);
        looking.spawn(async move {
            let link = tried.link;
            // Ten at a time: what is late is tried again, and some bytes are good only once.
            let place = room.acquire_many((AT_ONCE / 10) as u32).await.expect("nobody closes it");
            assert!(served(link, port, &tls, &tried.right).await, "{}: {link} does not serve a client", program.name());
            drop(place);
            let looks = tried.probes.iter().map(async |(name, probe)| {
                let _place = room.acquire().await.expect("nobody closes it");
                let mut sight = probe.look(link, port, &tls).await;
                if probes::is_drawn(&link, probe) {
                    sight.end = End::Drawn;
                    // A server that has had enough says so in the carrier's words.
                    if sight.said.starts_with(CLOSE) {
                        sight.said.clear();
                    }
                }
                (format!("{link}, {name}"), sight)
            });
            join_all(looks).await
        });
    }
    let sights = looking.join_all().await.into_iter().flatten().collect();
    drop(servers);
    sights
}

/// Whoever comes to a REALITY server with a browser sees the site whose face it borrows.
#[test]
fn a_browser_sees_the_borrowed_face() {
    let (_face, keys) = face();
    let link = Link::new(Proto::Vless(Flow::Vision), Carrier::Raw, Secure::Reality);
    for program in [Program::Mihomo, Program::Ours] {
        let cell = Cell { link, nth: 0, server: free_port(), door: free_port(), wrong: free_port() };
        let server = program.start(Role::Server, std::slice::from_ref(&cell), &keys);
        let (url, to) = (format!("https://{NAME}:{}/", cell.server), format!("{NAME}:{}:127.0.0.1", cell.server));
        let ca = keys.ca();
        let ca = ca.to_str().expect("a plain path");
        let seen = || Some(curl(&["--cacert", ca, "--resolve", &to, &url])).filter(|answer| answer.ok);
        let answer = until(PATIENCE, seen).unwrap_or_else(|| panic!("{} shows nothing", program.name()));
        assert_eq!(answer.text(), "the borrowed face", "{}", program.name());
        drop(server);
    }
}
