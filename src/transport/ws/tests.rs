//! Client against server, and both against another WebSocket library.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use super::*;
use crate::addr::Host;
use crate::flow::BoxStream;
use crate::model::carrier::WebSocket;
use crate::model::stream::Stream;
use crate::shape::Seconds;

const LONG: Duration = Duration::from_secs(60);

fn host() -> Host {
    Host::parse("a.example").unwrap()
}

fn client(ws: &WebSocket) -> Arc<Client> {
    Arc::new(Client::new(&Stream::default(), ws))
}

fn server(ws: &WebSocket) -> Server {
    Server::new(&Stream::default(), ws)
}

/// Reads exactly what is expected.
async fn hear(io: &mut BoxStream, expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    io.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, expected);
}

async fn say(io: &mut BoxStream, bytes: &[u8]) {
    io.write_all(bytes).await.unwrap();
    io.flush().await.unwrap();
}

/// Both ends, opened by the first bytes where the settings say so.
async fn pair(ws: &WebSocket, first: &[u8]) -> (BoxStream, BoxStream) {
    let (near, far) = duplex(4096);
    let (client, server) = (client(ws), server(ws));
    let speaking = async {
        let mut io = client.open(Box::new(near), &host()).await.unwrap();
        say(&mut io, first).await;
        io
    };
    let (near, far) = tokio::join!(speaking, server.accept(Box::new(far), LONG));
    (near, far.unwrap().0)
}

#[tokio::test]
async fn first_bytes_travel_in_the_request_or_behind_it() {
    for early in [0, 4, 5, 2048] {
        let ws = WebSocket { max_early_data: early, ..WebSocket::default() };
        let (mut near, mut far) = pair(&ws, b"first").await;
        hear(&mut far, b"first").await;
        say(&mut far, b"answer").await;
        hear(&mut near, b"answer").await;
        say(&mut near, b"second").await;
        hear(&mut far, b"second").await;
    }
}

#[tokio::test]
async fn bulk_passes_both_ways() {
    let (near, far) = pair(&WebSocket::default(), b"").await;
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    let there = bytes.clone();
    let mut ends = (tokio::io::split(near), tokio::io::split(far));
    let sending = tokio::spawn(async move {
        ends.0.1.write_all(&there).await.unwrap();
        ends.0.1.flush().await.unwrap();
        (ends.0, there)
    });
    let mut heard = vec![0; bytes.len()];
    ends.1.0.read_exact(&mut heard).await.unwrap();
    assert!(heard == bytes);
    let (_, said) = sending.await.unwrap();
    assert!(said == heard);
}

/// A reader in a task of its own must hear what a writer's first bytes opened.
#[tokio::test]
async fn a_reader_apart_hears_what_a_writer_opened() {
    let ws = WebSocket { max_early_data: 16, ..WebSocket::default() };
    let (near, far) = duplex(4096);
    let (mut reader, mut writer) = tokio::io::split(client(&ws).open(Box::new(near), &host()).await.unwrap());
    let reading = tokio::spawn(async move {
        let mut heard = [0; 2];
        reader.read_exact(&mut heard).await.map(|_| heard)
    });
    tokio::task::yield_now().await;
    let serving = tokio::spawn(async move {
        let (mut io, _) = server(&ws).accept(Box::new(far), LONG).await.unwrap();
        hear(&mut io, b"hi").await;
        say(&mut io, b"ho").await;
        io
    });
    writer.write_all(b"hi").await.unwrap();
    assert_eq!(&reading.await.unwrap().unwrap(), b"ho");
    drop(serving.await.unwrap());
}

#[tokio::test]
async fn a_flush_opens_what_has_nothing_to_say() {
    let ws = WebSocket { max_early_data: 16, ..WebSocket::default() };
    let (mut near, mut far) = pair(&ws, b"").await;
    say(&mut far, b"banner").await;
    hear(&mut near, b"banner").await;
}

/// The answer of our server to a request, and what the visit came to.
async fn asked(ws: WebSocket, request: &str) -> (String, io::Result<()>) {
    let (mut near, far) = duplex(64 * 1024);
    near.write_all(request.as_bytes()).await.unwrap();
    near.shutdown().await.unwrap();
    let visit = server(&ws).accept(Box::new(far), LONG).await.map(drop);
    let mut answer = Vec::new();
    near.read_to_end(&mut answer).await.unwrap();
    (String::from_utf8_lossy(&answer).into_owned(), visit)
}

const UPGRADE: &str = "Host: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn strangers_are_answered_as_a_web_server_would() {
    let ws = || WebSocket { path: "/up".into(), host: "a.example".into(), ..WebSocket::default() };
    for (request, status) in [
        (format!("GET /down HTTP/1.1\r\n{UPGRADE}\r\n"), "HTTP/1.1 404 "),
        (format!("GET /up/ HTTP/1.1\r\n{UPGRADE}\r\n"), "HTTP/1.1 404 "),
        ("GET /up HTTP/1.0\r\nHost: b.example\r\n\r\n".to_owned(), "HTTP/1.0 404 "),
        ("GET /up HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        (format!("POST /up HTTP/1.1\r\n{UPGRADE}\r\n"), "HTTP/1.1 405 "),
        (format!("GET /up HTTP/1.1\r\n{}\r\n", UPGRADE.replace("dGhl", "")), "HTTP/1.1 400 "),
        ("SSH-2.0-x\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        (format!("GET /up HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(13_000)), "HTTP/1.1 431 "),
    ] {
        let (answer, visit) = asked(ws(), &request).await;
        assert!(answer.starts_with(status) && visit.is_err(), "{request}{answer}");
    }
    let (answer, visit) = asked(ws(), &format!("GET /up?q HTTP/1.1\r\n{UPGRADE}\r\n")).await;
    assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") && visit.is_ok(), "{answer}");
}

#[tokio::test]
async fn another_request_may_follow_a_refused_one() {
    let requests = format!("GET /no HTTP/1.1\r\nHost: a.example\r\n\r\nGET / HTTP/1.1\r\n{UPGRADE}\r\n");
    let (answer, visit) = asked(WebSocket::default(), &requests).await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.contains("HTTP/1.1 101 ") && visit.is_ok(), "{answer}");
}

#[tokio::test]
async fn early_data_is_echoed_and_other_words_are_not() {
    let told = async |field: &str| {
        asked(WebSocket::default(), &format!("GET / HTTP/1.1\r\n{UPGRADE}Sec-WebSocket-Protocol: {field}\r\n\r\n"))
            .await
    };
    assert!(told("aGk").await.0.contains("Sec-WebSocket-Protocol: aGk\r\n"));
    assert!(!told("v2.x").await.0.contains("Sec-WebSocket-Protocol"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_or_no_is_given_up() {
    let (near, _far) = duplex(4096);
    let error = client(&WebSocket::default()).open(Box::new(near), &host()).await.err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let (near, mut far) = duplex(4096);
    far.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").await.unwrap();
    let error = client(&WebSocket::default()).open(Box::new(near), &host()).await.err().unwrap();
    assert_eq!(error.to_string(), "the server answered 404 instead of 101");
}

type Theirs = WebSocketStream<DuplexStream>;

async fn next(ws: &mut Theirs) -> Message {
    ws.next().await.unwrap().unwrap()
}

/// Our client and a server of the other library.
async fn our_client(ws: &WebSocket) -> (BoxStream, Theirs) {
    let (near, far) = duplex(4096);
    let client = client(ws);
    let opening = async { client.open(Box::new(near), &host()).await };
    let (near, far) = tokio::join!(opening, accept_async(far));
    (near.unwrap(), far.unwrap())
}

/// A client of the other library and our server.
async fn our_server(ws: &WebSocket) -> (Theirs, BoxStream) {
    let (near, far) = duplex(4096);
    let server = server(ws);
    let (near, far) = tokio::join!(client_async("ws://a.example/", near), server.accept(Box::new(far), LONG));
    (near.unwrap().0, far.unwrap().0)
}

#[tokio::test]
async fn our_client_speaks_with_another_server() {
    let (mut ours, mut theirs) = our_client(&WebSocket::default()).await;
    exchange(&mut ours, &mut theirs).await;
}

#[tokio::test]
async fn our_server_speaks_with_another_client() {
    let (mut theirs, mut ours) = our_server(&WebSocket::default()).await;
    exchange(&mut ours, &mut theirs).await;
}

/// Text, bytes, a ping in between, and a message longer than any buffer: for our side one stream of bytes.
async fn exchange(ours: &mut BoxStream, theirs: &mut Theirs) {
    say(ours, b"hello").await;
    assert_eq!(next(theirs).await, Message::Binary(b"hello".to_vec().into()));
    let speaking = async {
        theirs.send(Message::Text("text ".into())).await.unwrap();
        theirs.send(Message::Ping(b"are you there".to_vec().into())).await.unwrap();
        theirs.send(Message::Binary(vec![7; 100_000].into())).await.unwrap();
        next(theirs).await
    };
    let hearing = async {
        hear(ours, b"text ").await;
        hear(ours, &[7; 100_000]).await;
    };
    let (answer, ()) = tokio::join!(speaking, hearing);
    assert_eq!(answer, Message::Pong(b"are you there".to_vec().into()));
}

#[tokio::test(start_paused = true)]
async fn both_ends_ping_while_nothing_moves() {
    let ws = WebSocket { heartbeat_period: Seconds(Duration::from_secs(30)), ..WebSocket::default() };
    let (ours, mut theirs) = our_client(&ws).await;
    let (mut other, ours_too) = our_server(&ws).await;
    for mut ours in [ours, ours_too] {
        tokio::spawn(async move { ours.read_u8().await });
    }
    for _ in 0..3 {
        assert_eq!(next(&mut theirs).await, Message::Ping(Vec::new().into()));
        assert_eq!(next(&mut other).await, Message::Ping(Vec::new().into()));
    }
}

#[tokio::test]
async fn an_end_is_told_when_both_directions_are_over() {
    let (mut near, mut far) = pair(&WebSocket::default(), b"").await;
    near.shutdown().await.unwrap();
    // The way down is as good as before.
    say(&mut far, b"late").await;
    far.shutdown().await.unwrap();
    hear(&mut near, b"late").await;
    // And the way up.
    say(&mut near, b"later").await;
    hear(&mut far, b"later").await;
    drop(far);
    assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_dropped_stream_still_says_goodbye() {
    let (ours, mut theirs) = our_client(&WebSocket::default()).await;
    drop(ours);
    let Message::Close(Some(frame)) = next(&mut theirs).await else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 1000);
}
