//! Clients against servers over pipes, and either against a hand-driven peer.
#![allow(clippy::unwrap_used)]

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::h2::client::SendRequest;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::*;
use crate::addr::Target;
use crate::flow::{Blame, BoxFuture, BoxStream, DialError, Stage};
use crate::model::carrier::Grpc;
use crate::model::sockopt::SockOpt;
use crate::model::stream::Security;
use crate::transport::arrival::{Arrival, Arrivals};
use crate::transport::lines::Lines;
use crate::transport::quic::Port;

/// Connections to a server in the same process, which are counted, and may be slow or refused.
struct World {
    server: Server,
    opened: AtomicUsize,
    refuses: AtomicBool,
    delay: Duration,
    /// Streams that came, and the connections they came by.
    came: mpsc::UnboundedSender<Arrival>,
    /// Ends the connections that were opened so far.
    cut: Arc<tokio::sync::Notify>,
}

impl World {
    fn new(set: &Grpc) -> (Self, mpsc::UnboundedReceiver<Arrival>) {
        let (came, arrivals) = mpsc::unbounded_channel();
        let world = Self {
            server: Server::new(set, &SockOpt::default()),
            opened: AtomicUsize::new(0),
            refuses: AtomicBool::new(false),
            delay: Duration::ZERO,
            came,
            cut: Arc::default(),
        };
        (world, arrivals)
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }
}

impl Lines for World {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async {
            self.opened.fetch_add(1, Ordering::SeqCst);
            sleep(self.delay).await;
            if self.refuses.load(Ordering::SeqCst) {
                return Err(DialError::server(Stage::Dial, ErrorKind::ConnectionRefused));
            }
            let (near, far) = duplex(64 * 1024);
            let (server, came, cut) = (self.server.clone(), self.came.clone(), Arc::clone(&self.cut));
            tokio::spawn(async move {
                let Ok(Arrivals::Many(mut arrivals)) = server.accept(arrival(far), LIMIT).await else { return };
                loop {
                    tokio::select! {
                        Some(arrival) = arrivals.recv() => came.send(arrival).unwrap(),
                        () = cut.notified() => return,
                        else => return,
                    }
                }
            });
            Ok(Box::new(near) as BoxStream)
        })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Dial, ErrorKind::Unsupported)) })
    }
}

const LIMIT: Duration = Duration::from_secs(5);

fn arrival(io: DuplexStream) -> Arrival {
    Arrival::from(Box::new(io) as BoxStream)
}

fn set() -> Grpc {
    Grpc { service_name: "s".into(), ..Grpc::default() }
}

fn client(set: &Grpc) -> Client {
    Client::new(set, &Security::None).unwrap()
}

fn to() -> Target {
    "proxy.example:443".parse().unwrap()
}

async fn open(client: &Client, lines: &dyn Lines) -> Result<BoxStream, DialError> {
    client.open(lines, &to(), Blame::Server).await
}

/// Many different bytes.
fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect()
}

#[tokio::test]
async fn bytes_go_both_ways_and_each_half_ends_by_itself() {
    for multi_mode in [false, true] {
        let (world, mut came) = World::new(&set());
        let client = client(&Grpc { multi_mode, ..set() });
        let mut near = open(&client, &world).await.unwrap();
        let sent = bytes(1_000_000);
        let mut got = vec![];
        let writing = async {
            near.write_all(&sent).await.unwrap();
            near.shutdown().await.unwrap();
        };
        let reading = async {
            let mut far = came.recv().await.unwrap().io;
            far.read_to_end(&mut got).await.unwrap();
            far
        };
        let ((), mut far) = tokio::join!(writing, reading);
        assert!(got == sent);
        let writing = async {
            far.write_all(&sent).await.unwrap();
            far.shutdown().await.unwrap();
        };
        got.clear();
        let (read, ()) = tokio::join!(near.read_to_end(&mut got), writing);
        assert_eq!(read.unwrap(), sent.len());
        assert!(got == sent);
    }
}

#[tokio::test]
async fn one_connection_carries_many_streams_also_when_all_come_at_once() {
    let (world, mut came) = World::new(&set());
    let world = Arc::new(World { delay: Duration::from_millis(20), ..world });
    let client = Arc::new(client(&set()));
    let mut flows = JoinSet::new();
    for at in 0..60u8 {
        let (client, world) = (Arc::clone(&client), Arc::clone(&world));
        flows.spawn(async move {
            let mut io = open(&client, &*world).await.unwrap();
            io.write_all(&[at; 100]).await.unwrap();
            let mut back = [0; 100];
            io.read_exact(&mut back).await.unwrap();
            assert_eq!(back, [at; 100]);
            io
        });
    }
    let echoing = tokio::spawn(async move {
        while let Some(mut arrival) = came.recv().await {
            tokio::spawn(async move {
                let mut word = [0; 100];
                arrival.io.read_exact(&mut word).await.unwrap();
                arrival.io.write_all(&word).await.unwrap();
                arrival.io.flush().await.unwrap();
                let _ = arrival.io.read(&mut word).await;
            });
        }
    });
    let held = flows.join_all().await;
    assert_eq!((held.len(), world.opened()), (60, 1));
    echoing.abort();
}

#[tokio::test]
async fn a_slow_reader_stalls_its_own_stream_alone() {
    let (world, mut came) = World::new(&set());
    let client = client(&set());
    let mut stalled = vec![];
    for _ in 0..8 {
        let mut near = open(&client, &world).await.unwrap();
        // Far more than any window, and nobody reads.
        let stopped = timeout(Duration::from_millis(100), near.write_all(&[0; 16 << 20])).await;
        assert!(stopped.is_err(), "it never stopped");
        stalled.push((near, came.recv().await.unwrap()));
    }
    let mut near = open(&client, &world).await.unwrap();
    let mut far = came.recv().await.unwrap().io;
    let sent = bytes(2_000_000);
    let writing = async {
        near.write_all(&sent).await.unwrap();
        near.shutdown().await.unwrap();
    };
    let mut got = vec![];
    let (read, ()) = tokio::join!(far.read_to_end(&mut got), writing);
    assert_eq!((read.unwrap(), world.opened()), (sent.len(), 1));
    // Those that were stalled go on once somebody reads.
    let (mut near, arrival) = stalled.swap_remove(3);
    let (mut far, mut word) = (arrival.io, vec![0; 200_000]);
    let writing = async { near.write_all(&[1; 200_000]).await.unwrap() };
    let reading = async {
        while !word.contains(&1) {
            far.read_exact(&mut word).await.unwrap();
        }
    };
    tokio::join!(writing, reading);
}

#[tokio::test]
async fn a_connection_that_died_is_replaced_and_one_that_ends_serves_out_its_streams() {
    let (world, mut came) = World::new(&set());
    let client = client(&set());
    let mut first = open(&client, &world).await.unwrap();
    first.write_all(b"a").await.unwrap();
    first.flush().await.unwrap();
    let mut far = came.recv().await.unwrap().io;
    // The server takes no more streams on this connection, which the client hears before its next one.
    world.cut.notify_waiters();
    let mut second = loop {
        let mut io = open(&client, &world).await.unwrap();
        io.write_all(b"b").await.unwrap();
        io.flush().await.unwrap();
        if world.opened() == 2 {
            break io;
        }
        assert!(io.read(&mut [0]).await.is_ok_and(|read| read == 0), "refused streams end");
    };
    far.write_all(b"still here").await.unwrap();
    far.shutdown().await.unwrap();
    let mut word = String::new();
    first.read_to_string(&mut word).await.unwrap();
    assert_eq!(word, "still here");
    let mut far = loop {
        let mut far = came.recv().await.unwrap().io;
        if far.read_u8().await.is_ok_and(|word| word == b'b') && world.opened() == 2 {
            break far;
        }
    };
    far.write_all(b"c").await.unwrap();
    far.flush().await.unwrap();
    assert_eq!(second.read_u8().await.unwrap(), b'c');
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_connection_shares_its_failure_and_takes_over_where_the_opener_goes() {
    let (world, _came) = World::new(&set());
    let world = World { delay: Duration::from_secs(1), ..world };
    let client = client(&set());
    world.refuses.store(true, Ordering::SeqCst);
    let (one, other) = tokio::join!(open(&client, &world), open(&client, &world));
    for failed in [one, other] {
        let error = failed.err().unwrap();
        assert_eq!((error.stage, error.source.kind()), (Stage::Dial, ErrorKind::ConnectionRefused));
    }
    assert_eq!(world.opened(), 1);
    world.refuses.store(false, Ordering::SeqCst);
    let impatient = timeout(Duration::from_millis(500), open(&client, &world));
    let (gone, patient) = tokio::join!(impatient, open(&client, &world));
    assert!(gone.is_err() && patient.is_ok());
    assert_eq!(world.opened(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_and_a_silent_visitor_too() {
    let client = client(&Grpc { idle_timeout: 30, health_check_timeout: 5, ..set() });
    let (near, mut far) = duplex(64 * 1024);
    let lines = Given::new(near);
    let serving = async {
        // The settings of a server, and then nothing.
        far.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
        sleep(Duration::from_secs(60)).await;
    };
    let using = async {
        let mut io = open(&client, &lines).await.unwrap();
        let began = tokio::time::Instant::now();
        assert!(io.read(&mut [0]).await.is_err());
        assert_eq!(began.elapsed().as_secs(), 35);
    };
    tokio::join!(using, serving);

    let (_near, far) = duplex(1024);
    let server = Server::new(&set(), &SockOpt::default());
    let error = server.accept(arrival(far), LIMIT).await.err().unwrap();
    assert_eq!((error.stage, error.source.kind()), (Stage::Carry, ErrorKind::TimedOut));
    let (mut near, far) = duplex(1024);
    near.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let error = server.accept(arrival(far), LIMIT).await.err().unwrap();
    assert_eq!((error.stage, error.source.kind()), (Stage::Carry, ErrorKind::InvalidData));
    let mut said = vec![];
    near.read_to_end(&mut said).await.unwrap();
    assert_eq!(said, b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0", "Go's settings, and nothing else");
    // Less than a client says first is waited for, whatever it is.
    let (mut near, far) = duplex(1024);
    near.write_all(b"\x16\x03\x01\x02\0\x01").await.unwrap();
    let error = server.accept(arrival(far), LIMIT).await.err().unwrap();
    assert_eq!(error.source.kind(), ErrorKind::TimedOut);
}

/// One connection that is there already.
struct Given(Mutex<Option<DuplexStream>>);

impl Given {
    fn new(io: DuplexStream) -> Self {
        Self(Mutex::new(Some(io)))
    }
}

impl Lines for Given {
    fn line(&self) -> BoxFuture<'_, Result<BoxStream, DialError>> {
        Box::pin(async { Ok(Box::new(self.0.lock().unwrap().take().unwrap()) as BoxStream) })
    }

    fn port(&self) -> BoxFuture<'_, Result<Port, DialError>> {
        Box::pin(async { Err(DialError::us(Stage::Dial, ErrorKind::Unsupported)) })
    }
}

/// A stranger's client on a connection to our server.
async fn stranger(server: &Server) -> (SendRequest<Bytes>, mpsc::Receiver<Arrival>) {
    let (near, far) = duplex(64 * 1024);
    let (begun, arrivals) = tokio::join!(::h2::client::handshake(near), server.accept(arrival(far), LIMIT));
    let (requests, connection) = begun.unwrap();
    tokio::spawn(connection);
    let Ok(Arrivals::Many(arrivals)) = arrivals else { panic!("many streams were expected") };
    (requests, arrivals)
}

fn asks(method: &str, path: &str, content_type: Option<&str>) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("http://a.example{path}"));
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    request.body(()).unwrap()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn strangers_hear_a_grpc_server_and_no_more() {
    let server = Server::new(&set(), &SockOpt::default());
    let (mut requests, mut arrivals) = stranger(&server).await;
    let grpc = Some("application/grpc");
    for (request, http, status) in [
        (asks("GET", "/", None), 415, "3"),
        (asks("POST", "/s/Tun", Some("text/plain")), 415, "3"),
        (asks("PUT", "/s/Tun", grpc), 405, "13"),
        (asks("POST", "/s/Other", grpc), 200, "12"),
        (asks("POST", "/t/Tun", grpc), 200, "12"),
    ] {
        let (answer, _) = requests.send_request(request, true).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!((answer.status().as_u16(), header(answer.headers(), "grpc-status")), (http, status));
        assert_eq!(header(answer.headers(), "content-type"), "application/grpc");
    }
    // A call whose bytes say nothing to the protocol within is dropped, and ends as if all were well.
    let (answer, mut body) = requests.send_request(asks("POST", "/s/Tun", grpc), false).unwrap();
    body.send_data(Bytes::from_static(b"\0\0\0\0\x04\x0a\x02hi"), false).unwrap();
    let mut io = arrivals.recv().await.unwrap().io;
    let mut word = [0; 2];
    io.read_exact(&mut word).await.unwrap();
    drop(io);
    let answer = answer.await.unwrap();
    assert_eq!((answer.status().as_u16(), header(answer.headers(), "grpc-status")), (200, "0"));
}

#[tokio::test]
async fn a_server_answers_with_its_first_payload_and_ends_with_trailers() {
    let sockopt = SockOpt { trusted_x_forwarded_for: vec!["x-cdn".to_owned()], ..SockOpt::default() };
    let server = Server::new(&set(), &sockopt);
    let (mut requests, mut arrivals) = stranger(&server).await;
    let mut request = asks("POST", "/s/TunMulti", Some("application/grpc+proto"));
    request.headers_mut().insert("x-cdn", "1".parse().unwrap());
    request.headers_mut().insert("x-real-ip", "192.0.2.9".parse().unwrap());
    let (answer, mut body) = requests.send_request(request, false).unwrap();
    // Split within a message, with an empty one before and two pieces in the next.
    for part in [&b"\0\0\0\0\0\0\0"[..], b"\0\0\x08\x0a", b"\x02ab\x0a\x02c", b"d"] {
        body.send_data(Bytes::copy_from_slice(part), false).unwrap();
    }
    let Arrival { mut io, source, .. } = arrivals.recv().await.unwrap();
    assert_eq!(source, Some("192.0.2.9:0".parse().unwrap()));
    let mut word = [0; 4];
    io.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"abcd");
    io.write_all(b"hello").await.unwrap();
    io.shutdown().await.unwrap();
    let answer: Response<_> = answer.await.unwrap();
    assert_eq!(header(answer.headers(), "content-type"), "application/grpc");
    let mut back = answer.into_body();
    let mut said = vec![];
    while let Some(chunk) = back.data().await {
        said.extend_from_slice(&chunk.unwrap());
    }
    assert_eq!(said, b"\0\0\0\0\x07\x0a\x05hello");
    assert_eq!(header(&back.trailers().await.unwrap().unwrap(), "grpc-status"), "0");
    body.send_data(Bytes::new(), true).unwrap();
    assert_eq!(io.read(&mut word).await.unwrap(), 0);
}

/// What a client reads when a server answers like this, with a body or without.
async fn reads(
    answer: Response<()>,
    body: Option<&'static [u8]>,
    status: Option<&'static str>,
) -> std::io::Result<Vec<u8>> {
    let (near, far) = duplex(64 * 1024);
    let serving = async move {
        let mut connection = ::h2::server::handshake(far).await.unwrap();
        let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
        let mut stream = respond.send_response(answer, body.is_none() && status.is_none()).unwrap();
        if let Some(body) = body {
            stream.send_data(Bytes::from_static(body), status.is_none()).unwrap();
        }
        if let Some(status) = status {
            stream
                .send_trailers([("grpc-status".parse().unwrap(), status.parse().unwrap())].into_iter().collect())
                .unwrap();
        }
        while connection.accept().await.is_some() {}
    };
    tokio::spawn(serving);
    let mut io = open(&client(&set()), &Given::new(near)).await.unwrap();
    let mut got = vec![];
    io.read_to_end(&mut got).await.map(|_| got)
}

#[tokio::test]
async fn a_client_tells_answers_from_refusals() {
    let ok = || Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let hello = Some(&b"\0\0\0\0\x07\x0a\x05hello"[..]);
    assert_eq!(reads(ok(), hello, Some("0")).await.unwrap(), b"hello");
    assert_eq!(reads(ok(), hello, None).await.unwrap(), b"hello");
    let told = |failed: std::io::Result<Vec<u8>>| failed.unwrap_err().to_string();
    assert!(told(reads(ok(), hello, Some("14")).await).contains("gRPC status 14"));
    assert!(told(reads(Response::builder().status(404).body(()).unwrap(), None, None).await).contains("404"));
    assert!(told(reads(Response::new(()), Some(b"<html>"), None).await).contains("other than gRPC"));
    let cut = Some(&b"\0\0\0\0\x07\x0a\x05hel"[..]);
    assert_eq!(reads(ok(), cut, Some("0")).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let compressed = Some(&b"\x01\0\0\0\x07"[..]);
    assert_eq!(reads(ok(), compressed, None).await.unwrap_err().kind(), ErrorKind::InvalidData);
}

#[tokio::test]
async fn what_a_server_no_longer_wants_is_let_go_and_its_own_words_arrive() {
    let (world, mut came) = World::new(&set());
    let client = client(&set());
    let mut near = open(&client, &world).await.unwrap();
    near.write_all(b"a").await.unwrap();
    let mut far = came.recv().await.unwrap().io;
    assert_eq!(far.read_u8().await.unwrap(), b'a');
    let sent = bytes(100_000);
    let (mut reader, mut writer) = tokio::io::split(near);
    let answering = async {
        far.write_all(&sent).await.unwrap();
        far.shutdown().await.unwrap();
        drop(far);
    };
    let reading = async {
        let mut got = vec![];
        reader.read_to_end(&mut got).await.unwrap();
        assert!(got == sent);
    };
    // More than any window: it goes on only because it is let go.
    let upload = vec![0; 1 << 20];
    let writing = async { writer.write_all(&upload).await.unwrap() };
    timeout(LIMIT, async { tokio::join!(answering, reading, writing) }).await.unwrap();
}
