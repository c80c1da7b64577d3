#![allow(clippy::unwrap_used)]

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::*;
use crate::flow::{recv, send};
use crate::net::{Families, SocketOptions};
use crate::outbound::testing::{House, flow};
use crate::proto::login::Logins;
use crate::proto::socks::{self, Reply, Request};
use crate::transport::Dialer;

fn outbound(servers: &[(SocketAddr, bool)]) -> Socks {
    let server = |&(at, login): &(SocketAddr, bool)| Server {
        address: at.into(),
        login: login.then(|| ("u".to_owned(), "p".to_owned())),
    };
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    Socks::new(dialer, servers.iter().map(server).collect())
}

async fn bound() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

/// A server that reads one request and answers it.
async fn serve(listener: &TcpListener, reply: Reply, at: SocketAddr) -> (TcpStream, Request) {
    let (mut io, _) = listener.accept().await.unwrap();
    let logins = Logins::new([("u", "p")]);
    let mut held = BytesMut::new();
    let mut server = socks::Server::new(Some(&logins));
    let request = drive(&mut io, &mut held, &mut server, Bounds::within(HANDSHAKE)).await.unwrap();
    io.write_all(&request.answer(reply, at)).await.unwrap();
    (io, request)
}

#[tokio::test]
async fn a_tunnel_carries_the_first_bytes_and_keeps_early_ones() {
    let (listener, at) = bound().await;
    let serving = async {
        let (mut io, request) = serve(&listener, Reply::Succeeded, at).await;
        io.write_all(b"early").await.unwrap();
        let mut all = [0; 5];
        io.read_exact(&mut all).await.unwrap();
        assert_eq!((&all, request.target.to_string().as_str()), (b"first", "a.example:443"));
    };
    let (outbound, house, flow) = (outbound(&[(at, true)]), House::default(), flow("a.example:443"));
    let (stream, ()) = tokio::join!(outbound.connect(&house, &flow, b"first"), serving);
    let mut all = [0; 5];
    stream.unwrap().read_exact(&mut all).await.unwrap();
    assert_eq!(&all, b"early");
}

/// Regression for case 013: a list of servers in one outbound.
#[tokio::test]
async fn a_server_that_refuses_is_passed_over() {
    let dead = tokio::net::TcpSocket::new_v4().unwrap();
    dead.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (listener, at) = bound().await;
    let outbound = outbound(&[(dead.local_addr().unwrap(), true), (at, true)]);
    let (house, flow) = (House::default(), flow("a.example:443"));
    for _ in 0..3 {
        let (stream, _) = tokio::join!(outbound.connect(&house, &flow, b""), serve(&listener, Reply::Succeeded, at));
        assert!(stream.is_ok());
    }
}

#[tokio::test]
async fn refusals_say_whose_fault_they_are() {
    for (reply, blame) in [(Reply::HostUnreachable, Blame::Target), (Reply::NotAllowed, Blame::Server)] {
        let (listener, at) = bound().await;
        let (outbound, house, flow) = (outbound(&[(at, true)]), House::default(), flow("a.example:443"));
        let (stream, _) = tokio::join!(outbound.connect(&house, &flow, b""), serve(&listener, reply, at));
        let Err(error) = stream else { unreachable!() };
        assert_eq!((error.stage, error.blame), (Stage::Answer, blame));
    }
    let (listener, at) = bound().await;
    let serving = async { drop(listener.accept().await.unwrap()) };
    let (outbound, house, flow) = (outbound(&[(at, false)]), House::default(), flow("a.example:443"));
    let (stream, ()) = tokio::join!(outbound.connect(&house, &flow, b""), serving);
    let Err(error) = stream else { unreachable!() };
    assert_eq!((error.stage, error.blame), (Stage::Handshake, Blame::Server));
}

#[tokio::test]
async fn datagrams_go_by_the_relay_and_end_with_the_control_connection() {
    for announced in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv4Addr::UNSPECIFIED.into()] {
        let (listener, at) = bound().await;
        let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = relay.local_addr().unwrap().port();
        let (outbound, house, flow) = (outbound(&[(at, true)]), House::default(), flow("0.0.0.0:0"));
        let serving = serve(&listener, Reply::Succeeded, SocketAddr::new(announced, port));
        let (packets, (control, request)) = tokio::join!(outbound.associate(&house, &flow), serving);
        assert_eq!(request.command, Command::Associate);
        let mut packets = packets.unwrap();
        send(&mut packets, b"ask", &"a.example:53".parse().unwrap()).await.unwrap();
        let mut room = [0; 64];
        let (len, from) = relay.recv_from(&mut room).await.unwrap();
        assert_eq!(read_datagram(&room[..len]).unwrap(), ("a.example:53".parse().unwrap(), &b"ask"[..]));
        stranger.send_to(b"\0\0\0\x01\x0a\0\0\x01\0\x35bad", from).await.unwrap();
        relay.send_to(b"nonsense", from).await.unwrap();
        relay.send_to(b"\0\0\0\x01\x0a\0\0\x01\0\x35tell", from).await.unwrap();
        let mut buf = BytesMut::new();
        let peer = recv(&mut packets, &mut buf).await.unwrap();
        assert_eq!((peer.to_string().as_str(), &buf[..]), ("10.0.0.1:53", &b"tell"[..]));
        drop(control);
        let end = recv(&mut packets, &mut buf).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn no_login_is_shown() {
    let shown = format!("{:?}", outbound(&[(([127, 0, 0, 1], 1).into(), true)]));
    assert!(shown.contains("***@127.0.0.1:1") && !shown.contains("\"p\""), "{shown}");
}

#[tokio::test]
async fn older_versions_carry_streams_alone() {
    for (version, asked) in [(Version::V4, "10.0.0.7:443"), (Version::V4a, "a.example:443")] {
        let (listener, at) = bound().await;
        let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
        let servers = vec![Server { address: at.into(), login: None }];
        let outbound = Socks::new(dialer, servers).speaking(version);
        let (house, flow) = (House::knowing("a.example", &["2001:db8::1", "10.0.0.7"]), flow("a.example:443"));
        let serving = async {
            let (mut io, _) = listener.accept().await.unwrap();
            let mut server = socks::Server::new(None);
            let request = drive(&mut io, &mut BytesMut::new(), &mut server, Bounds::within(HANDSHAKE)).await.unwrap();
            io.write_all(&request.answer(Reply::Succeeded, at)).await.unwrap();
            request.target.to_string()
        };
        let (stream, target) = tokio::join!(outbound.connect(&house, &flow, b"x"), serving);
        assert_eq!((stream.is_ok(), target.as_str()), (true, asked));
        assert!(!outbound.carries_datagrams() && outbound.associate(&house, &flow).await.is_err());
    }
}

/// That a server's name cannot be resolved is the server's failure, not the target's.
#[tokio::test]
async fn a_server_whose_name_has_no_address_is_passed_over() {
    let (listener, at) = bound().await;
    let server = |address: Target| Server { address, login: Some(("u".to_owned(), "p".to_owned())) };
    let servers = vec![server("nowhere.example:1080".parse().unwrap()), server(at.into())];
    let outbound = Socks::new(Dialer::raw(SocketOptions::default(), Families::Any), servers);
    let (house, flow) = (House::default(), flow("a.example:443"));
    let (stream, _) = tokio::join!(outbound.connect(&house, &flow, b""), serve(&listener, Reply::Succeeded, at));
    assert!(stream.is_ok());
}
