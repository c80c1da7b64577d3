//! Speed tests over real sockets on loopback: a small HTTP server, and services that dial it by name.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::addr::{DomainName, OutboundId};
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Stage, Via};
use crate::probe::plan::read_url;

const LIMIT: Duration = Duration::from_secs(20);

/// Services as an engine gives them, with a table of names and everything written down.
#[derive(Default)]
struct House {
    names: Mutex<HashMap<String, SocketAddr>>,
    dials: Mutex<Vec<(Via, Flow, usize)>>,
    resolved: Mutex<Vec<String>>,
}

impl House {
    fn knows(&self, name: &str, at: SocketAddr) {
        self.names.lock().unwrap().insert(name.into(), at);
    }
}

impl Services for House {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        self.resolved.lock().unwrap().push(name.to_string());
        let known = self.names.lock().unwrap().contains_key(name.as_str());
        let none = DialError::us(Stage::Resolve, io::ErrorKind::NotFound);
        // The first address refuses: every one of them has to be tried.
        let both = [[127, 0, 0, 9], [127, 0, 0, 1]].map(IpAddr::from);
        Box::pin(async move { if known { Ok(Arc::from(both)) } else { Err(none) } })
    }

    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        self.dials.lock().unwrap().push((via, flow.clone(), first.len()));
        let at = match &flow.target.host {
            Host::Ip(_) => flow.target.socket(),
            Host::Domain(name) => self.names.lock().unwrap().get(name.as_str()).copied(),
        };
        Box::pin(async move {
            let at = at.ok_or_else(|| DialError::server(Stage::Answer, io::ErrorKind::HostUnreachable))?;
            let mut stream = TcpStream::connect(at).await.map_err(|error| DialError::server(Stage::Dial, error))?;
            stream.write_all(first).await.map_err(|error| DialError::server(Stage::Dial, error))?;
            Ok(Box::new(stream) as BoxStream)
        })
    }

    fn associate<'a>(&'a self, _: Via, _: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported)) })
    }
}

/// What the server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

async fn origin(tls: Option<TlsAcceptor>) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            shared.connections.fetch_add(1, Ordering::Relaxed);
            let (seen, tls) = (Arc::clone(&shared), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => answer(stream, &seen).await,
                    Some(tls) => answer(tls.accept(stream).await?, &seen).await,
                }
            });
        }
    });
    (at, seen)
}

/// Answers one request and stays open, as servers with keep-alive do.
async fn answer(mut io: impl AsyncRead + AsyncWrite + Unpin, seen: &Seen) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if io.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.requests.lock().unwrap().push(request);
    let step = |n: usize| format!("HTTP/1.1 302 Found\r\nLocation: /again/{}\r\nContent-Length: 0\r\n\r\n", n + 1);
    let head = match path.split('/').collect::<Vec<_>>()[..] {
        [_, "bytes", n] => format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n"),
        [_, "empty"] => "HTTP/1.1 204 No Content\r\n\r\n".into(),
        [_, "to", name] => format!("HTTP/1.1 301 Moved\r\nLocation: http://{name}/bytes/5000\r\n\r\n"),
        [_, "again", n] => step(n.parse().unwrap_or_default()),
        [_, "elsewhere"] => "HTTP/1.1 302 Found\r\nLocation: ftp://a.example/\r\nContent-Length: 0\r\n\r\n".into(),
        [_, "short"] => "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n".into(),
        [_, "endless"] => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
        _ => "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nnever".into(),
    };
    io.write_all(head.as_bytes()).await?;
    match path.split('/').collect::<Vec<_>>()[..] {
        [_, "bytes", n] => io.write_all(&vec![b'x'; n.parse().unwrap_or_default()]).await?,
        [_, "short"] => {
            io.write_all(b"half of it").await?;
            return io.shutdown().await;
        }
        [_, "endless"] => loop {
            io.write_all(b"400\r\n").await?;
            io.write_all(&[b'x'; 0x400]).await?;
            io.write_all(b"\r\n").await?;
        },
        _ => {}
    }
    io.read_u8().await.map(|_| ())
}

/// A port that refuses, and stays ours while the socket is kept: bound, but not listening.
fn closed_port() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

fn member() -> Member {
    Member { tag: "node".into(), hop: OutboundId(7).into(), udp: true, weight: 100 }
}

fn order(url: &str) -> Order {
    let url = read_url(url).unwrap();
    Order { url, timeout: LIMIT, max_bytes: 1 << 24, accept: 200..=399, redirects: 10 }
}

async fn run(house: &Arc<House>, order: &Order) -> Result<Sample, Failure> {
    let live = Live::new(Arc::clone(house) as Arc<dyn Services>);
    timeout(LIMIT, live.fetch(&member(), order)).await.unwrap()
}

fn said(result: Result<Sample, Failure>) -> String {
    result.map_or_else(|why| why.to_string(), |sample| format!("{sample:?}"))
}

#[tokio::test]
async fn o2_an_attempt_counts_body_bytes_on_a_connection_of_its_own() {
    let (at, seen) = origin(None).await;
    let house = Arc::new(House::default());
    for attempt in 1..=3 {
        let sample = run(&house, &order(&format!("http://{at}/bytes/81920"))).await.unwrap();
        assert_eq!((sample.bytes, sample.status), (81_920, 200));
        assert!(sample.time >= sample.dial && sample.dial > Duration::ZERO);
        assert_eq!(seen.connections.load(Ordering::Relaxed), attempt, "a new connection each time");
    }
    let requests = seen.requests.lock().unwrap().join("").to_ascii_lowercase();
    assert!(requests.contains("accept-encoding: identity"), "{requests}");
    assert!(!requests.contains("etemenanki"), "the target learns nothing of us: {requests}");
}

#[tokio::test]
async fn o2_an_empty_body_is_a_success_and_reading_stops_at_the_limit() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    let sample = run(&house, &order(&format!("http://{at}/empty"))).await.unwrap();
    assert_eq!((sample.bytes, sample.status), (0, 204));
    let endless = Order { max_bytes: 100_000, ..order(&format!("http://{at}/endless")) };
    assert_eq!(run(&house, &endless).await.unwrap().bytes, 100_000);
}

#[tokio::test]
async fn o2_redirects_go_through_the_member_whatever_host_they_name() {
    let (first, _) = origin(None).await;
    let (second, _) = origin(None).await;
    let house = Arc::new(House::default());
    house.knows("other.example", second);
    let sample = run(&house, &order(&format!("http://{first}/to/other.example"))).await.unwrap();
    assert_eq!(sample.bytes, 5000);
    let dialed: Vec<_> = house.dials.lock().unwrap().iter().map(|(_, flow, _)| flow.target.to_string()).collect();
    assert_eq!(dialed, [first.to_string(), "other.example:80".into()]);

    assert_eq!(said(run(&house, &order(&format!("http://{first}/again/0"))).await), "more than 10 redirects");
    let bad = said(run(&house, &order(&format!("http://{first}/elsewhere"))).await);
    assert!(bad.contains("ftp"), "{bad}");
}

#[tokio::test]
async fn o3_a_status_outside_the_range_a_broken_body_and_a_failed_dial_are_failures() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    assert_eq!(said(run(&house, &order(&format!("http://{at}/"))).await), "status 403 does not count as success");
    let short = said(run(&house, &order(&format!("http://{at}/short?key=secret"))).await);
    assert!(!short.contains("Sample") && !short.contains("secret"), "{short}");
    let (_kept, closed) = closed_port();
    let refused = said(run(&house, &order(&format!("http://{closed}/"))).await);
    assert!(refused.starts_with("dialing failed"), "the outbound's own word: {refused}");
    let unknown = said(run(&house, &order("http://nowhere.example/")).await);
    assert!(unknown.starts_with("server refused"), "{unknown}");
}

#[tokio::test]
async fn o16_probes_are_marked_pinned_and_never_routed() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    house.knows("www.example", at);
    run(&house, &order("http://www.example/bytes/1")).await.unwrap();
    let dials = house.dials.lock().unwrap();
    let (via, flow, first) = &dials[0];
    assert_eq!(*via, Via::Outbound(OutboundId(7)), "the member itself, not the rules");
    assert!(flow.probe && flow.inbound.is_empty() && flow.user.is_none());
    assert_eq!(flow.pin, Some("node".into()));
    assert!(*first > 0, "the request travels with the dial");
    assert!(house.resolved.lock().unwrap().is_empty(), "the member resolves the name, not we");
}

#[tokio::test]
async fn tls_runs_end_to_end_through_the_member() {
    let cert = rcgen::generate_simple_self_signed(["secure.example".into()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(cert.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.cert.der().clone()], key)
        .unwrap();
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let (at, _) = origin(Some(TlsAcceptor::from(Arc::new(server)))).await;
    let house = Arc::new(House::default());
    house.knows("secure.example", at);
    house.knows("wrong.example", at);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert.cert.der().clone()).unwrap();
    let live = Live::trusting(Arc::clone(&house) as Arc<dyn Services>, Trust::only(roots));
    let sample = timeout(LIMIT, live.fetch(&member(), &order("https://secure.example/bytes/70000"))).await.unwrap();
    assert_eq!(sample.unwrap().bytes, 70_000);
    let wrong = timeout(LIMIT, live.fetch(&member(), &order("https://wrong.example/bytes/7"))).await.unwrap();
    assert!(said(wrong).contains("certificate"), "a member that lies about the target fails");
}

#[tokio::test]
async fn a_sign_of_life_takes_any_status_and_reads_no_body() {
    let (at, seen) = origin(None).await;
    let house = Arc::new(House::default());
    for path in ["", "again/0", "endless"] {
        let order = Order::sign_of_life(read_url(&format!("http://{at}/{path}")).unwrap(), LIMIT);
        assert_eq!(run(&house, &order).await.unwrap().bytes, 0);
    }
    assert_eq!(seen.requests.lock().unwrap().len(), 3, "a redirect is an answer like any other");
}

#[tokio::test]
async fn tcp_checks_resolve_and_try_every_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let house = Arc::new(House::default());
    house.knows("node.example", at);
    let live = Live::new(Arc::clone(&house) as Arc<dyn Services>);
    let endpoint = |host: &str| format!("{host}:{}", at.port()).parse().unwrap();
    live.connect(&endpoint("node.example")).await.unwrap();
    live.connect(&endpoint("127.0.0.1")).await.unwrap();
    assert!(live.connect(&endpoint("other.example")).await.is_err());
    let (_kept, closed) = closed_port();
    assert!(live.connect(&closed.into()).await.is_err());
    assert_eq!(*house.resolved.lock().unwrap(), ["node.example", "other.example"]);
    assert!(house.dials.lock().unwrap().is_empty(), "the member's own settings are not applied");
}
