#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::net::{Families, SocketOptions};
use crate::outbound::testing::{House, flow};
use crate::transport::Dialer;

/// Asks through a server that answers so; gives the result and the question.
async fn ask(answer: &str, first: &[u8]) -> (Result<BoxStream, DialError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().into();
    let servers = vec![Server { address, login: Some(("u".to_owned(), "p".to_owned())) }];
    let fields = [("X-Via", "{{.Source}} to {{ .Target }} by {{.Else}} {{"), ("User-Agent", "x")];
    let fields = fields.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
    let outbound = Http::new(Dialer::raw(SocketOptions::default(), Families::Any), servers, fields);
    let serving = async {
        let (mut io, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.unwrap());
        }
        io.write_all(answer.as_bytes()).await.unwrap();
        let mut payload = vec![0; if answer.contains(" 200 ") { first.len() } else { 0 }];
        io.read_exact(&mut payload).await.unwrap();
        String::from_utf8([head, payload].concat()).unwrap()
    };
    let (house, flow) = (House::default(), flow("[2001:db8::1]:443"));
    tokio::join!(outbound.connect(&house, &flow, first), serving)
}

#[tokio::test]
async fn a_tunnel_carries_the_first_bytes_and_keeps_early_ones() {
    let (stream, asked) = ask("HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0", b"first").await;
    assert_eq!(
        asked,
        "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\
         X-Via: tcp:192.0.2.1:5000 to tcp:[2001:db8::1]:443 by {{.Else}} {{\r\nUser-Agent: x\r\n\
         Proxy-Authorization: Basic dTpw\r\nProxy-Connection: Keep-Alive\r\n\r\nfirst"
    );
    let mut early = [0; 7];
    stream.unwrap().read_exact(&mut early).await.unwrap();
    assert_eq!(&early, b"SSH-2.0");
}

#[tokio::test]
async fn refusals_say_whose_fault_they_are() {
    for (answer, stage, blame) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Stage::Answer, Blame::Server),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", Stage::Answer, Blame::Target),
        ("SSH-2.0-x\r\n\r\n", Stage::Handshake, Blame::Server),
    ] {
        let (Err(error), _) = ask(answer, b"").await else { unreachable!() };
        assert_eq!((error.stage, error.blame), (stage, blame), "{error}");
    }
}
