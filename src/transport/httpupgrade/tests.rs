//! Client against server, and what either makes of others.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;
use crate::addr::Host;
use crate::flow::BoxStream;
use crate::model::carrier::HttpUpgrade;
use crate::model::stream::Stream;

const LONG: Duration = Duration::from_secs(60);

fn client(set: &HttpUpgrade) -> Client {
    Client::new(&Stream::default(), set)
}

fn server(set: &HttpUpgrade) -> Server {
    Server::new(&Stream::default(), set)
}

fn host() -> Host {
    Host::parse("a.example").unwrap()
}

async fn hear(io: &mut BoxStream, expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    io.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn bytes_are_bare_behind_the_opening() {
    for early in [0, 2048] {
        let set = HttpUpgrade { path: "/up".into(), max_early_data: early, ..HttpUpgrade::default() };
        let (near, far) = duplex(4096);
        let (client, server) = (client(&set), server(&set));
        let speaking = async {
            let mut io = client.open(Box::new(near), &host()).await.unwrap();
            io.write_all(b"first").await.unwrap();
            io.flush().await.unwrap();
            io
        };
        let (mut near, far) = tokio::join!(speaking, server.accept(Box::new(far), LONG));
        let mut far = far.unwrap().0;
        hear(&mut far, b"first").await;
        far.write_all(b"answer").await.unwrap();
        hear(&mut near, b"answer").await;
        near.shutdown().await.unwrap();
        far.write_all(b"late").await.unwrap();
        drop(far);
        hear(&mut near, b"late").await;
    }
}

#[tokio::test]
async fn bytes_right_behind_a_request_are_kept() {
    let (mut near, far) = duplex(4096);
    near.write_all(b"GET /?q HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\nfirst")
        .await
        .unwrap();
    let (mut far, _) = server(&HttpUpgrade::default()).accept(Box::new(far), LONG).await.unwrap();
    hear(&mut far, b"first").await;
}

#[tokio::test]
async fn strangers_get_no_answer() {
    for request in [
        "GET /no HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: b.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "SSH-2.0-x\r\n",
    ] {
        let (mut near, far) = duplex(4096);
        near.write_all(request.as_bytes()).await.unwrap();
        let set = HttpUpgrade { host: "a.example".into(), ..HttpUpgrade::default() };
        assert!(server(&set).accept(Box::new(far), LONG).await.is_err());
        let mut answer = Vec::new();
        near.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"", "{request}");
    }
}

#[tokio::test]
async fn a_refusal_fails_the_dial_or_with_early_data_the_first_read() {
    for early in [0, 1] {
        let (near, mut far) = duplex(4096);
        far.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").await.unwrap();
        let set = HttpUpgrade { max_early_data: early, ..HttpUpgrade::default() };
        match client(&set).open(Box::new(near), &host()).await {
            Ok(mut io) => assert!(early > 0 && io.read_u8().await.is_err()),
            Err(error) => assert_eq!((early, error.to_string().contains("404")), (0, true)),
        }
    }
}
