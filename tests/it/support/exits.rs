//! Servers and clients of the simplest kind, inside the test's own process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ports::PATIENCE;

/// A SOCKS5 server that dials nobody: it says its own name instead, and keeps what it was asked and told.
pub struct Exit {
    pub at: SocketAddr,
    said: Arc<Mutex<Said>>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Said {
    asked: Vec<String>,
    heard: Vec<Vec<u8>>,
}

impl Exit {
    pub async fn start(name: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let said = Arc::<Mutex<Said>>::default();
        let kept = Arc::clone(&said);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move { serve(stream, name, &kept).await });
            }
        });
        Self { at, said, serving }
    }

    /// The outbound that leads here.
    pub fn outbound(&self, tag: &str) -> serde_json::Value {
        socks_outbound(tag, self.at)
    }

    /// The last target it was asked for.
    pub fn last_asked(&self) -> String {
        self.said.lock().expect("nobody fails with it").asked.last().cloned().unwrap_or_default()
    }

    /// What the clients that have gone had said, each as one.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.said.lock().expect("nobody fails with it").heard.clone()
    }

    /// No longer accepts.
    pub async fn die(&mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

/// An outbound through a SOCKS server.
pub fn socks_outbound(tag: &str, at: SocketAddr) -> serde_json::Value {
    let server = serde_json::json!({ "address": at.ip().to_string(), "port": at.port() });
    serde_json::json!({ "tag": tag, "protocol": "socks", "settings": { "servers": [server] } })
}

async fn serve(mut stream: TcpStream, name: &str, said: &Mutex<Said>) -> Option<()> {
    let methods = stream.read_u16().await.ok()? & 0xff;
    stream.read_exact(&mut vec![0; methods.into()]).await.ok()?;
    stream.write_all(&[5, 0]).await.ok()?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.ok()?;
    let host = match head[3] {
        1 => IpAddr::from(stream.read_u32().await.ok()?.to_be_bytes()).to_string(),
        3 => {
            let mut name = vec![0; stream.read_u8().await.ok()?.into()];
            stream.read_exact(&mut name).await.ok()?;
            String::from_utf8(name).ok()?
        }
        _ => IpAddr::from(stream.read_u128().await.ok()?.to_be_bytes()).to_string(),
    };
    let port = stream.read_u16().await.ok()?;
    said.lock().ok()?.asked.push(format!("{host}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    stream.write_all(format!("{name}\n").as_bytes()).await.ok()?;
    let mut heard = vec![];
    let _ = stream.read_to_end(&mut heard).await;
    said.lock().ok()?.heard.push(heard);
    Some(())
}

/// Who a client is, beside what it asks for.
#[derive(Default, Clone, Copy)]
pub struct Who<'a> {
    pub from: Option<IpAddr>,
    pub login: Option<(&'a str, &'a str)>,
}

/// A SOCKS5 tunnel to `host:port`.
pub async fn tunnel(at: SocketAddr, target: &str) -> TcpStream {
    tunnel_as(at, target, Who::default()).await
}

pub async fn tunnel_as(at: SocketAddr, target: &str, who: Who<'_>) -> TcpStream {
    let (host, port) = target.rsplit_once(':').expect("host:port");
    let port: u16 = port.parse().expect("a port");
    let mut stream = socks(at, who).await;
    stream.write_all(&request(1, host, port)).await.expect("the inbound reads");
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.expect("the inbound answers");
    assert_eq!(reply[..2], [5, 0], "refused");
    stream
}

/// A UDP association: its control stream, and where datagrams go.
pub async fn association(at: SocketAddr) -> (TcpStream, SocketAddr) {
    let mut stream = socks(at, Who::default()).await;
    stream.write_all(&request(3, "0.0.0.0", 0)).await.expect("the inbound reads");
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.expect("the inbound answers");
    assert_eq!(reply[..2], [5, 0], "refused");
    let port = u16::from_be_bytes([reply[8], reply[9]]);
    (stream, SocketAddr::from(([reply[4], reply[5], reply[6], reply[7]], port)))
}

/// A datagram with its SOCKS header.
pub fn wrapped(to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = request(0, &to.ip().to_string(), to.port());
    datagram[0] = 0;
    datagram.extend_from_slice(payload);
    datagram
}

async fn socks(at: SocketAddr, who: Who<'_>) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    if let Some(from) = who.from {
        socket.bind((from, 0).into()).expect("all of 127/8 is ours");
    }
    let mut stream = socket.connect(at).await.expect("the inbound accepts");
    let method = if who.login.is_some() { 2 } else { 0 };
    stream.write_all(&[5, 1, method]).await.expect("the inbound reads");
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await.expect("the inbound answers");
    assert_eq!(chosen, [5, method]);
    if let Some((user, password)) = who.login {
        let mut login = vec![1, u8::try_from(user.len()).expect("short")];
        login.extend_from_slice(user.as_bytes());
        login.push(u8::try_from(password.len()).expect("short"));
        login.extend_from_slice(password.as_bytes());
        stream.write_all(&login).await.expect("the inbound reads");
        stream.read_exact(&mut chosen).await.expect("the inbound answers");
        assert_eq!(chosen, [1, 0], "the login is refused");
    }
    stream
}

fn request(command: u8, host: &str, port: u16) -> Vec<u8> {
    let mut request = vec![5, command, 0];
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => request.extend([1].into_iter().chain(ip.octets())),
        Ok(IpAddr::V6(ip)) => request.extend([4].into_iter().chain(ip.octets())),
        Err(_) => {
            request.extend([3, u8::try_from(host.len()).expect("short")]);
            request.extend_from_slice(host.as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    request
}

/// The first line that comes; empty if the stream ends before.
pub async fn line(stream: &mut TcpStream) -> String {
    let read = async {
        let mut line = vec![];
        while let Ok(byte) = stream.read_u8().await {
            if byte == b'\n' {
                break;
            }
            line.push(byte);
        }
        String::from_utf8_lossy(&line).into_owned()
    };
    timeout(PATIENCE, read).await.expect("a line or the end comes in time")
}

/// The name of the exit by which a target is reached.
pub async fn exit_of(at: SocketAddr, target: &str) -> String {
    line(&mut tunnel(at, target).await).await
}

/// Sends everything back.
pub async fn echo() -> SocketAddr {
    serve_each(|mut stream| async move {
        let (mut read, mut write) = stream.split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
    })
    .await
}

/// Serves every connection by `each`.
pub async fn serve_each<F>(each: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(each(stream));
        }
    });
    at
}

/// Polls until it is true; the answer is asked for again and again, so it must be cheap.
pub async fn eventually(mut what: impl FnMut() -> bool) -> bool {
    let polls = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, polls).await.is_ok()
}

/// Files a process has open. Another than the tests' own, whose files are those of all tests that run.
pub fn open_files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}
