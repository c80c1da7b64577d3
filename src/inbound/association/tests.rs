#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::UdpSocket;

use super::*;
use crate::flow::{recv, send};
use crate::inbound::socks::Socks;
use crate::inbound::testing::{common, visitor};
use crate::inbound::visit::Accepted;

fn wrap(target: &str, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_header(&target.parse().unwrap(), &mut out);
    [&out[..], data].concat()
}

/// An association over the SOCKS server itself: the packets, the control connection, where to send to.
async fn associate(relay: Relay, named: &[u8]) -> (Box<dyn Packets>, DuplexStream, SocketAddr) {
    let (near, mut client) = duplex(1 << 12);
    client.write_all(&[&b"\x05\x01\x00\x05\x03\x00"[..], named].concat()).await.unwrap();
    let socks = Socks::new(None, relay);
    let accepted = socks.accept(&common(), &visitor(), Box::new(near), BytesMut::new()).await.unwrap();
    let Accepted::Packets(_, packets) = accepted else { unreachable!() };
    let mut reply = [0; 12];
    client.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..6], *b"\x05\x00\x05\x00\x00\x01");
    let ip = IpAddr::from([reply[6], reply[7], reply[8], reply[9]]);
    (packets, client, SocketAddr::new(ip, u16::from_be_bytes([reply[10], reply[11]])))
}

const NOBODY: &[u8] = b"\x01\0\0\0\0\0\0";

#[tokio::test]
async fn datagrams_go_both_ways_with_the_far_address() {
    for relay in [Relay::Here, Relay::At([127, 0, 0, 1].into()), Relay::At([0; 4].into())] {
        let (mut packets, _control, at) = associate(relay, NOBODY).await;
        assert_eq!(at.ip(), IpAddr::from([127, 0, 0, 1]));
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.send_to(b"\0\0\x01\x01\x7f\0\0\x01\0\x35fragment", at).await.unwrap();
        client.send_to(b"nonsense", at).await.unwrap();
        client.send_to(&wrap("a.example:53", b"ask"), at).await.unwrap();
        let mut buf = BytesMut::new();
        let target = recv(&mut packets, &mut buf).await.unwrap();
        assert_eq!((target.to_string().as_str(), &buf[..]), ("a.example:53", &b"ask"[..]));
        assert_eq!(packets.client(), client.local_addr().ok(), "not the address of the control connection");
        send(&mut packets, b"tell", &"192.0.2.7:53".parse().unwrap()).await.unwrap();
        let mut room = [0; 64];
        let (len, from) = client.recv_from(&mut room).await.unwrap();
        assert_eq!((&room[..len], from), (&wrap("192.0.2.7:53", b"tell")[..], at));
    }
}

#[tokio::test]
async fn the_first_sender_stays_the_only_one() {
    let (mut packets, _control, at) = associate(Relay::Here, NOBODY).await;
    let (first, other) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let mut buf = BytesMut::new();
    first.send_to(&wrap("10.0.0.1:1", b"1"), at).await.unwrap();
    recv(&mut packets, &mut buf).await.unwrap();
    other.send_to(&wrap("10.0.0.1:1", b"2"), at).await.unwrap();
    first.send_to(&wrap("10.0.0.1:1", b"3"), at).await.unwrap();
    buf.clear();
    recv(&mut packets, &mut buf).await.unwrap();
    assert_eq!(&buf[..], b"3");
}

#[tokio::test]
async fn a_named_port_is_waited_for() {
    let (right, wrong) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let port = right.local_addr().unwrap().port().to_be_bytes();
    let (mut packets, _control, at) = associate(Relay::Here, &[1, 127, 0, 0, 1, port[0], port[1]]).await;
    wrong.send_to(&wrap("10.0.0.1:1", b"wrong"), at).await.unwrap();
    right.send_to(&wrap("10.0.0.1:1", b"right"), at).await.unwrap();
    let mut buf = BytesMut::new();
    recv(&mut packets, &mut buf).await.unwrap();
    assert_eq!(&buf[..], b"right");
}

#[tokio::test]
async fn a_client_behind_address_translation_is_served() {
    let (mut packets, _control, at) = associate(Relay::Here, b"\x01\xc0\xa8\x01\x02\x13\x88").await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.send_to(&wrap("10.0.0.1:1", b"x"), at).await.unwrap();
    let mut buf = BytesMut::new();
    recv(&mut packets, &mut buf).await.unwrap();
    assert_eq!(&buf[..], b"x");
}

#[tokio::test]
async fn it_ends_with_the_control_connection() {
    let (mut packets, mut control, _) = associate(Relay::Here, NOBODY).await;
    control.write_all(b"swallowed").await.unwrap();
    drop(control);
    let end = recv(&mut packets, &mut BytesMut::new()).await.unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn the_wildcard_is_never_announced() {
    let here = IpAddr::from([10, 0, 0, 1]);
    let address = relay_address(Relay::At([0; 4].into()), here).unwrap();
    assert_eq!((address.bind, address.announce), ([0; 4].into(), here));
    assert_eq!(relay_address(Relay::Here, [0; 4].into()).unwrap().announce, IpAddr::from([127, 0, 0, 1]));
    assert_eq!(relay_address(Relay::Off, here), None);
}
