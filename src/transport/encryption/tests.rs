#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, duplex};

use super::*;
use crate::flow::{Half, Stream};
use crate::proto::vless::encryption::{Lifetime, Mode, Padding, PrivateKey, PublicKey};

fn pair(mode: Mode) -> (Client, Server) {
    let private = PrivateKey::new(&[7; 64]).unwrap();
    let public = PublicKey::new(private.public()).unwrap();
    let client = Client::new(vec![public], mode, Padding::default(), true);
    (client, Server::new(vec![private], mode, Padding::default(), Lifetime { from: 600, to: None }))
}

const SECOND: Duration = Duration::from_secs(1);

async fn joined(client: &Client, server: &Server) -> (BoxStream, BoxStream) {
    let (near, far) = duplex(4096);
    let mut far: BoxStream = Box::new(far);
    let serving = async {
        let decrypted = decrypt(&mut far, server, SECOND).await.unwrap();
        decrypted.around(far)
    };
    let asking = async {
        let mut near = encrypt(Box::new(near), client).await.unwrap();
        near.write_all(b"first").await.unwrap();
        near.flush().await.unwrap();
        near
    };
    let (near, mut far) = tokio::join!(asking, serving);
    let mut first = [0; 5];
    far.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"first");
    (near, far)
}

async fn cross(from: &mut BoxStream, to: &mut BoxStream) {
    let sent: Vec<u8> = (0..100_000_u32).map(|n| (n / 7) as u8).collect();
    let mut got = vec![0; sent.len()];
    let sending = async {
        from.write_all(&sent).await.unwrap();
        from.flush().await.unwrap();
    };
    let (read, ()) = tokio::join!(to.read_exact(&mut got), sending);
    read.unwrap();
    assert_eq!(got, sent);
}

#[tokio::test(start_paused = true)]
async fn bytes_cross_whether_by_a_ticket_or_not_and_whoever_leaves() {
    for mode in [Mode::Native, Mode::Xorpub, Mode::Random] {
        let (client, server) = pair(mode);
        for _ in 0..3 {
            let (mut near, mut far) = joined(&client, &server).await;
            cross(&mut near, &mut far).await;
            cross(&mut far, &mut near).await;
            assert!(near.may_go_plain() && far.may_go_plain());
            assert!(near.go_plain(Half::Write) && far.go_plain(Half::Read));
            cross(&mut near, &mut far).await;
            cross(&mut far, &mut near).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_are_told_nothing() {
    let (_, server) = pair(Mode::Native);
    let (mut near, far) = duplex(4096);
    let mut far: BoxStream = Box::new(far);
    near.write_all(&[0x16; 3000]).await.unwrap();
    assert!(matches!(decrypt(&mut far, &server, SECOND).await, Err(DriveError::Wire(_))));
    drop(far);
    assert_eq!(near.read(&mut [0; 10]).await.unwrap(), 0);
    let (_near, far) = duplex(4096);
    let mut far: BoxStream = Box::new(far);
    assert!(matches!(decrypt(&mut far, &server, SECOND).await, Err(DriveError::TimedOut)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_started_again_costs_a_client_one_connection() {
    let (client, server) = pair(Mode::Random);
    joined(&client, &server).await;
    let (_, again) = pair(Mode::Random);
    let (near, far) = duplex(4096);
    let mut far: BoxStream = Box::new(far);
    let mut near = encrypt(Box::new(near), &client).await.unwrap();
    near.write_all(b"first").await.unwrap();
    assert!(decrypt(&mut far, &again, SECOND).await.is_err());
    let error = near.read(&mut [0; 10]).await.unwrap_err();
    assert!(error.to_string().contains("does not know the ticket"), "{error}");
    joined(&client, &again).await;
}

#[tokio::test(start_paused = true)]
async fn a_hello_with_a_ticket_counts_once() {
    let (client, server) = pair(Mode::Xorpub);
    joined(&client, &server).await;
    let (near, mut tap) = duplex(4096);
    let mut near = encrypt(Box::new(near), &client).await.unwrap();
    near.write_all(b"first").await.unwrap();
    let mut hello = vec![0; 4096];
    let len = tap.read(&mut hello).await.unwrap();
    for taken in [true, false] {
        let (mut again, far) = duplex(4096);
        again.write_all(&hello[..len]).await.unwrap();
        let mut far: BoxStream = Box::new(far);
        let decrypted = decrypt(&mut far, &server, SECOND).await;
        assert_eq!(decrypted.is_ok(), taken);
        drop(far);
        assert_eq!(again.read(&mut [0; 10]).await.unwrap(), 0);
    }
}
