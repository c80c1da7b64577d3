#![allow(clippy::unwrap_used)]

use tokio::io::{DuplexStream, duplex};

use super::*;
use crate::inbound::testing::until;

const IDLE: Duration = Duration::from_secs(60);

fn exchange(head: &str) -> Exchange {
    let head = RequestHead::parse(head.replace('\n', "\r\n").as_bytes()).unwrap();
    Exchange::new(head, Some("a.example"), Some("/x"), IDLE).unwrap()
}

/// Runs an exchange beside a script for the client and one for the origin.
async fn play<F: Future<Output = ()>, G: Future<Output = ()>>(
    exchange: Exchange,
    client: impl FnOnce(DuplexStream) -> F,
    origin: impl FnOnce(DuplexStream) -> G,
) -> (Result<After, Fault>, Vec<u8>) {
    let (mut near_client, far_client) = duplex(1 << 20);
    let (mut near_origin, far_origin) = duplex(64);
    let mut held = BytesMut::new();
    let run = async {
        let after = exchange.run(&mut near_client, &mut held, &mut near_origin).await;
        drop((near_client, near_origin));
        after
    };
    let (after, (), ()) = tokio::join!(run, client(far_client), origin(far_origin));
    (after, held.to_vec())
}

async fn say(io: &mut DuplexStream, text: &str) {
    io.write_all(text.replace('\n', "\r\n").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let client = |mut io: DuplexStream| async move {
        let answer = until(&mut io, "hello").await;
        assert_eq!(answer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    };
    let origin = |mut io: DuplexStream| async move {
        let asked = until(&mut io, "\r\n\r\n").await;
        assert_eq!(asked, "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        say(&mut io, "HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\nhello").await;
    };
    let (after, held) = play(exchange("GET http://a.example/x HTTP/1.1\nHost: a.example\n\n"), client, origin).await;
    assert!(matches!(after, Ok(After::Keep)) && held.is_empty());
}

#[tokio::test]
async fn the_body_waits_for_the_interim_answer_and_arrives_whole() {
    let client = |mut io: DuplexStream| async move {
        assert_eq!(until(&mut io, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        io.write_all(&[b'x'; 300_000]).await.unwrap();
        assert_eq!(until(&mut io, "\r\n\r\n").await, "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n");
        assert_eq!(until(&mut io, "done").await, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
    };
    let origin = |mut io: DuplexStream| async move {
        assert!(until(&mut io, "\r\n\r\n").await.contains("Expect: 100-continue"));
        say(&mut io, "HTTP/1.1 100 Continue\n\n").await;
        io.read_exact(&mut vec![0; 300_000]).await.unwrap();
        say(&mut io, "HTTP/1.1 103 Early Hints\nLink: <a>\n\nHTTP/1.1 200 OK\nContent-Length: 4\n\ndone").await;
    };
    let ask = "POST / HTTP/1.1\nHost: a.example\nExpect: 100-continue\nContent-Length: 300000\n\n";
    assert!(matches!(play(exchange(ask), client, origin).await.0, Ok(After::Keep)));
}

#[tokio::test]
async fn a_chunked_body_passes_and_what_follows_stays() {
    let body = "5\r\nhello\r\n0\r\n\r\n";
    let client = |mut io: DuplexStream| async move {
        io.write_all(format!("{body}GET /next").as_bytes()).await.unwrap();
        until(&mut io, "\r\n\r\n").await;
    };
    let origin = |mut io: DuplexStream| async move {
        until(&mut io, "\r\n\r\n").await;
        assert_eq!(until(&mut io, "0\r\n\r\n").await, body);
        say(&mut io, "HTTP/1.1 204 No Content\n\n").await;
    };
    let ask = "POST / HTTP/1.1\nHost: a.example\nTransfer-Encoding: chunked\n\n";
    let (after, held) = play(exchange(ask), client, origin).await;
    assert!(matches!(after, Ok(After::Keep)));
    assert_eq!(held, b"GET /next");
}

#[tokio::test]
async fn an_answer_without_length_ends_with_the_connection() {
    let client = |mut io: DuplexStream| async move {
        let mut all = String::new();
        io.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nto the end");
    };
    let origin = |mut io: DuplexStream| async move {
        until(&mut io, "\r\n\r\n").await;
        say(&mut io, "HTTP/1.0 200 OK\n\nto the end").await;
    };
    let (after, _) = play(exchange("GET / HTTP/1.1\nHost: a.example\n\n"), client, origin).await;
    assert!(matches!(after, Ok(After::Close)));
}

#[tokio::test]
async fn an_origin_that_says_nothing_or_nonsense_is_a_bad_gateway() {
    for words in ["", "SSH-2.0-x\n", "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n", "HTTP/1.1 101 X\n\n"]
    {
        let client = |mut io: DuplexStream| async move {
            assert!(until(&mut io, "\r\n\r\n").await.starts_with("HTTP/1.1 502 "));
        };
        let origin = |mut io: DuplexStream| async move {
            until(&mut io, "\r\n\r\n").await;
            say(&mut io, words).await;
        };
        let (after, _) = play(exchange("GET / HTTP/1.1\nHost: a.example\n\n"), client, origin).await;
        assert!(matches!(after, Ok(After::Close)), "{words}");
    }
}

#[tokio::test]
async fn an_answer_cut_short_is_not_passed_as_whole() {
    let client = |mut io: DuplexStream| async move {
        until(&mut io, "hel").await;
    };
    let origin = |mut io: DuplexStream| async move {
        until(&mut io, "\r\n\r\n").await;
        say(&mut io, "HTTP/1.1 200 OK\nContent-Length: 5\n\nhel").await;
    };
    let (after, _) = play(exchange("GET / HTTP/1.1\nHost: a.example\n\n"), client, origin).await;
    assert!(matches!(after, Err(Fault::Io(_))));
}

#[tokio::test]
async fn an_early_refusal_is_heard_although_the_body_is_not_through() {
    let client = |mut io: DuplexStream| async move {
        io.write_all(&[b'x'; 5000]).await.unwrap();
        assert!(until(&mut io, "\r\n\r\n").await.starts_with("HTTP/1.1 413 "));
    };
    let origin = |mut io: DuplexStream| async move {
        until(&mut io, "\r\n\r\n").await;
        say(&mut io, "HTTP/1.1 413 Too Large\nContent-Length: 0\n\n").await;
    };
    let ask = "POST / HTTP/1.1\nHost: a.example\nContent-Length: 100000\n\n";
    assert!(matches!(play(exchange(ask), client, origin).await.0, Ok(After::Close)));
}

#[tokio::test]
async fn a_change_of_protocol_leaves_a_tunnel() {
    let client = |mut io: DuplexStream| async move {
        let head = until(&mut io, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("Upgrade: websocket"));
    };
    let origin = |mut io: DuplexStream| async move {
        assert!(until(&mut io, "\r\n\r\n").await.contains("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
        say(&mut io, "HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\n\nearly").await;
    };
    let ask = "GET / HTTP/1.1\nHost: a.example\nConnection: Upgrade\nUpgrade: websocket\n\n";
    let (after, _) = play(exchange(ask), client, origin).await;
    assert!(matches!(after, Ok(After::Tunnel(early)) if &early[..] == b"early"));
}

/// The rest of a body that the origin did not take must not be read as the client's next request.
#[tokio::test]
async fn a_body_that_nobody_took_is_not_the_next_request() {
    // Which side is looked at first is chance.
    for _ in 0..64 {
        let (mut near_client, mut client) = duplex(1024);
        let (mut near_origin, mut origin) = duplex(1024);
        let mut held = BytesMut::new();
        let exchange = exchange("POST http://a.example/x HTTP/1.1\nContent-Length: 5\n\n");
        let script = async move {
            let mut head = [0; 512];
            assert!(origin.read(&mut head).await.unwrap() > 0);
            say(&mut origin, "HTTP/1.1 200 OK\nContent-Length: 2\n\nok").await;
            drop(origin);
            client.write_all(b"GET /").await.unwrap();
            client
        };
        let (after, _client) = tokio::join!(exchange.run(&mut near_client, &mut held, &mut near_origin), script);
        assert!(!matches!(after, Ok(After::Keep)) || held.is_empty(), "{held:?}");
    }
}
