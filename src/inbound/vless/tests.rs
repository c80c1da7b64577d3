#![allow(clippy::unwrap_used)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};

use super::*;
use crate::flow::{Half, recv, send};
use crate::inbound::testing::{common, visitor};
use crate::proto::vision::SEED;
use crate::proto::vless::{Answered, write_request};
use crate::wire::{Next, Open, Opened, Seal};

const ID: [u8; 16] = [7; 16];

fn server(email: &str) -> Vless {
    Vless::new(
        vless::Users::new([(Id::new(ID).key(), VlessUser { member: Member::new(email, 3), vision: None })]),
        None,
    )
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

/// A stand-in for TLS 1.3: bytes are flipped on their way until a half goes plain.
struct Veil(DuplexStream, [bool; 2]);

impl AsyncRead for Veil {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.0).poll_read(cx, buf);
        if !self.1[0] {
            buf.filled_mut()[before..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        read
    }
}

impl AsyncWrite for Veil {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let bytes: Vec<u8> = buf.iter().map(|byte| if self.1[1] { *byte } else { !*byte }).collect();
        Pin::new(&mut self.0).poll_write(cx, &bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Stream for Veil {
    fn may_go_plain(&self) -> bool {
        true
    }

    fn go_plain(&mut self, half: Half) -> bool {
        self.1[usize::from(half == Half::Write)] = true;
        true
    }
}

fn with_vision() -> Vless {
    let user = VlessUser { member: Member::new("ann@x", 0), vision: Some(SEED) };
    Vless::new(vless::Users::new([(Id::new(ID).key(), user)]), None)
}

/// What comes of a visitor who says this by way of a veil.
async fn veiled(server: &Vless, said: &[u8]) -> (DuplexStream, Result<Accepted, Fault>) {
    let (near, mut far) = duplex(1 << 16);
    far.write_all(&said.iter().map(|byte| !byte).collect::<Vec<_>>()).await.unwrap();
    let arrival = Arrival { io: Box::new(Veil(near, [false; 2])), hello: None, source: None };
    let accepted = server.accept(&common(), &visitor(), arrival).await;
    (far, accepted)
}

const HELLO: &[u8] = &[0x16, 3, 1, 0, 4, 1, 0, 0, 0];
const RECORD: &[u8] = &[0x17, 3, 3, 0, 2, 8, 9];

/// As much of a server's hello of TLS 1.3 as Vision looks at.
fn server_hello() -> Vec<u8> {
    let front = [&[0x16, 3, 3, 0, 82, 2, 0, 0, 78, 3, 3][..], &[7; 32], &[32], &[9; 32], &[0x13, 1, 0, 0, 6]];
    [&front.concat()[..], &[0, 0x2b, 0, 2, 3, 4]].concat()
}

/// Each half leaves the outer protection behind its first records, and what follows is on the wire as it is.
#[tokio::test]
async fn vision_leaves_the_outer_tls_on_both_halves() {
    let mut id = ID;
    id[6..8].copy_from_slice(&[1, 2]);
    let filter = Filter::default();
    let tcp = Command::Tcp("a.example:443".parse().unwrap());
    let rng = SmallRng::seed_from_u64(1);
    let mut pad = Pad::new(header(Wrapping::Vision, &tcp), id, filter.clone(), SEED, rng);
    let mut out = BytesMut::new();
    pad.seal(HELLO, &mut out);
    let (mut far, accepted) = veiled(&with_vision(), &out).await;
    let Ok(Accepted::Stream(_, mut io)) = accepted else { unreachable!() };
    let mut room = vec![0; HELLO.len()];
    io.read_exact(&mut room).await.unwrap();
    assert_eq!(room, HELLO);

    // The answer, opened by a client whose two halves share what they see.
    let mut unpad = Answered::new(Unpad::new(id, filter));
    let (hello, mut heard) = (server_hello(), vec![]);
    let mut over = None;
    for part in [&hello[..], RECORD] {
        io.write_all(part).await.unwrap();
        io.flush().await.unwrap();
        // All of a block is there at once.
        let mut held = vec![0; 4096];
        let len = far.read(&mut held).await.unwrap();
        held.truncate(len);
        held.iter_mut().for_each(|byte| *byte = !*byte);
        loop {
            match unpad.open(&mut held).unwrap() {
                Opened::Plain { used, at } => {
                    heard.extend_from_slice(&held[at]);
                    held.drain(..used);
                }
                Opened::Over { next, .. } => {
                    over = Some(next);
                    break;
                }
                _ => break,
            }
        }
        assert!(held.is_empty());
    }
    assert_eq!((heard, over), ([&hello[..], RECORD].concat(), Some(Next::Direct)));
    io.write_all(b"bare").await.unwrap();
    let mut room = [0; 4];
    far.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"bare");

    // And the way up.
    out.clear();
    pad.seal(RECORD, &mut out);
    assert_eq!(pad.next(), Next::Direct);
    far.write_all(&out.iter().map(|byte| !byte).collect::<Vec<_>>()).await.unwrap();
    let mut room = vec![0; RECORD.len()];
    io.read_exact(&mut room).await.unwrap();
    assert_eq!(room, RECORD);
    // The switch is behind the padding of that block, which is taken off by the next read.
    assert!(tokio::time::timeout(Duration::from_millis(1), io.read_u8()).await.is_err());
    far.write_all(b"up").await.unwrap();
    let mut room = [0; 2];
    io.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"up");
}

/// The rules of Xray's server for who asks for what.
#[tokio::test]
async fn what_a_user_may_not_have_is_refused() {
    let to = || "a.example:443".parse().unwrap();
    let (tcp, udp) = (Command::Tcp(to()), Command::Udp(to()));
    let carrier = Command::Tcp(crate::proto::mux::carrier().unwrap());
    let behind = |wrapping, command: &Command, more: &[u8]| [&header(wrapping, command)[..], more].concat();
    let (new, xudp) = (&b"\0\x0c\0\x01\x01\x01\x01"[..], &b"\0\x0c\0\0\x01\x01\x02"[..]);
    for (server, said, granted) in [
        (server(""), behind(Wrapping::Vision, &tcp, b""), false),
        (server(""), behind(Wrapping::Plain, &Command::Reverse, b""), false),
        (server(""), behind(Wrapping::Plain, &Command::Mux, new), true),
        (with_vision(), behind(Wrapping::Vision, &tcp, b""), true),
        (with_vision(), behind(Wrapping::Vision, &Command::Mux, b""), true),
        (with_vision(), behind(Wrapping::Vision, &carrier, b""), true),
        (with_vision(), behind(Wrapping::Plain, &carrier, xudp), false),
        (with_vision(), behind(Wrapping::Vision, &udp, b""), false),
        (with_vision(), behind(Wrapping::Plain, &tcp, b""), false),
        (with_vision(), behind(Wrapping::Plain, &udp, b""), true),
        (with_vision(), behind(Wrapping::Plain, &Command::Mux, new), false),
        (with_vision(), behind(Wrapping::Plain, &Command::Mux, &xudp[..6]), false),
        (with_vision(), behind(Wrapping::Plain, &Command::Mux, xudp), true),
    ] {
        let (_client, accepted) = veiled(&server, &said).await;
        match accepted {
            Ok(Accepted::Mux { datagrams_only, .. }) => {
                assert!(granted);
                assert_eq!(datagrams_only, server.users.now().admit(&Id::new(ID).key()).unwrap().vision.is_some());
            }
            // A carrier of sessions is known here, or its streams would escape.
            Ok(Accepted::Stream(flow, _)) => assert!(granted && !is_carrier(&flow.target)),
            Ok(_) => assert!(granted, "{said:x?}"),
            Err(fault) => assert!(matches!(fault, Fault::NotServed(_)) && !granted, "{fault}"),
        }
    }
    // In anything but TLS 1.3 of ours Vision could not leave.
    let (_client, accepted) = visit(&with_vision(), &header(Wrapping::Vision, &tcp)).await;
    assert!(matches!(accepted, Err(Fault::NotServed(_))));
}

#[tokio::test]
async fn a_new_table_of_users_counts_at_once() {
    let (old, new) = (server(""), Vless::new(vless::Users::new([]), None));
    assert!(old.take_users(&new));
    let (_client, accepted) = visit(&old, &header(Wrapping::Plain, &Command::Mux)).await;
    assert!(matches!(accepted, Err(Fault::Handshake(_))));
}
