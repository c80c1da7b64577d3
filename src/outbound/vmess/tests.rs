#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::flow::{Packets, recv, send};
use crate::net::{Bounds, Families, SocketOptions, drive};
use crate::outbound::testing::{House, flow};
use crate::proto::mux::Xudp;
use crate::proto::vmess::{Header, Knock, Users};
use crate::transport::Dialer;

const ID: [u8; 16] = [7; 16];

async fn client(security: Security, options: u8) -> (TcpListener, Vmess) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().into();
    let dialer = Dialer::raw(SocketOptions::default(), Families::Any);
    let server = VmessServer { address, account: Account::new(&ID), security, options: Options(options), ending: true };
    (listener, Vmess::new(dialer, vec![server]))
}

/// The server's side of one connection.
async fn served(listener: &TcpListener) -> (Request, TcpStream, BytesMut) {
    let (mut io, _) = listener.accept().await.unwrap();
    let mut held = BytesMut::new();
    let users = Users::new([(Account::new(&ID), ())]);
    let bounds = Bounds::within(Duration::from_secs(5));
    let knocked = drive(&mut io, &mut held, &mut Knock::new(&users, clock::seconds()), bounds).await.unwrap();
    let request = drive(&mut io, &mut held, &mut Header::new(&knocked), bounds).await.unwrap();
    (request, io, held)
}

fn framed(request: &Request, io: TcpStream, held: BytesMut) -> Framed<TcpStream, Sealer, Opener> {
    Framed::new(io, held, Sealer::server(request, StdRng::seed_from_u64(1)), Opener::server(request))
}

async fn read(io: &mut (impl AsyncRead + Unpin), len: usize) -> Vec<u8> {
    let mut room = vec![0; len];
    io.read_exact(&mut room).await.unwrap();
    room
}

#[tokio::test]
async fn streams_come_through_with_every_security() {
    for (security, options) in [
        (Security::Aes128Gcm, 0x0d),
        (Security::ChaCha20Poly1305, 0x1d),
        (Security::None, 0x05),
        (Security::None, 0x00),
    ] {
        let (listener, vmess) = client(security, options).await;
        let (house, flow) = (House::default(), flow("a.example:443"));
        let mut near = vmess.connect(&house, &flow, b"first").await.unwrap();
        assert!(flow.meter.is_given());
        let (request, io, held) = served(&listener).await;
        assert_eq!(request.command, Command::Tcp("a.example:443".parse().unwrap()));
        let mut far = framed(&request, io, held);
        assert_eq!(read(&mut far, 5).await, b"first");
        far.write_all(b"answer").await.unwrap();
        far.shutdown().await.unwrap();
        assert_eq!(read(&mut near, 6).await, b"answer");
        assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_carrier_of_sessions_is_a_command() {
    let (listener, vmess) = client(Security::Aes128Gcm, 0x0d).await;
    let _near = vmess.connect(&House::default(), &flow("v1.mux.cool:9527"), b"x").await.unwrap();
    assert_eq!(served(&listener).await.0.command, Command::Mux);
}

type Far = Parceled<Framed<TcpStream, Sealer, Opener>, Xudp>;

/// The server's side of datagrams with addresses.
async fn roaming(listener: &TcpListener) -> Far {
    let (request, io, held) = served(listener).await;
    assert_eq!((&request.command, request.is_bare()), (&Command::Mux, true));
    Parceled::new(framed(&request, io, held), BytesMut::new(), Xudp::server(), "0.0.0.0:0".parse().unwrap())
}

/// The next datagram, which the near end may have to be polled for.
async fn next(io: &mut impl Packets, near: &mut BoxPackets) -> (Vec<u8>, Target) {
    let (mut buf, mut scrap) = (BytesMut::new(), BytesMut::new());
    let from = tokio::select! {
        from = recv(io, &mut buf) => from.unwrap(),
        _ = recv(near, &mut scrap) => unreachable!("nobody answered"),
    };
    (buf.to_vec(), from)
}

fn target(text: &str) -> Target {
    text.parse().unwrap()
}

#[tokio::test]
async fn datagrams_go_together_with_addresses_and_alone_to_ports_of_one_target() {
    let (listener, vmess) = client(Security::None, 0x00).await;
    let house: Arc<dyn Services> = Arc::new(House::default());
    let (one, two, dns) = (target("10.0.0.1:5000"), target("10.0.0.2:5000"), target("10.0.0.3:53"));
    let mut near = vmess.associate(&house, &flow("10.0.0.1:5000")).await.unwrap();
    send(&mut near, b"to one", &one).await.unwrap();
    let mut far = roaming(&listener).await;
    assert_eq!(next(&mut far, &mut near).await, (b"to one".to_vec(), one.clone()));
    // Anybody may answer; and the server has shown that it heeds addresses.
    let third = target("10.9.9.9:9");
    send(&mut far, b"from a third", &third).await.unwrap();
    let mut buf = BytesMut::new();
    assert_eq!(recv(&mut near, &mut buf).await.unwrap(), third);
    send(&mut near, b"to two", &two).await.unwrap();
    assert_eq!(next(&mut far, &mut near).await, (b"to two".to_vec(), two));

    send(&mut near, b"ask", &dns).await.unwrap();
    let (request, io, held) = tokio::select! {
        served = served(&listener) => served,
        _ = recv(&mut near, &mut buf) => unreachable!("nobody answered"),
    };
    assert_eq!((&request.command, request.is_bare()), (&Command::Udp(dns.clone()), false));
    let seal = Sealer::server(&request, StdRng::seed_from_u64(1));
    let frames: Frames<_, _, Target> = Frames::new(seal, Opener::server(&request));
    let mut fixed = Parceled::new(io, held, frames, dns.clone());
    assert_eq!(next(&mut fixed, &mut near).await, (b"ask".to_vec(), dns.clone()));
    send(&mut fixed, b"told", &dns).await.unwrap();
    buf.clear();
    assert_eq!(recv(&mut near, &mut buf).await.unwrap(), dns);
}

#[tokio::test]
async fn each_target_is_alone_until_the_server_has_named_an_address() {
    let (listener, vmess) = client(Security::None, 0x00).await;
    let house: Arc<dyn Services> = Arc::new(House::default());
    let mut near = vmess.associate(&house, &flow("10.0.0.1:5000")).await.unwrap();
    send(&mut near, b"one", &target("10.0.0.1:5000")).await.unwrap();
    send(&mut near, b"two", &target("10.0.0.2:5000")).await.unwrap();
    let mut first = roaming(&listener).await;
    let mut scrap = BytesMut::new();
    let mut second = tokio::select! {
        second = roaming(&listener) => second,
        _ = recv(&mut near, &mut scrap) => unreachable!("nobody answered"),
    };
    assert_eq!(next(&mut first, &mut near).await, (b"one".to_vec(), target("10.0.0.1:5000")));
    assert_eq!(next(&mut second, &mut near).await, (b"two".to_vec(), target("10.0.0.2:5000")));
}
