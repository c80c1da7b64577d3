//! What somebody without secrets sees of our servers is what they see of a peer that serves the same.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{PATIENCE, curl, free_port};

use super::group::face;
use super::keys::{Keys, NAME};
use super::link::{Carrier, Cell, Flow, Lengths, Link, Proto, Secure, Users};
use super::sides::{Program, Role};
use super::targets::BYTES;

/// How long a server may keep silent before it counts as one that waits.
const SILENCE: Duration = Duration::from_secs(2);

/// What a stranger saw: all that was said, and whether the connection was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    said: Vec<u8>,
    ended: bool,
}

/// Links whose servers hear plain bytes, and the peers to compare with.
fn plain() -> Vec<(Link, Vec<Program>)> {
    let raw = |proto| Link::new(proto, Carrier::Raw, Secure::None);
    let one = |method| raw(Proto::Shadowsocks(method, Users::One));
    vec![
        (raw(Proto::Vless(Flow::Plain)), vec![Program::SingBox, Program::V2ray]),
        (raw(Proto::Trojan), vec![Program::SingBox, Program::V2ray]),
        (raw(Proto::Vmess("auto", Lengths::Usual)), vec![Program::SingBox, Program::V2ray]),
        (one("aes-128-gcm"), vec![Program::SingBox, Program::V2ray, Program::Libev]),
        (one("2022-blake3-aes-128-gcm"), vec![Program::SingBox, Program::Mihomo]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_sees_what_a_peer_shows() {
    let probes = [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), BYTES[..20].to_vec(), BYTES[..400].to_vec()];
    let (_face, keys) = face();
    let mut differ = vec![];
    for (link, peers) in plain() {
        let ours = sights(Program::Ours, link, &keys, &probes).await;
        let mut theirs = vec![];
        for peer in peers {
            theirs.push((peer, sights(peer, link, &keys, &probes).await));
        }
        for (n, sight) in ours.iter().enumerate() {
            if !theirs.iter().any(|(_, seen)| seen[n] == *sight) {
                let seen: Vec<_> = theirs.iter().map(|(peer, seen)| (peer.name(), seen[n].clone())).collect();
                differ.push(format!("{link}, probe {n}: ours shows {sight:?}, others {seen:?}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// All probes at once: a silent server takes its time with each.
async fn sights(program: Program, link: Link, keys: &Keys, probes: &[Vec<u8>]) -> Vec<Sight> {
    let cell = Cell { link, nth: 0, server: free_port(), door: free_port(), wrong: free_port() };
    let server = program.start(Role::Server, std::slice::from_ref(&cell), keys);
    let mut seen = vec![];
    for probe in probes {
        seen.push(tokio::spawn(look(cell.server, probe.clone())));
    }
    let mut sights = vec![];
    for one in seen {
        sights.push(one.await.expect("a stranger does not fail"));
    }
    drop(server);
    sights
}

async fn look(port: u16, probe: Vec<u8>) -> Sight {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.expect("it listens");
    // A server that ends it at once may be faster than the probe.
    let _ = stream.write_all(&probe).await;
    let mut said = vec![];
    let ended = timeout(SILENCE, stream.read_to_end(&mut said)).await.is_ok();
    Sight { said, ended }
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
        let answer =
            crate::support::until(PATIENCE, seen).unwrap_or_else(|| panic!("{} shows nothing", program.name()));
        assert_eq!(answer.text(), "the borrowed face", "{}", program.name());
        drop(server);
    }
}
