//! Two tunnels of ours over sockets of the kernel.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use boringtun::x25519::{PublicKey, StaticSecret};
use bytes::BytesMut;
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::*;
use crate::addr::Target;
use crate::flow::{recv, send};

const LIMIT: Duration = Duration::from_secs(20);

fn socket() -> (Arc<dyn AsyncUdpSocket>, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    (TokioRuntime.wrap_udp_socket(socket).unwrap(), at)
}

fn public(secret: [u8; 32]) -> [u8; 32] {
    *PublicKey::from(&StaticSecret::from(secret)).as_bytes()
}

fn settings(own: u8, peer: u8, addresses: &[&str], allowed: &[&str], preshared: Option<u8>) -> Settings {
    let peer = PeerSettings {
        public: public([peer; 32]),
        preshared: preshared.map(|key| Zeroizing::new([key; 32])),
        allowed: allowed.iter().map(|net| net.parse().unwrap()).collect(),
        keep_alive: None,
    };
    Settings {
        secret: Zeroizing::new([own; 32]),
        addresses: addresses.iter().map(|ip| ip.parse::<IpAddr>().unwrap()).collect(),
        peers: vec![peer],
        mtu: 1420,
        reserved: [own, 2, 3],
    }
}

/// A tunnel that calls and what comes out of the other one.
fn pair(preshared: [Option<u8>; 2]) -> (Tunnel, mpsc::Receiver<Arrived>, Tunnel) {
    let ((near, _), (far, at)) = (socket(), socket());
    let all = ["0.0.0.0/0", "::/0"];
    let client = settings(1, 2, &["10.0.0.2", "fd00::2"], &all, preshared[0]);
    let server = settings(2, 1, &["10.0.0.1", "fd00::1"], &["10.0.0.2/32", "fd00::2/128"], preshared[1]);
    let (arrivals, arrived) = mpsc::channel(1024);
    let server =
        open(&server, Line { sockets: vec![far], endpoints: vec![None], over: Default::default() }, Some(arrivals));
    let client = open(&client, Line { sockets: vec![near], endpoints: vec![Some(at)], over: Default::default() }, None);
    (client, arrived, server)
}

/// Sends back all that comes, and who called whom.
async fn echo(arrived: &mut mpsc::Receiver<Arrived>) -> (SocketAddr, SocketAddr) {
    match arrived.recv().await.unwrap() {
        Arrived::Stream { client, target, io, .. } => {
            let (mut read, mut write) = tokio::io::split(io);
            tokio::spawn(async move {
                tokio::io::copy(&mut read, &mut write).await.unwrap();
                write.shutdown().await.unwrap();
            });
            (client, target)
        }
        Arrived::Packets { client, target, mut io, .. } => {
            tokio::spawn(async move {
                loop {
                    let mut buf = BytesMut::new();
                    let Ok(to) = recv(&mut io, &mut buf).await else { return };
                    send(&mut io, &buf, &to).await.unwrap();
                }
            });
            (client, target)
        }
    }
}

#[tokio::test]
async fn streams_pass_both_ways_in_both_families() {
    let (client, mut arrived, _server) = pair([Some(9), Some(9)]);
    for target in ["1.2.3.4:80", "[2001:db8::1]:80"] {
        let target: SocketAddr = target.parse().unwrap();
        let (io, (from, called)) =
            timeout(LIMIT, async { tokio::join!(client.connect(target), echo(&mut arrived)) }).await.unwrap();
        let io = io.unwrap();
        assert_eq!((from, called), (io.local(), target));
        let sent: Vec<u8> = (0..3_000_000_u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let (mut read, mut write) = tokio::io::split(io);
        let mut got = vec![];
        timeout(LIMIT, async {
            let writing = async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            };
            tokio::join!(writing, async { read.read_to_end(&mut got).await.unwrap() })
        })
        .await
        .unwrap();
        assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
    }
}

#[tokio::test]
async fn many_streams_at_a_time() {
    let (client, mut arrived, _server) = pair([None, None]);
    tokio::spawn(async move {
        loop {
            echo(&mut arrived).await;
        }
    });
    let client = Arc::new(client);
    let mut all = tokio::task::JoinSet::new();
    for number in 0..200_u32 {
        let client = Arc::clone(&client);
        all.spawn(async move {
            let mut io = client.connect("1.2.3.4:80".parse().unwrap()).await.unwrap();
            let said = number.to_string();
            io.write_all(said.as_bytes()).await.unwrap();
            io.shutdown().await.unwrap();
            let mut heard = String::new();
            io.read_to_string(&mut heard).await.unwrap();
            assert_eq!(heard, said);
        });
    }
    timeout(LIMIT, all.join_all()).await.unwrap();
}

#[tokio::test]
async fn datagrams_pass_and_come_back_from_whoever_was_asked() {
    let (client, mut arrived, _server) = pair([None, None]);
    let mut io = client.associate().await.unwrap();
    for target in ["1.2.3.4:53", "[2001:db8::1]:53"] {
        let to: Target = target.parse().unwrap();
        for payload in [&b"x"[..], &[7; 1300]] {
            send(&mut io, payload, &to).await.unwrap();
            if payload.len() == 1 {
                assert_eq!(timeout(LIMIT, echo(&mut arrived)).await.unwrap().1.to_string(), target);
            }
            let mut buf = BytesMut::new();
            assert_eq!(timeout(LIMIT, recv(&mut io, &mut buf)).await.unwrap().unwrap(), to);
            assert_eq!(buf, payload);
        }
    }
}

#[tokio::test]
async fn a_stream_that_nobody_accepts_ends_and_a_dropped_one_is_told() {
    let (client, mut arrived, _server) = pair([None, None]);
    let calling = tokio::spawn(async move {
        let mut io = client.connect("1.2.3.4:80".parse().unwrap()).await.unwrap();
        io.write_all(b"hello").await.unwrap();
        let end = io.read(&mut [0; 8]).await;
        (end.map_err(|error| error.kind()), client)
    });
    // Dropped with what came unread: the other end hears that it is over.
    drop(timeout(LIMIT, arrived.recv()).await.unwrap());
    let (end, _client) = timeout(LIMIT, calling).await.unwrap().unwrap();
    assert!(matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{end:?}");
}

#[tokio::test]
async fn with_other_keys_nobody_hears_anything() {
    for preshared in [[Some(9), Some(8)], [Some(9), None], [None, Some(9)]] {
        let (client, mut arrived, _server) = pair(preshared);
        let calling = client.connect("1.2.3.4:80".parse().unwrap());
        let called = timeout(Duration::from_millis(700), async { tokio::join!(calling, arrived.recv()) }).await;
        assert!(called.is_err(), "{preshared:?}");
        assert!(client.is_silent());
    }
}

#[tokio::test]
async fn noise_and_repeated_messages_change_nothing() {
    // Between the two, each message is sent twice, and noise besides.
    let between = UdpSocket::bind("127.0.0.1:0").unwrap();
    let middle = between.local_addr().unwrap();
    let ((near, near_at), (far, far_at)) = (socket(), socket());
    let between = tokio::net::UdpSocket::from_std({
        between.set_nonblocking(true).unwrap();
        between
    })
    .unwrap();
    tokio::spawn(async move {
        let mut buf = [0; 2048];
        loop {
            let (len, from) = between.recv_from(&mut buf).await.unwrap();
            let to = if from == near_at { far_at } else { near_at };
            for message in [&buf[..len], &buf[..len], &[4; 64], &[1; 148], &buf[..len / 2], b""] {
                between.send_to(message, to).await.unwrap();
            }
        }
    });
    let all = ["0.0.0.0/0"];
    let client = settings(1, 2, &["10.0.0.2"], &all, None);
    let server = settings(2, 1, &["10.0.0.1"], &all, None);
    let (arrivals, mut arrived) = mpsc::channel(1024);
    let _server =
        open(&server, Line { sockets: vec![far], endpoints: vec![None], over: Default::default() }, Some(arrivals));
    let client =
        open(&client, Line { sockets: vec![near], endpoints: vec![Some(middle)], over: Default::default() }, None);
    tokio::spawn(async move {
        loop {
            echo(&mut arrived).await;
        }
    });
    let talk = async {
        let mut io = client.connect("1.2.3.4:80".parse().unwrap()).await.unwrap();
        for _ in 0..20 {
            io.write_all(b"hello").await.unwrap();
            let mut heard = [0; 5];
            io.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"hello");
        }
    };
    timeout(LIMIT, talk).await.unwrap();
}

#[tokio::test]
async fn an_address_behind_nobody_is_told_at_once() {
    let ((near, _), (_far, at)) = (socket(), socket());
    let line = Line { sockets: vec![near], endpoints: vec![Some(at)], over: Default::default() };
    let client = open(&settings(1, 2, &["10.0.0.2"], &["10.0.0.0/8"], None), line, None);
    for target in ["11.0.0.1:80", "[2001:db8::1]:80"] {
        let told = timeout(LIMIT, client.connect(target.parse().unwrap())).await.unwrap();
        assert!(matches!(told, Err(ConnectError::NoRoute)), "{target}");
    }
}
