#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::addr::Network;
use crate::flow::{recv, send};
use crate::net::{Families, SocketOptions};
use crate::outbound::testing::{House, flow};
use crate::proto::mux::Xudp;
use crate::transport::Dialer;
use crate::wire::Parcel;

async fn client() -> (TcpListener, Vless) {
    asking(None).await
}

async fn asking(vision: Option<Vision>) -> (TcpListener, Vless) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().into();
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    (listener, Vless::new(dialer, vec![VlessServer { address, id: Id::new([7; 16]), vision, encryption: None }]))
}

fn house() -> Arc<dyn Services> {
    Arc::new(House::default())
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
    let (house, mut flow) = (house(), flow("10.0.0.1:53"));
    flow.network = Network::Udp;
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

/// Other ports than 53 and 443 go as XUDP, so that anybody may answer.
#[tokio::test]
async fn datagrams_name_their_peers_where_anybody_may_answer() {
    let (listener, vless) = client().await;
    let (house, flow) = (house(), flow("10.0.0.1:9"));
    let mut packets = vless.associate(&house, &flow).await.unwrap();
    send(&mut *packets, b"ask", &"10.0.0.1:9".parse().unwrap()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let mut wanted = BytesMut::from(&header(&Command::Mux)[..]);
    assert!(Xudp::client(None).pack(b"ask", &"10.0.0.1:9".parse().unwrap(), &mut wanted));
    let mut room = vec![0; wanted.len()];
    server.read_exact(&mut room).await.unwrap();
    assert_eq!(room, wanted);
    server.write_all(b"\0\0\0\x0c\0\0\x02\x01\x02\0\x09\x01\x0a\0\0\x02\0\x04tell").await.unwrap();
    let mut buf = BytesMut::new();
    let from = recv(&mut *packets, &mut buf).await.unwrap();
    assert_eq!((from, &buf[..]), ("10.0.0.2:9".parse().unwrap(), &b"tell"[..]));
}

#[tokio::test]
async fn vision_needs_something_to_leave_and_lets_no_http3_through_by_itself() {
    let (_listener, vless) = asking(Some(Vision { seed: [0; 4], udp443: false })).await;
    let (house, mut flow) = (house(), flow("a.example:443"));
    let error = vless.connect(&*house, &flow, b"first").await.err().unwrap();
    assert!(error.stage == Stage::Policy && error.to_string().contains("TLS and REALITY"), "{error}");
    assert!(!flow.meter.is_given());
    flow.network = Network::Udp;
    let error = vless.associate(&house, &flow).await.err().unwrap();
    assert!(error.to_string().contains("UDP/443"), "{error}");
}

/// Somebody with other keys closes without a word.
#[tokio::test]
async fn a_server_that_does_not_answer_the_handshake_is_to_blame() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let key = encryption::PrivateKey::new(&[5; 32]).unwrap();
    let keys = vec![encryption::PublicKey::new(key.public()).unwrap()];
    let client = encryption::Client::new(keys, encryption::Mode::Native, encryption::Padding::default(), true);
    let address = listener.local_addr().unwrap().into();
    let server = VlessServer { address, id: Id::new([7; 16]), vision: None, encryption: Some(client) };
    let vless = Vless::new(Dialer::raw(SocketOptions::default(), Families::Any), vec![server]);
    let serving = async {
        let (mut server, _) = listener.accept().await.unwrap();
        server.read_exact(&mut [0; 1000]).await.unwrap();
    };
    let (house, flow) = (House::default(), flow("a.example:443"));
    let (opened, ()) = tokio::join!(vless.connect(&house, &flow, b"first"), serving);
    let error = opened.err().unwrap();
    assert_eq!((error.stage, error.blame), (Stage::Handshake, crate::flow::Blame::Server));
    // Nothing of the flow has left, so that another member can still take it.
    assert!(!flow.meter.is_given());
}
