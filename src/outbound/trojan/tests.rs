#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::addr::Network;
use crate::flow::{recv, send};
use crate::net::{Families, SocketOptions};
use crate::outbound::testing::{House, flow};
use crate::transport::Dialer;

async fn client() -> (TcpListener, Trojan) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = TrojanServer { address: listener.local_addr().unwrap().into(), token: Token::new("p") };
    (listener, Trojan::new(Dialer::raw(SocketOptions::default(), Families::Any), vec![server]))
}

fn header(network: Network, target: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Token::new("p").write_request(network, &target.parse().unwrap(), &mut out);
    out
}

#[tokio::test]
async fn the_first_bytes_leave_with_the_header() {
    let (listener, trojan) = client().await;
    let (house, flow) = (House::default(), flow("a.example:443"));
    let mut stream = trojan.connect(&house, &flow, b"first").await.unwrap();
    assert!(flow.meter.is_given());
    let (mut server, _) = listener.accept().await.unwrap();
    let mut room = [0; 256];
    let len = server.read(&mut room).await.unwrap();
    assert_eq!(room[..len], [&header(Network::Tcp, "a.example:443")[..], b"first"].concat());
    server.write_all(b"answer").await.unwrap();
    let mut room = [0; 6];
    stream.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"answer");
}

#[tokio::test]
async fn datagrams_name_their_peers() {
    let (listener, trojan) = client().await;
    let house = House::default();
    let mut flow = flow("10.0.0.1:53");
    flow.network = Network::Udp;
    let mut packets = trojan.associate(&house, &flow).await.unwrap();
    send(&mut *packets, b"ask", &"10.0.0.2:53".parse().unwrap()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let frame = b"\x01\x0a\x00\x00\x02\x00\x35\x00\x03\r\nask";
    let wanted = [&header(Network::Udp, "10.0.0.1:53")[..], frame].concat();
    let mut room = vec![0; wanted.len()];
    server.read_exact(&mut room).await.unwrap();
    assert_eq!(room, wanted);
    server.write_all(frame).await.unwrap();
    let mut buf = BytesMut::new();
    let from = recv(&mut *packets, &mut buf).await.unwrap();
    assert_eq!((from, &buf[..]), ("10.0.0.2:53".parse().unwrap(), &b"ask"[..]));
}
