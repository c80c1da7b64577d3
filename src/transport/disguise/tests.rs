//! Both sides, and what strangers get.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;
use crate::flow::BoxStream;
use crate::model::carrier::{RawHeader, RequestHeader};
use crate::shape::TextList;

const LONG: Duration = Duration::from_secs(60);

async fn hear(io: &mut BoxStream, expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    io.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn bytes_are_bare_behind_the_heads() {
    for room in [3, 4096] {
        let (near, far) = duplex(room);
        let mut near = Client::new(&RawHeader::default()).open(Box::new(near));
        let speaking = tokio::spawn(async move {
            near.write_all(b"first").await.unwrap();
            near.flush().await.unwrap();
            hear(&mut near, b"answer").await;
            near.shutdown().await.unwrap();
        });
        let mut far = Server::new(&RawHeader::default()).accept(Box::new(far), LONG).await.unwrap();
        hear(&mut far, b"first").await;
        far.write_all(b"answer").await.unwrap();
        far.flush().await.unwrap();
        assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
        speaking.await.unwrap();
    }
}

#[tokio::test]
async fn the_heads_are_those_of_the_settings() {
    let paths = TextList(vec!["/a".into(), "/b".into()]);
    let headers = [("X-One".to_owned(), TextList(vec!["1".into()]))].into();
    let request = RequestHeader { path: paths, headers: Some(headers), ..RequestHeader::default() };
    let set = RawHeader { request, ..RawHeader::default() };
    let (near, mut far) = duplex(4096);
    let mut near = Client::new(&set).open(Box::new(near));
    near.write_all(b"x").await.unwrap();
    let mut told = vec![0; 256];
    let len = far.read(&mut told).await.unwrap();
    let told = String::from_utf8_lossy(&told[..len]).into_owned();
    assert!(
        ["GET /a HTTP/1.1\r\nX-One: 1\r\n\r\nx", "GET /b HTTP/1.1\r\nX-One: 1\r\n\r\nx"].contains(&&*told),
        "{told}"
    );
    far.write_all(b"HTTP/1.0 500 Whatever\r\n\r\nbytes").await.unwrap();
    hear(&mut near, b"bytes").await;
}

#[tokio::test]
async fn strangers_get_canned_answers() {
    for (request, status) in [
        ("GET /no HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found\r\n"),
        ("SSH-2.0-x\r\n", "HTTP/1.1 400 Bad Request\r\n"),
        (&"x".repeat(9000), "HTTP/1.1 400 Bad Request\r\n"),
    ] {
        let (mut near, far) = duplex(16 * 1024);
        near.write_all(request.as_bytes()).await.unwrap();
        assert!(Server::new(&RawHeader::default()).accept(Box::new(far), LONG).await.is_err());
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(status) && answer.contains("\r\nDate: ") && answer.ends_with("\r\n\r\n"),
            "{answer}"
        );
    }
}
