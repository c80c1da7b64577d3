use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::*;
use crate::flow::{recv, send};
use crate::inbound::testing::{common, visitor};
use crate::net::udp::Datagrams as Socket;
use crate::net::{Hours, SocketOptions, share};
use crate::proto::shadowsocks::v2022::{ClientKeys, ClientSession, RequestSealer, ResponseOpener};
use crate::proto::shadowsocks::{Key, Method, Opener, open_datagram, seal_datagram};
use crate::wire::Seal;

fn member(email: &str) -> Member {
    Member::new(email, 3)
}

fn old_key(password: &str) -> Key {
    Key::of_password(Method::Aes128, password.as_bytes())
}

fn new_key(byte: u8) -> Key {
    Key::of_bytes(Method::Aes128, &[byte; 16]).expect("a key")
}

fn old_server(seed: u64) -> Shadowsocks {
    let other = Key::of_password(Method::Chacha20, b"other");
    let users = vec![(other, member("other@x")), (old_key("pw"), member("u@x"))];
    Shadowsocks::new(ShadowsocksUsers::old(users, seed))
}

fn new_server() -> Shadowsocks {
    let keys = ServerKeys::shared(new_key(1), vec![new_key(2), new_key(3)]).expect("keys");
    Shadowsocks::new(ShadowsocksUsers::new(keys, vec![member("two@x"), member("three@x")]))
}

fn target() -> Target {
    "a.example:443".parse().expect("a target")
}

fn old_request(password: &str) -> (BytesMut, Sealer) {
    let mut seal = Sealer::request(&old_key(password), salt(16), &target()).expect("a key");
    let mut out = BytesMut::new();
    seal.seal(b"hello", &mut out);
    (out, seal)
}

fn new_request(keys: Vec<Key>, now: u64) -> (BytesMut, Vec<u8>) {
    let (mut out, salt) = (BytesMut::new(), salt(16));
    let keys = ClientKeys::new(keys).expect("keys");
    RequestSealer::new(&keys, salt.clone(), &target(), now, 5).expect("keys").seal(b"hello", &mut out);
    (out, salt)
}

/// A connection whose client has said this; real sockets, since how they end is looked at.
async fn said(bytes: &[u8]) -> (TcpStream, BoxStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let mut client = TcpStream::connect(listener.local_addr().expect("bound")).await.expect("a connection");
    client.write_all(bytes).await.expect("written");
    let (server, _) = listener.accept().await.expect("a visitor");
    server.readable().await.expect("readable");
    (client, Box::new(server))
}

async fn accepted(server: &Shadowsocks, bytes: &[u8]) -> (TcpStream, Result<Accepted, Fault>) {
    let (client, io) = said(bytes).await;
    let accepted = server.accept(&common(), &visitor(), io).await;
    (client, accepted)
}

#[tokio::test]
async fn a_user_of_the_old_generation_is_known_and_answered() {
    let (request, _) = old_request("pw");
    let (client, accepted) = accepted(&old_server(0), &request).await;
    let Ok(Accepted::Stream(flow, mut io)) = accepted else { unreachable!("a stream") };
    assert_eq!((flow.user.as_deref(), flow.level, flow.target), (Some("u@x"), 3, target()));
    let mut early = [0; 5];
    io.read_exact(&mut early).await.expect("what was said already");
    assert_eq!(&early, b"hello");
    io.write_all(b"welcome").await.expect("written");
    io.flush().await.expect("flushed");
    let mut client = Framed::new(
        client,
        BytesMut::new(),
        Sealer::response(&old_key("pw"), salt(16)).expect("a key"),
        Opener::response(old_key("pw")),
    );
    let mut answer = [0; 7];
    client.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"welcome");
}

#[tokio::test]
async fn strangers_are_read_for_as_long_as_the_seed_says_and_replays_are_strangers() {
    let server = old_server(200);
    let (request, _) = old_request("pw");
    assert!(accepted(&server, &request).await.1.is_ok());
    for bytes in [request.clone(), old_request("wrong").0, BytesMut::from(&[7; 50][..])] {
        let (mut client, io) = said(&bytes).await;
        let visit = tokio::spawn({
            let server = old_server(200);
            // The salt of the request is known to a server that saw it.
            let _ = server.fresh(&request[..16]);
            async move { server.accept(&common(), &visitor(), io).await.is_err() }
        });
        // 54 and 200 bytes, and one of spread: the connection stays until then.
        client.write_all(&vec![1; 253 - bytes.len()]).await.expect("written");
        let mut scrap = [0; 8];
        tokio::select! {
            read = client.read(&mut scrap) => unreachable!("ended early: {read:?}"),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        client.write_all(&[1; 1]).await.expect("written");
        assert_eq!(client.read(&mut scrap).await.expect("a plain end"), 0);
        assert!(visit.await.expect("no panic"));
    }
}

#[tokio::test]
async fn a_user_of_2022_is_known_and_answered() {
    let (request, asked) = new_request(vec![new_key(1), new_key(3)], clock::seconds());
    let (client, accepted) = accepted(&new_server(), &request).await;
    let Ok(Accepted::Stream(flow, mut io)) = accepted else { unreachable!("a stream") };
    assert_eq!((flow.user.as_deref(), flow.level, flow.target), (Some("three@x"), 3, target()));
    let mut early = [0; 5];
    io.read_exact(&mut early).await.expect("what was said already");
    assert_eq!(&early, b"hello");
    io.write_all(b"welcome").await.expect("written");
    io.flush().await.expect("flushed");
    let open = ResponseOpener::new(new_key(3), asked, clock::seconds);
    let mut client = Framed::new(client, BytesMut::new(), crate::wire::Preface::new(Vec::new()), open);
    let mut answer = [0; 7];
    client.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"welcome");
}

#[tokio::test]
async fn strangers_of_2022_are_reset_at_once() {
    let server = new_server();
    let now = clock::seconds();
    let good = new_request(vec![new_key(1), new_key(2)], now).0;
    assert!(accepted(&server, &good).await.1.is_ok());
    let late = new_request(vec![new_key(1), new_key(2)], now - 100).0;
    let short = &new_request(vec![new_key(1), new_key(2)], now).0[..30];
    let wrong = new_request(vec![new_key(1), new_key(9)], now).0;
    for bytes in [&good[..], &late, short, &wrong, &[7; 3000]] {
        let (mut client, accepted) = accepted(&server, bytes).await;
        assert!(accepted.is_err());
        let end = client.read(&mut [0; 8]).await.expect_err("a reset");
        assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

#[tokio::test]
async fn users_are_replaced_while_it_runs() {
    let server = old_server(0);
    let next = Shadowsocks::new(ShadowsocksUsers::old(vec![(old_key("next"), member("n@x"))], 0));
    assert!(server.take_users(&next));
    assert!(accepted(&server, &old_request("next").0).await.1.is_ok());
    let (client, io) = said(&old_request("pw").0).await;
    drop(client);
    assert!(server.accept(&common(), &visitor(), io).await.is_err());
}

/// A UDP server, and the associations that begin there.
async fn shared(server: Shadowsocks) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<Accepted>) {
    let socket = Arc::new(Socket::bind(([127, 0, 0, 1], 0).into(), &SocketOptions::default()).expect("a port"));
    let at = socket.local().expect("bound");
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let name = |datagram: &mut [u8], from| server.name(datagram, from);
        let take = |session| {
            if let Ok(accepted) = server.packets(&common(), &visitor(), session) {
                let _ = sender.send(accepted);
            }
        };
        share(socket, &Hours::default(), name, take).await
    });
    (at, receiver)
}

async fn client() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.expect("a port")
}

#[tokio::test]
async fn datagrams_of_the_old_generation_belong_to_an_address() {
    let (at, mut begun) = shared(old_server(0)).await;
    let key = old_key("pw");
    let sealed = |payload: &[u8]| {
        let mut out = BytesMut::new();
        seal_datagram(&key, &salt(16), &target(), payload, &mut out).expect("a key");
        out
    };
    let (friend, stranger) = (client().await, client().await);
    stranger.send_to(&[7; 100], at).await.expect("sent");
    let first = sealed(b"one");
    friend.send_to(&first, at).await.expect("sent");
    let Some(Accepted::Packets(flow, mut packets)) = begun.recv().await else { unreachable!("an association") };
    assert_eq!((flow.user.as_deref(), flow.target), (Some("u@x"), target()));
    friend.send_to(b"garbage", at).await.expect("sent");
    // What was recorded counts nowhere, not for the friend and not for whoever recorded it.
    for again in [&friend, &stranger] {
        again.send_to(&first, at).await.expect("sent");
    }
    friend.send_to(&sealed(b"two"), at).await.expect("sent");
    for expected in [b"one", b"two"] {
        let mut buf = BytesMut::new();
        assert_eq!(recv(&mut packets, &mut buf).await.expect("a datagram"), target());
        assert_eq!(&buf[..], expected);
    }
    send(&mut packets, b"answer", &target()).await.expect("sent");
    let mut room = [0; 512];
    let len = friend.recv(&mut room).await.expect("an answer");
    let (from, answer) = open_datagram(&key, &mut room[..len]).expect("sealed");
    assert_eq!((from, &room[answer]), (target(), &b"answer"[..]));
    assert!(begun.try_recv().is_err());
}

#[tokio::test]
async fn a_session_of_2022_may_move_but_nobody_can_take_it() {
    let (at, mut begun) = shared(new_server()).await;
    let keys = ClientKeys::new(vec![new_key(1), new_key(3)]).expect("keys");
    let mut session = ClientSession::new(keys, [7; 8]).expect("keys");
    let mut sealed = |payload: &[u8]| {
        let mut out = BytesMut::new();
        session.seal(&target(), payload, clock::seconds(), 0, [0; 24], &mut out);
        out
    };
    let (here, there, thief) = (client().await, client().await, client().await);
    let first = sealed(b"one");
    here.send_to(&first, at).await.expect("sent");
    let Some(Accepted::Packets(flow, mut packets)) = begun.recv().await else { unreachable!("an association") };
    assert_eq!((flow.user.as_deref(), flow.target), (Some("three@x"), target()));
    there.send_to(&sealed(b"two"), at).await.expect("sent");
    for expected in [b"one", b"two"] {
        let mut buf = BytesMut::new();
        recv(&mut packets, &mut buf).await.expect("a datagram");
        assert_eq!(&buf[..], expected);
    }
    thief.send_to(&first, at).await.expect("sent");
    thief.send_to(&[7; 100], at).await.expect("sent");
    here.send_to(&[7; 4], at).await.expect("sent");
    there.send_to(&sealed(b"end"), at).await.expect("sent");
    let mut buf = BytesMut::new();
    recv(&mut packets, &mut buf).await.expect("a datagram");
    assert_eq!(&buf[..], b"end");
    send(&mut packets, b"answer", &target()).await.expect("sent");
    let mut room = [0; 512];
    let len = there.recv(&mut room).await.expect("an answer");
    let (from, answer) = session.open(&mut room[..len], clock::seconds()).expect("sealed");
    assert_eq!((from, &room[answer]), (target(), &b"answer"[..]));
    assert!(begun.try_recv().is_err());
}

#[tokio::test]
async fn what_an_ended_session_sent_opens_no_other() {
    let (at, mut begun) = shared(new_server()).await;
    let keys = ClientKeys::new(vec![new_key(1), new_key(3)]).expect("keys");
    let mut session = ClientSession::new(keys, [7; 8]).expect("keys");
    let mut sealed = |payload: &[u8]| {
        let mut out = BytesMut::new();
        session.seal(&target(), payload, clock::seconds(), 0, [0; 24], &mut out);
        out
    };
    let (client, thief) = (client().await, client().await);
    let (one, two) = (sealed(b"one"), sealed(b"two"));
    client.send_to(&one, at).await.expect("sent");
    let Some(Accepted::Packets(_, packets)) = begun.recv().await else { unreachable!("an association") };
    drop(packets);
    thief.send_to(&one, at).await.expect("sent");
    client.send_to(&two, at).await.expect("sent");
    let Some(Accepted::Packets(_, mut packets)) = begun.recv().await else { unreachable!("an association") };
    let mut buf = BytesMut::new();
    recv(&mut packets, &mut buf).await.expect("a datagram");
    assert_eq!(&buf[..], b"two", "the session goes on with what is new alone");
}
