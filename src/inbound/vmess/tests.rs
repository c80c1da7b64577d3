#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::addr::Target;
use crate::flow::{recv, send};
use crate::inbound::testing::{common, visitor};
use crate::proto::vmess::{Account, Options, Security, seal_request};
use crate::wire::Parcel;

const ID: [u8; 16] = [7; 16];

fn account() -> Account {
    Account::new(&ID)
}

fn server() -> Vmess {
    let users = [(Account::new(&[1; 16]), Member::new("bob@x", 1)), (account(), Member::new("ann@x", 3))];
    Vmess::new(vmess::Users::new(users), true)
}

fn request(command: Command, security: Security, options: u8) -> Request {
    Request::new(command, Options(options), security, &mut StdRng::seed_from_u64(3))
}

fn rng() -> StdRng {
    StdRng::from_rng(&mut rand::rng())
}

fn header(request: &Request, at: u64) -> Vec<u8> {
    seal_request(&account(), request, at, &mut rng())
}

async fn visit(server: &Vmess, said: &[u8]) -> (DuplexStream, Result<Accepted, Fault>) {
    let (near, mut far) = duplex(1 << 14);
    far.write_all(said).await.unwrap();
    let arrival = Arrival { io: Box::new(near), hello: None, source: None };
    let accepted = server.accept(&common(), &visitor(), arrival).await;
    (far, accepted)
}

fn target(text: &str) -> Target {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_stream_begins_with_the_payload_and_belongs_to_its_user() {
    let command = Command::Tcp(target("a.example:443"));
    for (security, options) in [(Security::Aes128Gcm, 0x1d), (Security::ChaCha20Poly1305, 0x0d), (Security::None, 0x05)]
    {
        let request = request(command.clone(), security, options);
        let mut client = Sealer::client(&request, header(&request, clock::seconds()), true, rng());
        let mut said = BytesMut::new();
        crate::wire::Seal::seal(&mut client, b"early", &mut said);
        let (far, accepted) = visit(&server(), &said).await;
        let Ok(Accepted::Stream(flow, mut io)) = accepted else { unreachable!() };
        assert_eq!((flow.target, flow.user.as_deref(), flow.level), (target("a.example:443"), Some("ann@x"), 3));
        let mut room = [0; 5];
        io.read_exact(&mut room).await.unwrap();
        assert_eq!(&room, b"early");
        io.write_all(b"later").await.unwrap();
        let mut far = Framed::new(far, BytesMut::new(), client, Opener::client(&request));
        far.read_exact(&mut room).await.unwrap();
        assert_eq!(&room, b"later");
    }
}

#[tokio::test]
async fn datagrams_go_both_ways() {
    let request = request(Command::Udp(target("10.0.0.1:53")), Security::ChaCha20Poly1305, 0x0d);
    let seal = Sealer::client(&request, header(&request, clock::seconds()), true, rng());
    let mut frames: Frames<_, _, Target> = Frames::new(seal, Opener::client(&request));
    let mut said = BytesMut::new();
    frames.pack(b"ask", &target("10.0.0.1:53"), &mut said);
    let (far, accepted) = visit(&server(), &said).await;
    let Ok(Accepted::Packets(flow, mut io)) = accepted else { unreachable!() };
    assert_eq!((flow.network, flow.target), (Network::Udp, target("10.0.0.1:53")));
    let mut buf = BytesMut::new();
    assert_eq!(recv(&mut io, &mut buf).await.unwrap(), target("10.0.0.1:53"));
    send(&mut io, b"told", &target("10.0.0.1:53")).await.unwrap();
    let mut far = Parceled::new(far, BytesMut::new(), frames, target("10.0.0.1:53"));
    buf.clear();
    recv(&mut far, &mut buf).await.unwrap();
    assert_eq!(&buf[..], b"told");
    let bare = self::request(Command::Udp(target("10.0.0.1:53")), Security::None, 0x00);
    assert!(matches!(visit(&server(), &header(&bare, clock::seconds())).await.1, Err(Fault::NotServed(_))));
}

#[tokio::test]
async fn the_command_for_sessions_is_told_from_streams() {
    let said = header(&request(Command::Mux, Security::Aes128Gcm, 0x0d), clock::seconds());
    assert!(matches!(visit(&server(), &said).await.1, Ok(Accepted::Mux { datagrams_only: false, .. })));
}

#[tokio::test]
async fn nothing_comes_twice_and_nothing_late() {
    let server = server();
    let request = request(Command::Mux, Security::Aes128Gcm, 0x0d);
    let said = header(&request, clock::seconds());
    assert!(visit(&server, &said).await.1.is_ok());
    let replayed =
        |fault| matches!(fault, Err(Fault::Handshake(DriveError::Wire(WireError::Replayed)) | Fault::Wire(_)));
    assert!(replayed(visit(&server, &said).await.1), "the same id");
    assert!(replayed(visit(&server, &header(&request, clock::seconds())).await.1), "the same keys under another id");
    let late = visit(&server, &header(&self::request(Command::Mux, Security::None, 5), clock::seconds() - 125)).await.1;
    let Err(fault) = late else { unreachable!() };
    assert!(fault.to_string().contains("clock"), "{fault}");
}

#[tokio::test]
async fn users_are_replaced_while_it_runs() {
    let server = server();
    assert!(server.take_users(&Vmess::new(vmess::Users::new([(Account::new(&[9; 16]), Member::default())]), false)));
    let said = header(&request(Command::Mux, Security::Aes128Gcm, 0x0d), clock::seconds());
    assert!(visit(&server, &said).await.1.is_err());
}

/// A stranger writes until the connection closes; how much it took must not depend on where the header failed.
#[tokio::test]
async fn strangers_are_read_for_as_long_wherever_they_fail() {
    // Longer than what the strangers here say at once.
    let (least, most) = (1000, 1000 + 64);
    let drain = Some(Drain::new((least - LEAST) as u64, LEAST));
    let table = Table { users: vmess::Users::new([(account(), Member::default())]), drain };
    let server = std::sync::Arc::new(Vmess { users: Users::new(table), ..server() });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = header(&request(Command::Mux, Security::Aes128Gcm, 0x0d), clock::seconds());
    let mut bad = good.clone();
    bad[20] ^= 1;
    for said in [vec![0; 16], vec![0; 100], bad] {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (io, _) = listener.accept().await.unwrap();
        let server = std::sync::Arc::clone(&server);
        let task = tokio::spawn(async move {
            let arrival = Arrival { io: Box::new(io), hello: None, source: None };
            server.accept(&common(), &visitor(), arrival).await.is_err()
        });
        client.write_all(&said).await.unwrap();
        client.write_all(&vec![0; least - said.len() - 1]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!task.is_finished());
        client.write_all(&vec![0; most - least + 1]).await.unwrap();
        assert!(task.await.unwrap());
    }
}
