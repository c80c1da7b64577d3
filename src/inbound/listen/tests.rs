#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::addr::Host as Name;
use crate::flow::{recv, send};
use crate::inbound::association::Relay;
use crate::inbound::dokodemo::Dokodemo;
use crate::inbound::host::Original;
use crate::inbound::http::Http;
use crate::inbound::kind::Kind;
use crate::inbound::mixed::Mixed;
use crate::inbound::roaming::Roaming;
use crate::inbound::socks::Socks;
use crate::inbound::testing::{Flows, common, sink, until};
#[cfg(unix)]
use crate::inbound::unix::UnixPlace;
use crate::transport::Acceptor;

fn start(kind: Kind, places: Vec<Place>) -> Started {
    start_with(kind, places, Acceptor::raw())
}

type Started = (Vec<SocketAddr>, Flows, CancellationToken, JoinHandle<()>);

fn start_with(kind: Kind, places: Vec<Place>, acceptor: Acceptor) -> Started {
    let inbound = Inbound {
        common: common(),
        kind,
        places,
        options: SocketOptions::default(),
        original: Original::Unknown,
        acceptor,
        roaming: Roaming::default(),
    };
    let listeners: Vec<_> = inbound.places.iter().map(|place| Listener::open(&inbound, place).unwrap()).collect();
    let local = listeners.iter().filter_map(Listener::local).collect();
    let (sink, flows) = sink();
    let closing = CancellationToken::new();
    let host = Host { inbound: Arc::new(inbound), sink, closing: closing.clone() };
    let host = Arc::new(ArcSwap::from_pointee(host));
    let hours = Hours { closing: closing.clone(), over: closing.clone() };
    let mut loops = JoinSet::new();
    listeners.into_iter().for_each(|listener| _ = loops.spawn(listener.run(Arc::clone(&host), hours.clone())));
    (local, flows, closing, tokio::spawn(async move { while loops.join_next().await.is_some() {} }))
}

fn tcp() -> Place {
    Place::Tcp(([127, 0, 0, 1], 0).into())
}

#[tokio::test]
async fn socks_and_http_share_a_port() {
    let mixed = Mixed::new(Socks::new(None, Relay::Off), Http::new(None, false));
    let (at, mut flows, token, task) = start(Kind::Mixed(mixed), vec![tcp(), tcp()]);
    assert_eq!(at.len(), 2);
    let mut socks = TcpStream::connect(at[0]).await.unwrap();
    socks.write_all(b"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50").await.unwrap();
    let (flow, io, held) = flows.stream().await;
    assert_eq!((flow.target.to_string().as_str(), flow.local), ("a.example:80", at[0]));
    assert_eq!(flow.source, socks.local_addr().unwrap());
    // Nothing was read too far, so the kernel may move what follows.
    assert!(io.raw(crate::flow::Half::Read).is_some());
    held.end();
    let mut http = TcpStream::connect(at[1]).await.unwrap();
    http.write_all(b"CONNECT b.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    until(&mut http, "\r\n\r\n").await;
    assert_eq!(flows.stream().await.0.target.to_string(), "b.example:443");
    token.cancel();
    task.await.unwrap();
    assert!(TcpStream::connect(at[0]).await.is_err());
}

#[tokio::test]
async fn a_door_leads_streams_and_datagrams_to_its_target() {
    let door = Dokodemo { host: Name::parse("a.example").ok(), port: Some(53), ..Dokodemo::default() };
    let (at, mut flows, ..) = start(Kind::Dokodemo(door), vec![tcp(), Place::Udp(([127, 0, 0, 1], 0).into())]);
    let mut stream = TcpStream::connect(at[0]).await.unwrap();
    let (flow, mut io, _held) = flows.stream().await;
    assert_eq!(flow.target.to_string(), "a.example:53");
    io.write_all(b"hi").await.unwrap();
    stream.read_exact(&mut [0; 2]).await.unwrap();

    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.send_to(b"ask", at[1]).await.unwrap();
    let (flow, mut packets, _held) = flows.packets().await;
    assert_eq!((flow.source, flow.local), (client.local_addr().unwrap(), at[1]));
    let mut buf = bytes::BytesMut::new();
    assert_eq!(recv(&mut packets, &mut buf).await.unwrap(), flow.target);
    assert_eq!(&buf[..], b"ask");
    send(&mut packets, b"tell", &"192.0.2.1:53".parse().unwrap()).await.unwrap();
    assert_eq!(client.recv_from(&mut [0; 8]).await.unwrap(), (4, at[1]));
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_a_place_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.sock");
    let place = UnixPlace::File { path: path.clone(), mode: None };
    let (_, mut flows, token, task) = start(Kind::Http(Http::new(None, false)), vec![Place::Unix(place)]);
    let mut client = tokio::net::UnixStream::connect(&path).await.unwrap();
    client.write_all(b"CONNECT b.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let (flow, ..) = flows.stream().await;
    assert_eq!((flow.target.to_string().as_str(), flow.source.port()), ("b.example:443", 0));
    token.cancel();
    task.await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_place_that_is_taken_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let holder = UdpSocket::bind(taken).await.unwrap();
    let inbound = Inbound {
        common: common(),
        kind: Kind::Dokodemo(Dokodemo::default()),
        places: vec![tcp(), Place::Udp(taken)],
        options: SocketOptions::default(),
        original: Original::Unknown,
        acceptor: Acceptor::raw(),
        roaming: Roaming::default(),
    };
    let error = Listener::open(&inbound, &inbound.places[1]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on udp {taken}: ")), "{error}");
    drop(holder);
}

#[tokio::test]
async fn tls_is_taken_off_first() {
    use crate::tls::{ClientOptions, Crypto, Pem, ServerOptions};
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (chain, key) = (Pem::Inline(own.pem()), Pem::Inline(key.serialize_pem()));
    let crypto = Crypto::default();
    let server = ServerOptions { certificates: vec![(chain.clone(), key)], ..ServerOptions::default() };
    let acceptor = Acceptor::raw().with_tls(crate::tls::Server::new(&crypto, &server).unwrap());
    let (at, mut flows, ..) = start_with(Kind::Http(Http::new(None, false)), vec![tcp()], acceptor);
    let options = ClientOptions { roots: vec![chain], no_system_roots: true, ..ClientOptions::default() };
    let client = crate::tls::Client::new(&crypto, &options).unwrap();
    let name = Name::parse("a.example").unwrap();
    let mut io = client.connect(TcpStream::connect(at[0]).await.unwrap(), &name).await.unwrap();
    io.write_all(b"CONNECT b.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    io.flush().await.unwrap();
    assert_eq!(flows.stream().await.0.target.to_string(), "b.example:443");
}
