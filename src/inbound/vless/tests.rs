#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;
use crate::flow::{recv, send};
use crate::inbound::testing::{common, visitor};
use crate::proto::vless::{Id, write_request};

const ID: [u8; 16] = [7; 16];

fn server(email: &str) -> Vless {
    Vless::new(vless::Users::new([(Id::new(ID).key(), VlessUser { member: Member::new(email, 3) })]), None)
}

fn header(wrapping: Wrapping, command: &Command) -> Vec<u8> {
    let mut id = ID;
    id[6..8].copy_from_slice(&[1, 2]);
    let mut out = Vec::new();
    write_request(&Id::new(id), wrapping, command, &mut out);
    out
}

/// What comes of a visitor who says this and stays.
async fn visit(server: &Vless, said: &[u8]) -> (DuplexStream, Result<Accepted, Fault>) {
    let (near, mut far) = duplex(1 << 12);
    far.write_all(said).await.unwrap();
    let arrival = Arrival { io: Box::new(near), hello: None, source: None };
    let accepted = server.accept(&common(), &visitor(), arrival).await;
    (far, accepted)
}

#[tokio::test]
async fn a_stream_begins_with_the_payload_and_the_answer_goes_with_the_first_bytes() {
    let header = header(Wrapping::Plain, &Command::Tcp("a.example:443".parse().unwrap()));
    let (mut client, accepted) = visit(&server("ann@x"), &[&header[..], b"early"].concat()).await;
    let Ok(Accepted::Stream(flow, mut io)) = accepted else { unreachable!() };
    assert_eq!((flow.target.to_string().as_str(), flow.network), ("a.example:443", Network::Tcp));
    assert_eq!((flow.user.as_deref(), flow.level, flow.vless_route), (Some("ann@x"), 3, 0x0102));
    let mut room = [0; 5];
    io.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"early");
    io.write_all(b"abc").await.unwrap();
    io.flush().await.unwrap();
    client.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"\0\0abc");
}

#[tokio::test]
async fn datagrams_go_both_ways_and_a_user_needs_no_label() {
    let header = header(Wrapping::Plain, &Command::Udp("10.0.0.1:53".parse().unwrap()));
    let (mut client, accepted) = visit(&server(""), &[&header[..], b"\0\x03ask"].concat()).await;
    let Ok(Accepted::Packets(flow, mut io)) = accepted else { unreachable!() };
    assert_eq!((flow.user, flow.network), (None, Network::Udp));
    let mut buf = BytesMut::new();
    let target = recv(&mut *io, &mut buf).await.unwrap();
    assert_eq!((target.to_string().as_str(), &buf[..]), ("10.0.0.1:53", &b"ask"[..]));
    send(&mut *io, b"tell", &target).await.unwrap();
    let mut room = [0; 8];
    client.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"\0\0\0\x04tell");
}

/// Nothing is said to whoever is not let in, and the connection is closed as soon as that is known.
#[tokio::test]
async fn strangers_are_closed_without_a_word() {
    let known = header(Wrapping::Plain, &Command::Tcp("a.example:443".parse().unwrap()));
    let mut unknown = known.clone();
    unknown[1] ^= 1;
    for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], &unknown[..17], &[&known[..18], &[9]].concat()] {
        let (mut client, accepted) = visit(&server(""), said).await;
        assert!(matches!(accepted, Err(Fault::Handshake(_))));
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert!(all.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_says_half_a_header_has_the_time_of_a_handshake() {
    let known = header(Wrapping::Plain, &Command::Mux);
    let begun = Instant::now();
    let (_client, accepted) = visit(&server(""), &known[..5]).await;
    assert!(matches!(accepted, Err(Fault::Handshake(_))));
    assert!(begun.elapsed() < common().handshake + Duration::from_secs(1));
}

#[tokio::test]
async fn what_a_user_may_not_have_is_refused() {
    let tcp = Command::Tcp("a.example:443".parse().unwrap());
    for said in [header(Wrapping::Vision, &tcp), header(Wrapping::Plain, &Command::Reverse)] {
        let (_client, accepted) = visit(&server(""), &said).await;
        assert!(matches!(accepted, Err(Fault::NotServed(_))));
    }
}

#[tokio::test]
async fn a_new_table_of_users_counts_at_once() {
    let (old, new) = (server(""), Vless::new(vless::Users::new([]), None));
    assert!(old.take_users(&new));
    let (_client, accepted) = visit(&old, &header(Wrapping::Plain, &Command::Mux)).await;
    assert!(matches!(accepted, Err(Fault::Handshake(_))));
}
