#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

use super::*;
use crate::inbound::testing::{Flows, common, sink, until, visitor};
use crate::proto::http::authorization;
use crate::proto::login::Logins;

fn start(http: Http) -> (DuplexStream, Flows, JoinHandle<Result<Accepted, Fault>>) {
    let (near, far) = duplex(1 << 16);
    let (sink, flows) = sink();
    let task = tokio::spawn(async move {
        let token = CancellationToken::new();
        http.accept(&common(), &visitor(), Box::new(near), BytesMut::new(), &sink, &token).await
    });
    (far, flows, task)
}

fn open() -> Http {
    Http::new(None, false)
}

async fn answer(origin: &mut BoxStream, body: &str) -> String {
    let head = until(origin, "\r\n\r\n").await;
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    origin.write_all(text.as_bytes()).await.unwrap();
    head
}

#[tokio::test]
async fn a_tunnel_keeps_what_came_with_the_request() {
    for (target, host) in [("[2001:db8::1]:443", "Host: other\r\n"), ("a.example:443", "")] {
        let (mut client, _, task) = start(open());
        let ask = format!("CONNECT {target} HTTP/1.1\r\n{host}\r\nfirst");
        client.write_all(ask.as_bytes()).await.unwrap();
        assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
        let Ok(Accepted::Stream(flow, mut io)) = task.await.unwrap() else { unreachable!() };
        assert_eq!(flow.target.to_string(), target);
        assert_eq!(until(&mut io, "first").await, "first");
    }
}

#[tokio::test]
async fn each_request_on_a_kept_connection_is_a_flow_of_its_own() {
    let (mut client, mut flows, task) = start(open());
    for (target, path) in [("[2001:db8::4]:80", "/x?y"), ("b.example:8080", "/z")] {
        let url = format!("http://{}{path}", target.trim_end_matches(":80"));
        client.write_all(format!("GET {url} HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n\r\n").as_bytes()).await.unwrap();
        let (flow, mut io, held) = flows.stream().await;
        assert_eq!(flow.target.to_string(), target);
        let attributes = flow.attributes.unwrap();
        assert_eq!(attributes.get(":method"), Some("GET"));
        assert_eq!(attributes.get(":path"), path.split('?').next());
        assert_eq!(attributes.get(":query"), path.split('?').nth(1));
        assert_eq!(attributes.get("x-a"), Some("1"));
        assert!(answer(&mut io, "body").await.starts_with(&format!("GET {path} HTTP/1.1\r\n")));
        until(&mut client, "body").await;
        held.end();
    }
    drop(client);
    assert!(matches!(task.await.unwrap(), Ok(Accepted::Served)));
}

#[tokio::test]
async fn a_login_is_asked_for_and_never_passed_on() {
    let users = || Some(Users::new(Logins::new([("u", "p")])));
    for bad in [String::new(), format!("Proxy-Authorization: {}\r\n", authorization("u", "x"))] {
        let (mut client, flows, task) = start(Http::new(users(), false));
        client.write_all(format!("GET http://a/ HTTP/1.1\r\nHost: a\r\n{bad}\r\n").as_bytes()).await.unwrap();
        assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 407 "));
        assert!(matches!(task.await.unwrap(), Err(Fault::Login)) && flows.is_empty());
    }
    let (mut client, mut flows, _task) = start(Http::new(users(), false));
    let login = authorization("u", "p");
    let ask = format!("GET http://a/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: {login}\r\n\r\n");
    client.write_all(ask.as_bytes()).await.unwrap();
    let (flow, mut io, _held) = flows.stream().await;
    assert_eq!(flow.user.as_deref(), Some("u"));
    assert!(flow.attributes.unwrap().iter().all(|(name, _)| name != "proxy-authorization"));
    assert!(!answer(&mut io, "x").await.contains("Proxy-Authorization"));
}

#[tokio::test]
async fn requests_that_cannot_be_served_are_told_so() {
    let long = format!("GET http://a/{} HTTP/1.1\r\n", "x".repeat(MAX_HEAD));
    for (ask, status) in [
        ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        ("GET ftp://a/x HTTP/1.1\r\n\r\n", "400"),
        ("CONNECT a HTTP/9\r\n\r\n", "400"),
        ("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (long.as_str(), "431"),
    ] {
        let (mut client, flows, task) = start(open());
        let write = async { client.write_all(ask.as_bytes()).await };
        let _ = tokio::join!(write, tokio::task::yield_now());
        let said = until(&mut client, "\r\n\r\n").await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
        assert!(task.await.unwrap().is_err() && flows.is_empty());
    }
}

#[tokio::test]
async fn origin_form_is_served_where_allowed() {
    let (mut client, mut flows, _task) = start(Http::new(None, true));
    client.write_all(b"GET /x HTTP/1.1\r\nHost: a.example:81\r\n\r\n").await.unwrap();
    let (flow, mut io, _held) = flows.stream().await;
    assert_eq!(flow.target.to_string(), "a.example:81");
    assert!(answer(&mut io, "x").await.starts_with("GET /x HTTP/1.1\r\nHost: a.example:81\r\n"));
}

#[tokio::test]
async fn a_change_of_protocol_is_tunnelled_both_ways() {
    let (mut client, mut flows, task) = start(open());
    let ask = b"GET http://a/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(ask).await.unwrap();
    let (_, mut io, _held) = flows.stream().await;
    until(&mut io, "\r\n\r\n").await;
    let said = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello";
    io.write_all(said).await.unwrap();
    until(&mut client, "hello").await;
    client.write_all(b"question").await.unwrap();
    assert_eq!(until(&mut io, "question").await, "question");
    io.write_all(b"answer").await.unwrap();
    drop(io);
    assert_eq!(until(&mut client, "answer").await, "answer");
    drop(client);
    assert!(matches!(task.await.unwrap(), Ok(Accepted::Served)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_and_a_silent_kept_connection_end() {
    let (mut client, _, task) = start(open());
    client.write_all(b"GET http://a/ HT").await.unwrap();
    assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 408 "));
    assert!(task.await.unwrap().is_err());

    let (mut client, mut flows, task) = start(open());
    client.write_all(b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let (_, mut io, _held) = flows.stream().await;
    answer(&mut io, "x").await;
    assert!(matches!(task.await.unwrap(), Ok(Accepted::Served)));
}

/// Closing at once would reset the connection of a client that is still sending, and take the answer along.
#[tokio::test]
async fn a_refused_client_may_finish_what_it_says() {
    for ask in ["POST /x HTTP/1.1\r\nContent-Length: 4\r\n\r\n", "nonsense\r\n\r\n"] {
        let (mut client, _, task) = start(open());
        client.write_all(ask.as_bytes()).await.unwrap();
        assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
        client.write_all(b"rest").await.unwrap();
        drop(client);
        assert!(task.await.unwrap().is_err());
    }
}
