#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::flow::{recv, send};
use crate::net::{Families, SocketOptions};
use crate::outbound::testing::{House, flow};
use crate::transport::Dialer;

async fn client() -> (TcpListener, Vless) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().into();
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    (listener, Vless::new(dialer, vec![VlessServer { address, id: Id::new([7; 16]) }]))
}

fn header(command: &Command) -> Vec<u8> {
    let mut out = Vec::new();
    write_request(&Id::new([7; 16]), Wrapping::Plain, command, &mut out);
    out
}

#[tokio::test]
async fn the_first_bytes_leave_with_the_header_and_the_answer_is_taken_off() {
    let (listener, vless) = client().await;
    let (house, flow) = (House::default(), flow("a.example:443"));
    let mut stream = vless.connect(&house, &flow, b"first").await.unwrap();
    assert!(flow.meter.is_given());
    let (mut server, _) = listener.accept().await.unwrap();
    let mut room = [0; 256];
    let wanted = [header(&Command::Tcp("a.example:443".parse().unwrap())), b"first".to_vec()].concat();
    let len = server.read(&mut room).await.unwrap();
    assert_eq!(room[..len], wanted);
    server.write_all(b"\0\x01xanswer").await.unwrap();
    let mut room = [0; 6];
    stream.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"answer");
}

/// Where the server speaks first, the client waits for it, and the header leaves all the same.
#[tokio::test]
async fn a_header_leaves_alone_where_the_client_is_silent() {
    let (listener, vless) = client().await;
    let (house, flow) = (House::default(), flow("a.example:25"));
    let mut stream = vless.connect(&house, &flow, b"").await.unwrap();
    assert!(!flow.meter.is_given());
    let serving = async {
        let (mut server, _) = listener.accept().await.unwrap();
        let mut room = vec![0; header(&Command::Tcp("a.example:25".parse().unwrap())).len()];
        server.read_exact(&mut room).await.unwrap();
        server.write_all(b"\0\0hello").await.unwrap();
    };
    let mut room = [0; 5];
    let (read, ()) = tokio::join!(stream.read_exact(&mut room), serving);
    assert_eq!((read.unwrap(), &room), (5, b"hello"));
}

#[tokio::test]
async fn datagrams_go_both_ways() {
    let (listener, vless) = client().await;
    let (house, flow) = (House::default(), flow("10.0.0.1:53"));
    let mut packets = vless.associate(&house, &flow).await.unwrap();
    let target = "10.0.0.1:53".parse().unwrap();
    send(&mut *packets, b"ask", &target).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let wanted = [header(&Command::Udp(target.clone())), b"\0\x03ask".to_vec()].concat();
    let mut room = vec![0; wanted.len()];
    server.read_exact(&mut room).await.unwrap();
    assert_eq!(room, wanted);
    server.write_all(b"\0\0\0\x04tell").await.unwrap();
    let mut buf = BytesMut::new();
    assert_eq!((recv(&mut *packets, &mut buf).await.unwrap(), &buf[..]), (target, &b"tell"[..]));
}
