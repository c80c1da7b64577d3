use std::sync::Arc;

use bytes::Buf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::flow::{recv, send};
use crate::outbound::testing::{House, flow};
use crate::proto::shadowsocks::v2022::{self, ClientKeys, ServerKeys, ServerSession};
use crate::proto::shadowsocks::{Key, Method, Server, open_datagram, seal_datagram};
use crate::transport::Dialer;
use crate::wire::testing::feed;

fn outbound(at: std::net::SocketAddr, key: ShadowsocksKey) -> Shadowsocks {
    let dialer = Dialer::raw(Default::default(), Default::default());
    Shadowsocks::new(dialer, vec![ShadowsocksServer { address: at.into(), key }])
}

fn now() -> u64 {
    crate::net::clock::seconds()
}

fn new_key(byte: u8) -> Key {
    Key::of_bytes(Method::Aes128, &[byte; 16]).expect("a key")
}

/// What a client of `key` says in its first segment, beginning with `first`.
async fn opening(key: ShadowsocksKey, first: &[u8]) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let outbound = outbound(listener.local_addr().expect("bound"), key);
    let (house, flow) = (House::default(), flow("a.example:443"));
    let (io, accepted) = tokio::join!(outbound.connect(&house, &flow, first), listener.accept());
    let (mut io, (mut server, _)) = (io.expect("a stream"), accepted.expect("a visitor"));
    assert_eq!(flow.meter.is_given(), !first.is_empty());
    let mut said = vec![0; 65_536];
    // A client that stays silent is waited for, but not for ever.
    let mut silent = [0];
    tokio::select! {
        read = io.read(&mut silent) => unreachable!("the server said nothing: {read:?}"),
        len = server.read(&mut said) => said.truncate(len.expect("a read")),
    }
    said
}

#[tokio::test]
async fn the_opening_leaves_with_the_first_bytes_or_after_a_while_without() {
    for first in [&b"hello"[..], b""] {
        let old = Key::of_password(Method::Chacha20, b"pw");
        let said = opening(ShadowsocksKey::Old(old.clone()), first).await;
        let keys = [old];
        let request = feed(Server::new(&keys, |_| true), [&said[..]]).result.and_then(Result::ok).expect("a request");
        assert_eq!((request.target.to_string().as_str(), &request.early[..]), ("a.example:443", first));

        let keys = ServerKeys::shared(new_key(1), vec![new_key(2)]).expect("keys");
        let said =
            opening(ShadowsocksKey::New(ClientKeys::new(vec![new_key(1), new_key(2)]).expect("keys")), first).await;
        let outcome = feed(v2022::Server::new(&keys, now(), |_| true), [&said[..]]);
        assert_eq!(outcome.used, said.len());
        let request = outcome.result.and_then(Result::ok).expect("a request");
        assert_eq!((request.target.to_string().as_str(), &request.early[..]), ("a.example:443", first));

        let said = opening(ShadowsocksKey::Plain, first).await;
        assert_eq!(said, [&b"\x03\x09a.example\x01\xbb"[..], first].concat());
    }
}

#[tokio::test]
async fn datagrams_are_sealed_each_by_itself_and_strangers_are_not_heard() {
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let key = Key::of_password(Method::Xchacha20, b"pw");
    let outbound = outbound(server.local_addr().expect("bound"), ShadowsocksKey::Old(key.clone()));
    let house: Arc<dyn Services> = Arc::new(House::default());
    let mut way = outbound.associate(&*house, &flow("1.2.3.4:53")).await.expect("an association");
    let mut room = [0; 2048];
    let (asked, other): (Target, Target) =
        ("1.2.3.4:53".parse().expect("a target"), "9.9.9.9:9".parse().expect("a target"));
    let mut salts = Vec::new();
    let mut recorded = BytesMut::from(&[7; 100][..]);
    for salt in 0..2 {
        send(&mut way, b"ask", &asked).await.expect("sent");
        let (len, client) = server.recv_from(&mut room).await.expect("a datagram");
        salts.push(room[..32].to_vec());
        let (to, at) = open_datagram(&key, &mut room[..len]).expect("sealed by the key");
        assert_eq!((to, &room[at]), (asked.clone(), &b"ask"[..]));
        // A stranger's datagram, and then a friend's once more.
        server.send_to(&recorded, client).await.expect("sent");
        let mut out = BytesMut::new();
        let answer = [b"answer", &[salt][..]].concat();
        seal_datagram(&key, &[salt; 32], &other, &answer, &mut out).expect("a key");
        server.send_to(&out, client).await.expect("sent");
        recorded = out;
        let mut buf = BytesMut::new();
        assert_eq!(recv(&mut way, &mut buf).await.expect("an answer"), other);
        assert_eq!(buf.chunk(), answer);
    }
    assert_ne!(salts[0], salts[1]);
}

#[tokio::test]
async fn datagrams_of_2022_are_a_session() {
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let key = ClientKeys::new(vec![new_key(1)]).expect("keys");
    let outbound = outbound(server.local_addr().expect("bound"), ShadowsocksKey::New(key));
    let house: Arc<dyn Services> = Arc::new(House::default());
    let mut way = outbound.associate(&*house, &flow("1.2.3.4:53")).await.expect("an association");
    let keys = ServerKeys::single(new_key(1)).expect("keys");
    let asked: Target = "1.2.3.4:53".parse().expect("a target");
    let mut session = None;
    let mut room = [0; 4096];
    for _ in 0..3 {
        send(&mut way, b"ask", &asked).await.expect("sent");
        let (len, client) = server.recv_from(&mut room).await.expect("a datagram");
        keys.name(&mut room[..len]).expect("a name");
        let session =
            session.get_or_insert_with(|| ServerSession::new(&keys, &room[..len], [5; 8]).expect("a session"));
        let (to, at) = session.open(&mut room[..len], now()).expect("a question");
        assert_eq!((&to, &room[at.clone()]), (&asked, &b"ask"[..]));
        assert!(at.start > 16 + 11 + 7, "questions to DNS are padded");
        let mut out = BytesMut::new();
        session.seal(&asked, b"answer", now(), 0, [0; 24], &mut out);
        server.send_to(&out, client).await.expect("sent");
        let mut buf = BytesMut::new();
        assert_eq!(recv(&mut way, &mut buf).await.expect("an answer"), asked);
        assert_eq!(buf.chunk(), b"answer");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_passed_over() {
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("bound");
    let there = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server =
        |address: std::net::SocketAddr| ShadowsocksServer { address: address.into(), key: ShadowsocksKey::Plain };
    let dialer = Dialer::raw(Default::default(), Default::default());
    let outbound = Shadowsocks::new(dialer, vec![server(gone), server(there.local_addr().expect("bound"))]);
    let house = House::default();
    let mut io = outbound.connect(&house, &flow("a.example:1"), b"x").await.expect("the second server");
    let (mut visitor, _) = there.accept().await.expect("a visitor");
    visitor.write_all(b"y").await.expect("written");
    assert_eq!(io.read_u8().await.expect("an answer"), b'y');
}
