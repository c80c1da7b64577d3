//! What a tunnel costs while nothing moves, counted from outside: two files, and less memory than one relay buffer.

use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::support::{Engine, PATIENCE, free_port, until};

/// Enough that the relay takes a pipe for it, so that giving the pipe back is seen as well.
const BULK: usize = 256 * 1024;

/// Tunnels before the first look: what the engine keeps for all of them together is there then.
const FIRST: usize = 16;
const MORE: usize = 128;

/// A quarter of a relay buffer: who owned one would need more.
const MOST_BYTES: u64 = 8 * 1024;

/// Pipe ends that stay free for the next one in need. A machine with many threads keeps more of them, but never one a tunnel.
fn most_pipes() -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    (threads * 8).min(MORE)
}

#[test]
fn an_idle_socks_tunnel_holds_two_files_and_no_buffer() {
    idles("socks", |to| {
        let mut open = vec![5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1];
        open.extend_from_slice(&to.port().to_be_bytes());
        (open, b"\x05\x00\x05\x00\x00\x01".to_vec(), 12)
    });
}

#[test]
fn an_idle_http_tunnel_holds_two_files_and_no_buffer() {
    idles("http", |to| {
        let answer = b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec();
        let len = answer.len();
        (format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").into_bytes(), answer, len)
    });
}

/// `opening` gives what a client says, how the answer begins, and how long it is.
fn idles(protocol: &str, opening: impl Fn(SocketAddr) -> (Vec<u8>, Vec<u8>, usize)) {
    let runtime = Runtime::new().expect("a runtime");
    let echo = runtime.block_on(echo());
    let port = free_port();
    let engine = Engine::json(
        &json!({
            "log": {"loglevel": "warning"},
            "inbounds": [{"listen": "127.0.0.1", "port": port, "protocol": protocol}],
            "outbounds": [{"protocol": "freedom", "settings": {"finalRules": [{"action": "allow"}]}}],
        }),
        &[port],
    );
    let pid = engine.process.pid();
    let opening = opening(echo);
    let first = runtime.block_on(open(port, &opening, FIRST));
    let (sockets, before) = (files(pid).0, memory(pid));
    let more = runtime.block_on(open(port, &opening, MORE));
    settles(pid, sockets + 2 * MORE);
    let each = memory(pid).saturating_sub(before) / MORE as u64;
    assert!(each < MOST_BYTES, "{each} bytes for each idle tunnel");
    drop((first, more));
    settles(pid, sockets - 2 * FIRST);
}

/// Waits until the engine holds that many sockets, and no more pipes than its threads keep.
fn settles(pid: u32, sockets: usize) {
    let settled = until(PATIENCE, || {
        let held = files(pid);
        (held.0 == sockets && held.1 <= most_pipes()).then_some(())
    });
    assert!(settled.is_some(), "sockets and pipes {:?}, but {sockets} sockets are due", files(pid));
}

/// Open sockets and pipe ends.
fn files(pid: u32) -> (usize, usize) {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("a child of ours can be looked at");
    let links = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let names: Vec<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let count = |kind: &str| names.iter().filter(|name| name.starts_with(kind)).count();
    (count("socket:"), count("pipe:"))
}

/// Bytes that are the process's own and of no file.
fn memory(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("a child of ours can be looked at");
    let line = text.lines().find(|line| line.starts_with("Anonymous:")).expect("Linux counts these");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("a bound socket has an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    at
}

/// Opens tunnels one after the other, and moves bulk data through each, both ways at once.
async fn open(port: u16, (say, begins, len): &(Vec<u8>, Vec<u8>, usize), count: usize) -> Vec<TcpStream> {
    let mut tunnels = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the inbound accepts");
        stream.write_all(say).await.expect("the inbound reads");
        let mut answer = vec![0; *len];
        stream.read_exact(&mut answer).await.expect("the inbound answers");
        assert!(answer.starts_with(begins), "{answer:?}");
        let (mut read, mut write) = stream.split();
        let (bulk, mut back) = (vec![7; BULK], vec![0; BULK]);
        let (sent, got) = tokio::join!(write.write_all(&bulk), read.read_exact(&mut back));
        sent.expect("the tunnel takes");
        got.expect("the tunnel gives");
        tunnels.push(stream);
    }
    tunnels
}
