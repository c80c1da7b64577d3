//! Each way against servers that keep to it, and servers that do not.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::asker::Asker;
use super::fault::Fault;
use super::question::Question;
use crate::addr::{DomainName, Tag};
use crate::dns::family::Family;
use crate::dns::message::{BadReply, Reply};
use crate::dns::tests::{Open, answer};
use crate::flow::Services;
use crate::model::serverform::ServerForm;
use crate::tls::Crypto;
use crate::tls::testing::Authority;

struct Client {
    asker: Asker,
    house: Arc<dyn Services>,
}

impl Client {
    fn new(address: &str, crypto: &Crypto) -> Self {
        let asker = Asker::new(&ServerForm::of(address, 53).unwrap(), crypto).unwrap().unwrap();
        Self { asker, house: Arc::new(Open) }
    }

    async fn ask(&self, name: &str) -> Result<Reply, Fault> {
        let (name, tag) = (DomainName::new(name).unwrap(), Tag::default());
        let question = Question { name: &name, family: Family::V4, client: None };
        let limit = Duration::from_secs(10);
        tokio::time::timeout(limit, self.asker.ask(&self.house, &tag, question, limit)).await.unwrap()
    }
}

/// What a site of HTTP/2 says to a question: status, content type, body. Nothing: the connection ends.
type Said = Option<(u16, &'static str, Vec<u8>)>;

/// A site without TLS; counts its connections.
async fn site(said: fn(&[u8]) -> Said) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((io, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(io, said));
        }
    });
    (at, count)
}

async fn serve(io: TcpStream, said: fn(&[u8]) -> Said) -> Option<()> {
    let mut connection = ::h2::server::handshake(io).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (head, mut body) = request.into_parts();
        assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/dns-query"));
        assert_eq!(head.headers["content-type"], "application/dns-message");
        // The library moves bytes only while somebody accepts.
        let asked = tokio::select! {
            asked = body.data() => asked?.ok()?,
            _ = connection.accept() => return None,
        };
        let (status, kind, answer) = said(&asked)?;
        let mut head = Response::builder().status(StatusCode::from_u16(status).unwrap());
        if !kind.is_empty() {
            head = head.header("content-type", kind);
        }
        let mut stream = respond.send_response(head.body(()).unwrap(), false).ok()?;
        stream.send_data(Bytes::from(answer), true).ok()?;
    }
    Some(())
}

const MESSAGE: &str = "application/dns-message";

#[tokio::test]
async fn a_site_is_asked_by_one_connection_for_as_long_as_it_lasts() {
    let (at, count) = site(|asked| {
        // One that is told so ends the connection, as a server does that is restarted.
        let ends = asked.windows(4).any(|bytes| bytes == b"\x03end");
        (!ends).then(|| (200, "Application/DNS-Message; charset=x", answer(asked, |_| {})))
    })
    .await;
    let client = Client::new(&format!("h2c+local://{at}/dns-query"), &Crypto::default());
    for name in ["a.test", "b.test"] {
        assert_eq!(client.ask(name).await.unwrap().ips.len(), 1);
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(matches!(client.ask("end.test").await, Err(Fault::Io(_))));
    assert_eq!(count.load(Ordering::SeqCst), 2, "it was asked once more on a fresh connection");
    assert_eq!(client.ask("c.test").await.unwrap().ips.len(), 1);
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_a_site_says_that_is_no_answer_is_named() {
    type Case = (fn(&[u8]) -> Said, Fault);
    let cases: [Case; 7] = [
        (|_| Some((502, MESSAGE, vec![])), Fault::Status(502)),
        (|_| Some((302, MESSAGE, vec![])), Fault::Status(302)),
        (|asked| Some((200, "text/html", answer(asked, |_| {}))), Fault::Type("text/html".into())),
        (|asked| Some((200, "", answer(asked, |_| {}))), Fault::Type("no content type".into())),
        (|_| Some((200, MESSAGE, vec![0; 65_536])), Fault::TooLong),
        (|_| Some((200, MESSAGE, b"<html>".to_vec())), Fault::NoAnswer(BadReply::Malformed)),
        (|asked| Some((200, MESSAGE, answer(asked, |m| m.queries.clear()))), Fault::NoAnswer(BadReply::Other)),
    ];
    for (said, fault) in cases {
        let (at, count) = site(said).await;
        let client = Client::new(&format!("h2c://{at}/dns-query"), &Crypto::default());
        for _ in 0..2 {
            assert_eq!(client.ask("a.test").await, Err(fault.clone()));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1, "{fault}: it is no reason for another connection");
    }
}

#[tokio::test]
async fn who_speaks_no_http2_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            io.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").await.unwrap();
        }
    });
    let client = Client::new(&format!("h2c://{at}/dns-query"), &Crypto::default());
    assert!(matches!(client.ask("a.test").await, Err(Fault::Io(_))));
}

/// A server by TCP that is given each question and may answer as it likes.
async fn pipe(mut said: impl FnMut(Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            while let Ok(len) = io.read_u16().await {
                let mut asked = vec![0; usize::from(len)];
                io.read_exact(&mut asked).await.unwrap();
                let answers = said(asked);
                if answers.first().is_some_and(Vec::is_empty) {
                    break;
                }
                for answer in answers {
                    io.write_u16(u16::try_from(answer.len()).unwrap()).await.unwrap();
                    io.write_all(&answer).await.unwrap();
                }
            }
        }
    });
    (at, count)
}

#[tokio::test]
async fn answers_on_one_connection_may_come_in_any_order() {
    let mut first: Option<Vec<u8>> = None;
    let (at, count) = pipe(move |asked| match first.take() {
        None => {
            first = Some(asked);
            vec![]
        }
        Some(first) => vec![answer(&asked, |_| {}), answer(&first, |m| m.answers.clear())],
    })
    .await;
    let client = Client::new(&format!("tcp://{at}"), &Crypto::default());
    let second = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.ask("b.test").await
    };
    let (a, b) = tokio::join!(client.ask("a.test"), second);
    assert_eq!((a.unwrap().ips.len(), b.unwrap().ips.len()), (0, 1));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_ended_is_replaced_and_garbage_is_named() {
    let (at, count) = pipe(|asked| {
        let named = |name: &[u8]| asked.windows(name.len()).any(|bytes| bytes == name);
        match () {
            () if named(b"\x03end") => vec![vec![]],
            () if named(b"\x07garbage") => vec![[&asked[..2], b"no message"].concat()],
            // Some server's answer to somebody else goes before it.
            () => vec![b"?".to_vec(), answer(&asked, |m| m.metadata.id ^= 1), answer(&asked, |_| {})],
        }
    })
    .await;
    let client = Client::new(&format!("tcp+local://{at}"), &Crypto::default());
    assert_eq!(client.ask("a.test").await.unwrap().ips.len(), 1);
    assert_eq!(client.ask("garbage.test").await, Err(Fault::NoAnswer(BadReply::Malformed)));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(client.ask("end.test").await, Err(Fault::Ended));
    assert_eq!(client.ask("b.test").await.unwrap().ips.len(), 1);
    assert_eq!(count.load(Ordering::SeqCst), 3, "one more try for the question that found it dead, one for the next");
}

#[tokio::test]
async fn many_questions_share_a_port_and_liars_end_that() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let at = socket.local_addr().unwrap();
    let ports = Arc::<Mutex<Vec<u16>>>::default();
    let seen = Arc::clone(&ports);
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        while let Ok((n, from)) = socket.recv_from(&mut buf).await {
            seen.lock().unwrap().push(from.port());
            let asked = &buf[..n];
            if asked.windows(4).any(|bytes| bytes == b"\x03lie") {
                for step in 1..100u16 {
                    let lie = answer(asked, |m| m.metadata.id = m.metadata.id.wrapping_add(step));
                    socket.send_to(&lie, from).await.unwrap();
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            socket.send_to(&answer(asked, |_| {}), from).await.unwrap();
        }
    });
    let client = Client::new(&format!("udp://{at}"), &Crypto::default());
    let last = || *ports.lock().unwrap().last().unwrap();
    let next = async |name: &str| (client.ask(name).await, last());
    let ((first, port), (second, same)) = (next("a.test").await, next("b.test").await);
    assert_eq!((first.unwrap().ips.len(), second.unwrap().ips.len()), (1, 1));
    assert_eq!(port, same);
    // The truth is waited for all the same.
    let (lied, same) = next("lie.test").await;
    assert_eq!((lied.unwrap().ips.len(), same), (1, port));
    let (_, other) = next("c.test").await;
    assert_ne!(port, other);
    let (mut before, mut changed) = (other, 0);
    for n in 0..220 {
        let (asked, port) = next(&format!("n{n}.test")).await;
        assert_eq!(asked.unwrap().ips.len(), 1);
        changed += usize::from(std::mem::replace(&mut before, port) != port);
    }
    assert!(changed >= 2, "a port is not kept for long: {changed}");
}

/// A server by QUIC: what it says to a question, and with which code it resets the stream if it says nothing.
async fn quic(said: fn(&[u8]) -> Result<Vec<u8>, u32>) -> (SocketAddr, Crypto, Arc<AtomicUsize>) {
    let authority = Authority::new();
    let config = authority.server("127.0.0.1", &[b"doq"]);
    let config = quinn::crypto::rustls::QuicServerConfig::try_from(config).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(config));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let (at, count) = (endpoint.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Some(caller) = endpoint.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let Ok(connection) = caller.await else { continue };
            tokio::spawn(async move {
                while let Ok((mut up, mut down)) = connection.accept_bi().await {
                    // The question ends with its stream (RFC 9250 4.2).
                    let asked = down.read_to_end(4096).await.unwrap();
                    assert_eq!(usize::from(u16::from_be_bytes([asked[0], asked[1]])), asked.len() - 2);
                    assert_eq!((asked.len() - 2, &asked[2..4]), (128, &[0, 0][..]), "padded, and without a number");
                    match said(&asked[2..]) {
                        Ok(answer) => {
                            up.write_all(&answer).await.unwrap();
                            up.finish().unwrap();
                        }
                        Err(0) => connection.close(0u32.into(), b"restart"),
                        Err(code) => up.reset(code.into()).unwrap(),
                    }
                }
            });
        }
    });
    (at, authority.trusted(), count)
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&u16::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

#[tokio::test]
async fn a_server_by_quic_has_a_stream_for_each_question_and_may_refuse_it() {
    let (at, crypto, count) = quic(|asked| {
        let named = |name: &[u8]| asked.windows(name.len()).any(|bytes| bytes == name);
        match () {
            () if named(b"\x05reset") => Err(2),
            () if named(b"\x03end") => Err(0),
            () if named(b"\x05short") => Ok(framed(&answer(asked, |_| {}))[..20].to_vec()),
            () => Ok(framed(&answer(asked, |_| {}))),
        }
    })
    .await;
    let client = Client::new(&format!("quic+local://{at}"), &crypto);
    let (a, b) = tokio::join!(client.ask("a.test"), client.ask("b.test"));
    assert_eq!((a.unwrap().ips.len(), b.unwrap().ips.len()), (1, 1));
    assert_eq!(client.ask("reset.test").await, Err(Fault::Reset(2)));
    assert_eq!(client.ask("short.test").await, Err(Fault::NoAnswer(BadReply::Malformed)));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(matches!(client.ask("end.test").await, Err(Fault::Io(_))));
    assert_eq!(client.ask("c.test").await.unwrap().ips.len(), 1);
    assert_eq!(count.load(Ordering::SeqCst), 3);
    let stranger = Client::new(&format!("quic+local://{at}"), &Crypto::default());
    let told = stranger.ask("a.test").await.unwrap_err().to_string();
    assert!(told.contains("invalid peer certificate: UnknownIssuer"), "{told}");
}
