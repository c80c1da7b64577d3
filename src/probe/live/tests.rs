//! Speed tests over real sockets on loopback: a small HTTP server, and services that dial it by name.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::addr::{DomainName, Host, Network, OutboundId, Tag};
use crate::flow::{BoxPackets, BoxStream, DialError, Flow, Packets, Stage, Via};
use crate::probe::url::read_url;
use crate::probe::what::{Ping, Query};
use reqwest::Method;

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

    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        self.dials.lock().unwrap().push((via, flow.clone(), 0));
        Box::pin(async move {
            if flow.pin == Some("tcp-only".into()) {
                return Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported));
            }
            let socket = UdpSocket::bind("127.0.0.1:0").await.map_err(|error| DialError::us(Stage::Dial, error))?;
            Ok(Box::new(Direct(socket)) as BoxPackets)
        })
    }
}

/// Datagrams that leave directly.
struct Direct(UdpSocket);

impl Packets for Direct {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        let mut space = [0; 2048];
        let mut space = ReadBuf::new(&mut space);
        let from = std::task::ready!(self.0.poll_recv_from(cx, &mut space))?;
        buf.extend_from_slice(space.filled());
        Poll::Ready(Ok(from.into()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        let Some(to) = peer.socket() else { return Poll::Ready(Ok(())) };
        self.0.poll_send_to(cx, payload, to).map_ok(|_| ())
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
    let lower = request.to_ascii_lowercase();
    let host = lower.split("host: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap_or_default().to_owned();
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
        [_, "huge"] => "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n".into(),
        [_, "trickle"] => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".into(),
        [_, "204"] if host == "probe.invalid" => "HTTP/1.1 204 No Content\r\nX-Etemenanki-Responder: 1\r\n\r\n".into(),
        [_, "204"] => "HTTP/1.1 204 No Content\r\n\r\n".into(),
        _ => "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nnever".into(),
    };
    io.write_all(head.as_bytes()).await?;
    if lower.starts_with("head ") {
        return io.read_u8().await.map(|_| ());
    }
    match path.split('/').collect::<Vec<_>>()[..] {
        [_, "bytes", n] => io.write_all(&vec![b'x'; n.parse().unwrap_or_default()]).await?,
        [_, "short"] => {
            io.write_all(b"half of it").await?;
            return io.shutdown().await;
        }
        [_, "huge"] => loop {
            io.write_all(&[b'x'; 0x4000]).await?;
        },
        [_, "trickle"] => loop {
            io.write_all(b"x").await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        },
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

fn test(url: &str) -> Test {
    Test { url: read_url(url).unwrap(), max_bytes: 1 << 24, accept: 200..=399, responder: false }
}

async fn measured(house: &Arc<House>, what: &What) -> Result<Sample, Failure> {
    measured_by(&Live::new(Arc::clone(house) as Arc<dyn Services>), "node", what).await
}

async fn measured_by(live: &Live, tag: &str, what: &What) -> Result<Sample, Failure> {
    let (tag, hop) = (Tag::new(tag), OutboundId(7).into());
    timeout(LIMIT, live.measure(Some(By { tag: &tag, hop }), what)).await.unwrap()
}

async fn run(house: &Arc<House>, test: &Test) -> Result<Sample, Failure> {
    measured(house, &What::Test(test.clone())).await
}

fn said(result: Result<Sample, Failure>) -> String {
    result.map_or_else(|why| why.to_string(), |sample| format!("{sample:?}"))
}

#[tokio::test]
async fn o2_an_attempt_counts_body_bytes_on_a_connection_of_its_own() {
    let (at, seen) = origin(None).await;
    let house = Arc::new(House::default());
    for attempt in 1..=3 {
        let sample = run(&house, &test(&format!("http://{at}/bytes/81920"))).await.unwrap();
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
    let sample = run(&house, &test(&format!("http://{at}/empty"))).await.unwrap();
    assert_eq!((sample.bytes, sample.status), (0, 204));
    let endless = Test { max_bytes: 100_000, ..test(&format!("http://{at}/endless")) };
    assert_eq!(run(&house, &endless).await.unwrap().bytes, 100_000);
}

#[tokio::test]
async fn o2_redirects_go_through_the_member_whatever_host_they_name() {
    let (first, _) = origin(None).await;
    let (second, _) = origin(None).await;
    let house = Arc::new(House::default());
    house.knows("other.example", second);
    let sample = run(&house, &test(&format!("http://{first}/to/other.example"))).await.unwrap();
    assert_eq!(sample.bytes, 5000);
    let dialed: Vec<_> = house.dials.lock().unwrap().iter().map(|(_, flow, _)| flow.target.to_string()).collect();
    assert_eq!(dialed, [first.to_string(), "other.example:80".into()]);

    assert_eq!(said(run(&house, &test(&format!("http://{first}/again/0"))).await), "more than 10 redirects");
    let bad = said(run(&house, &test(&format!("http://{first}/elsewhere"))).await);
    assert!(bad.contains("ftp"), "{bad}");
}

#[tokio::test]
async fn o3_a_status_outside_the_range_a_broken_body_and_a_failed_dial_are_failures() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    assert_eq!(said(run(&house, &test(&format!("http://{at}/"))).await), "status 403 does not count as success");
    let short = said(run(&house, &test(&format!("http://{at}/short?key=secret"))).await);
    assert!(!short.contains("Sample") && !short.contains("secret"), "{short}");
    let (_kept, closed) = closed_port();
    let refused = said(run(&house, &test(&format!("http://{closed}/"))).await);
    assert!(refused.starts_with("dialing failed"), "the outbound's own word: {refused}");
    let unknown = said(run(&house, &test("http://nowhere.example/")).await);
    assert!(unknown.starts_with("server refused"), "{unknown}");
}

#[tokio::test]
async fn o16_probes_are_marked_pinned_and_never_routed() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    house.knows("www.example", at);
    run(&house, &test("http://www.example/bytes/1")).await.unwrap();
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
    let test = |url: &str| What::Test(test(url));
    let sample = measured_by(&live, "node", &test("https://secure.example/bytes/70000")).await;
    assert_eq!(sample.unwrap().bytes, 70_000);
    let wrong = measured_by(&live, "node", &test("https://wrong.example/bytes/7")).await;
    assert!(said(wrong).contains("certificate"), "a member that lies about the target fails");
}

#[tokio::test]
async fn bad_test_urls_fail_or_end_at_their_limits() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    let huge = Test { max_bytes: 1 << 20, ..test(&format!("http://{at}/huge")) };
    assert_eq!(run(&house, &huge).await.unwrap().bytes, 1 << 20, "10 GB end where reading stops");
    let live = Live::new(Arc::clone(&house) as Arc<dyn Services>);
    let (tag, hop) = (Tag::new("node"), OutboundId(7).into());
    let trickle = What::Test(test(&format!("http://{at}/trickle")));
    let slow = live.measure(Some(By { tag: &tag, hop }), &trickle);
    assert!(timeout(Duration::from_millis(500), slow).await.is_err(), "a trickle lasts until its time is over");
}

#[tokio::test]
async fn a_sign_of_life_takes_any_status_and_reads_no_body() {
    let (at, seen) = origin(None).await;
    let house = Arc::new(House::default());
    for (path, method) in [("", Method::GET), ("again/0", Method::GET), ("huge", Method::GET), ("huge", Method::HEAD)] {
        let ping = Ping::new(read_url(&format!("http://{at}/{path}")).unwrap(), method);
        let sample = measured(&house, &What::Ping(ping)).await.unwrap();
        assert!(sample.bytes == 0 && sample.time >= sample.dial);
    }
    let requests = seen.requests.lock().unwrap();
    assert_eq!(requests.len(), 4, "a redirect is an answer like any other");
    assert_eq!(seen.connections.load(Ordering::Relaxed), 4, "a new connection each time");
    assert!(requests[3].starts_with("HEAD /huge "), "{}", requests[3]);
    let browser = requests.iter().all(|request| {
        let request = request.to_ascii_lowercase();
        request.contains("user-agent: mozilla/5.0") && request.contains("accept-language: ")
    });
    assert!(browser, "{requests:?}");
}

#[tokio::test]
async fn a_probe_that_takes_the_page_takes_no_more_than_its_limit() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    let page = |path: &str| {
        let ping = Ping::new(read_url(&format!("http://{at}/{path}")).unwrap(), Method::GET);
        What::Ping(Ping { body: 1 << 16, ..ping })
    };
    assert!(measured(&house, &page("huge")).await.is_ok());
    assert!(measured(&house, &page("short")).await.is_err(), "what breaks off was not taken");
}

#[tokio::test]
async fn tcp_checks_resolve_and_try_every_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let house = Arc::new(House::default());
    house.knows("node.example", at);
    let tcp = |host: &str| What::Tcp(format!("{host}:{}", at.port()).parse().unwrap());
    measured(&house, &tcp("node.example")).await.unwrap();
    measured(&house, &tcp("127.0.0.1")).await.unwrap();
    assert!(measured(&house, &tcp("other.example")).await.is_err());
    let (_kept, closed) = closed_port();
    let refused = measured(&house, &What::Tcp(closed.into())).await;
    assert!(matches!(refused, Err(Failure::Refused(_))), "{}", said(refused));
    assert_eq!(*house.resolved.lock().unwrap(), ["node.example", "other.example"]);
    assert!(house.dials.lock().unwrap().is_empty(), "the member's own settings are not applied");
}

/// An address that takes no connection and refuses none: its queue is full.
async fn silent(at: SocketAddr) -> (TcpListener, Vec<tokio::task::JoinHandle<io::Result<TcpStream>>>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(at).unwrap();
    let listener = socket.listen(1).unwrap();
    let waiting: Vec<_> = (0..8).map(|_| tokio::spawn(TcpStream::connect(at))).collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(waiting.iter().any(|one| !one.is_finished()), "the queue is not full");
    (listener, waiting)
}

#[tokio::test]
async fn a_silent_first_address_does_not_fail_the_check() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let _held = silent(([127, 0, 0, 9], at.port()).into()).await;
    let house = Arc::new(House::default());
    house.knows("node.example", at);
    let sample = measured(&house, &What::Tcp(format!("node.example:{}", at.port()).parse().unwrap())).await.unwrap();
    assert!(sample.time < Duration::from_secs(2), "{:?}", sample.time);
}

#[tokio::test]
async fn the_network_itself_is_asked_past_all_members() {
    let (at, _) = origin(None).await;
    let house = Arc::new(House::default());
    house.knows("check.example", at);
    let live = Live::new(Arc::clone(&house) as Arc<dyn Services>);
    let ping = |host: &str| Ping::new(read_url(&format!("http://{host}:{}/empty", at.port())).unwrap(), Method::HEAD);
    live.measure(None, &What::Ping(ping("check.example"))).await.unwrap();
    assert!(live.measure(None, &What::Ping(ping("nowhere.example"))).await.is_err());
    assert!(house.dials.lock().unwrap().is_empty());
}

/// A name server that loses the first question, answers the second with a wrong number and only the third well.
async fn name_server() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut question = [0; 512];
        for round in 1.. {
            let (len, from) = socket.recv_from(&mut question).await.unwrap();
            let mut answer = question[..len].to_vec();
            answer[2] |= 0x80;
            match round {
                1 => continue,
                2 => answer[0] ^= 1,
                _ => {}
            }
            socket.send_to(&answer, from).await.unwrap();
        }
    });
    at
}

#[tokio::test]
async fn a_question_by_udp_is_repeated_and_only_its_own_answer_counts() {
    let server = name_server().await;
    let house = Arc::new(House::default());
    let query =
        |server: SocketAddr| What::Dns(Query { server: server.into(), name: DomainName::new("www.example").unwrap() });
    let sample = measured(&house, &query(server)).await.unwrap();
    assert!(sample.time >= Duration::from_secs(3), "two pauses: {:?}", sample.time);
    let dials = house.dials.lock().unwrap().clone();
    let (via, flow, _) = &dials[0];
    assert_eq!((dials.len(), *via, flow.network), (1, Via::Outbound(OutboundId(7)), Network::Udp));
    assert!(flow.probe && flow.pin == Some("node".into()));
    let live = Live::new(Arc::clone(&house) as Arc<dyn Services>);
    assert!(measured_by(&live, "tcp-only", &query(server)).await.is_err());
}

#[tokio::test]
async fn a_server_that_answers_tests_is_asked_and_others_by_the_url() {
    let (at, seen) = origin(None).await;
    let house = Arc::new(House::default());
    let live = Live::new(Arc::clone(&house) as Arc<dyn Services>);
    let url = format!("http://{at}/bytes/7");
    let test = What::Test(Test { responder: true, ..test(&url) });
    for _ in 0..2 {
        let sample = measured_by(&live, "plain", &test).await.unwrap();
        assert_eq!(sample.bytes, 7, "no server of ours behind this member: the url counts");
    }
    let tries = |house: &House| {
        house.dials.lock().unwrap().iter().filter(|(_, flow, _)| flow.target.to_string() == "probe.invalid:80").count()
    };
    assert_eq!(tries(&house), 1, "and that is remembered");
    house.knows("probe.invalid", at);
    for _ in 0..2 {
        let sample = measured_by(&live, "ours", &test).await.unwrap();
        assert_eq!(sample.bytes, 81_920);
    }
    let asked: Vec<String> =
        seen.requests.lock().unwrap().iter().map(|r| r.split("\r\n").next().unwrap().to_owned()).collect();
    assert_eq!(
        asked,
        [
            "GET /bytes/7 HTTP/1.1",
            "GET /bytes/7 HTTP/1.1",
            "GET /204 HTTP/1.1",
            "GET /bytes/81920 HTTP/1.1",
            "GET /bytes/81920 HTTP/1.1"
        ]
    );
}
