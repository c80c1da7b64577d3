#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpListener;

use super::*;
use crate::flow::{recv, send};
use crate::inbound::fallback::{Fallback, Refuge};
use crate::inbound::testing::{common, visitor};
use crate::proto::trojan::Token;

fn server(fallbacks: Option<Fallbacks>) -> Trojan {
    Trojan::new(trojan::Users::new([(*Token::new("p").text(), Member::new("ann@x", 3))]), fallbacks)
}

fn header(password: &str, network: Network) -> Vec<u8> {
    let mut out = Vec::new();
    Token::new(password).write_request(network, &"10.0.0.1:53".parse().unwrap(), &mut out);
    out
}

async fn visit(server: &Trojan, said: &[u8]) -> (DuplexStream, Result<Accepted, Fault>) {
    let (near, mut far) = duplex(1 << 12);
    far.write_all(said).await.unwrap();
    let arrival = Arrival { io: Box::new(near), hello: None, source: None };
    let accepted = server.accept(&common(), &visitor(), arrival).await;
    (far, accepted)
}

#[tokio::test]
async fn a_stream_is_bare_behind_its_header() {
    let (mut client, accepted) = visit(&server(None), &[&header("p", Network::Tcp)[..], b"early"].concat()).await;
    let Ok(Accepted::Stream(flow, mut io)) = accepted else { unreachable!() };
    assert_eq!((flow.user.as_deref(), flow.level, flow.network), (Some("ann@x"), 3, Network::Tcp));
    let mut room = [0; 5];
    io.read_exact(&mut room).await.unwrap();
    io.write_all(b"later").await.unwrap();
    let mut back = [0; 5];
    client.read_exact(&mut back).await.unwrap();
    assert_eq!((&room, &back), (b"early", b"later"));
}

#[tokio::test]
async fn each_datagram_goes_where_it_says() {
    let frame = b"\x03\x09a.example\x00\x35\x00\x03\r\nask";
    let (mut client, accepted) = visit(&server(None), &[&header("p", Network::Udp)[..], frame].concat()).await;
    let Ok(Accepted::Packets(_, mut io)) = accepted else { unreachable!() };
    let mut buf = BytesMut::new();
    let target = recv(&mut *io, &mut buf).await.unwrap();
    assert_eq!((target.to_string().as_str(), &buf[..]), ("a.example:53", &b"ask"[..]));
    send(&mut *io, b"tell", &"1.2.3.4:53".parse().unwrap()).await.unwrap();
    let mut room = [0; 15];
    client.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"\x01\x01\x02\x03\x04\x00\x35\x00\x04\r\ntell");
}

#[tokio::test]
async fn strangers_are_closed_without_a_word_and_half_a_token_is_one() {
    for said in [&header("q", Network::Tcp), &header("p", Network::Tcp)[..57], b"GET / HTTP/1.1\r\n\r\n"] {
        let (mut client, accepted) = visit(&server(None), said).await;
        assert!(matches!(accepted, Err(Fault::Login)));
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert!(all.is_empty());
    }
}

#[tokio::test]
async fn with_a_fallback_a_stranger_meets_somebody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = Refuge::Tcp(listener.local_addr().unwrap().into());
    let open = String::new;
    let entry = Fallback { name: open(), alpn: open(), path: open(), to, header: None };
    let server = server(Some(Fallbacks::new(vec![entry])));
    let web = async {
        let (mut io, _) = listener.accept().await.unwrap();
        let mut heard = [0; 18];
        io.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"GET / HTTP/1.1\r\n\r\n");
        io.write_all(b"page").await.unwrap();
    };
    let (near, mut far) = duplex(1 << 12);
    far.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let arrival = Arrival { io: Box::new(near), hello: None, source: None };
    let (common, visitor) = (common(), visitor());
    let visiting = async {
        let mut page = Vec::new();
        far.read_to_end(&mut page).await.unwrap();
        page
    };
    let (accepted, (), page) = tokio::join!(server.accept(&common, &visitor, arrival), web, visiting);
    assert!(matches!(accepted, Ok(Accepted::Served)));
    assert_eq!(page, b"page");
}
