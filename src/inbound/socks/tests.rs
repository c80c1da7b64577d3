#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;
use crate::inbound::testing::{common, until, visitor};
use crate::proto::login::Logins;

fn start(socks: Socks) -> (DuplexStream, JoinHandle<Result<Accepted, Fault>>) {
    let (near, far) = duplex(1 << 12);
    let task = tokio::spawn(async move { socks.accept(&common(), &visitor(), Box::new(near), BytesMut::new()).await });
    (far, task)
}

async fn read<const N: usize>(io: &mut DuplexStream) -> [u8; N] {
    let mut all = [0; N];
    io.read_exact(&mut all).await.unwrap();
    all
}

#[tokio::test]
async fn a_tunnel_is_granted_and_early_bytes_are_kept() {
    let (mut client, task) = start(Socks::new(None, Relay::Off));
    client.write_all(b"\x05\x01\x00\x05\x01\x00\x03\x0d[2001:db8::9]\x00\x50early").await.unwrap();
    assert_eq!(read(&mut client).await, *b"\x05\x00\x05\x00\x00\x01\x7f\0\0\x01\x04\x38");
    let Ok(Accepted::Stream(flow, mut io)) = task.await.unwrap() else { unreachable!() };
    assert_eq!((flow.target.to_string().as_str(), flow.inbound.as_str()), ("[2001:db8::9]:80", "in"));
    assert_eq!(until(&mut io, "early").await, "early");
}

#[tokio::test]
async fn the_user_is_known_to_the_flow() {
    let users = Users::new(Logins::new([("u", "p")]));
    let (mut client, task) = start(Socks::new(Some(users), Relay::Off));
    client.write_all(b"\x05\x01\x02\x01\x01u\x01p\x05\x01\x00\x01\x0a\0\0\x01\0\x50").await.unwrap();
    let Ok(Accepted::Stream(flow, _)) = task.await.unwrap() else { unreachable!() };
    assert_eq!(flow.user.as_deref(), Some("u"));
}

#[tokio::test]
async fn associations_are_refused_where_they_are_off() {
    let (mut client, task) = start(Socks::new(None, Relay::Off));
    client.write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0").await.unwrap();
    assert_eq!(read::<12>(&mut client).await[3], 7);
    assert!(matches!(task.await.unwrap(), Err(Fault::NotServed(_))));
}

#[tokio::test(start_paused = true)]
async fn garbage_truncated_and_slow_bytes_end_within_the_limit() {
    for (bytes, close) in [(&b"\x00garbage"[..], false), (b"\x05\x02\x00", true), (b"\x05\x01\x00\x05", false)] {
        let (mut client, task) = start(Socks::new(None, Relay::Off));
        client.write_all(bytes).await.unwrap();
        if close {
            client.shutdown().await.unwrap();
        }
        let begun = tokio::time::Instant::now();
        assert!(matches!(task.await.unwrap(), Err(Fault::Handshake(_))));
        assert!(begun.elapsed() <= common().handshake);
    }
}
