use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::mpsc;

use super::*;
use crate::addr::{Network, Target};
use crate::flow::{recv, send};
use crate::proto::mux::write_new;

fn target() -> Target {
    "a.example:80".parse().unwrap()
}

const LIMITS: Limits = Limits { open: 8, total: 128 };

/// Two ends of one connection, and what the client begins.
fn pair() -> (Trunk, mpsc::UnboundedReceiver<Begun>) {
    let (near, far) = duplex(16 * 1024);
    let client = Trunk::new(Side::Client);
    let mut driver = Driver::new(Box::new(near), client.clone());
    tokio::spawn(async move { while let Ok(Some(_)) = driver.next().await {} });
    let mut server = Driver::new(Box::new(far), Trunk::new(Side::Server));
    let (sender, begun) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok(Some(begun)) = server.next().await {
            sender.send(begun).unwrap();
        }
    });
    (client, begun)
}

#[tokio::test]
async fn many_streams_at_once_keep_their_bytes() {
    let (client, mut begun) = pair();
    let echo = tokio::spawn(async move {
        while let Some(one) = begun.recv().await {
            let mut io = SessionStream::accepted(one.seat);
            tokio::spawn(async move {
                let (mut read, mut write) = tokio::io::split(&mut io);
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    let mut tasks = vec![];
    for n in 0..8u8 {
        let mut io = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
        tasks.push(tokio::spawn(async move {
            let sent: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8 ^ n).collect();
            let (mut read, mut write) = tokio::io::split(&mut io);
            let mut came = vec![0; sent.len()];
            let (written, read) = tokio::join!(write.write_all(&sent), read.read_exact(&mut came));
            written.unwrap();
            read.unwrap();
            assert!(came == sent, "stream {n}");
        }));
    }
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_none());
    for task in tasks {
        task.await.unwrap();
    }
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_some());
    echo.abort();
}

#[tokio::test]
async fn a_session_that_is_not_read_holds_the_sender_back() {
    let (client, mut begun) = pair();
    let mut io = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    let mut sent = 0;
    while let Ok(Ok(n)) = tokio::time::timeout(Duration::from_millis(200), io.write(&[7; 4096])).await {
        sent += n;
        assert!(sent < 1024 * 1024, "nothing holds it back");
    }
    // It ends without having been read, and the connection goes on.
    drop(begun.recv().await.unwrap());
    drop(io);
    let mut other = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    other.write_all(b"x").await.unwrap();
    let mut far = SessionStream::accepted(begun.recv().await.unwrap().seat);
    assert_eq!(far.read_u8().await.unwrap(), b'x');
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_announced_and_heard_out() {
    let (client, mut begun) = pair();
    let mut io = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    let mut greeting = [0; 2];
    let server = async {
        let one = begun.recv().await.unwrap();
        assert_eq!((one.network, &one.target), (Network::Tcp, &target()));
        let mut io = SessionStream::accepted(one.seat);
        io.write_all(b"hi").await.unwrap();
        io
    };
    let (read, mut far) = tokio::join!(io.read_exact(&mut greeting), server);
    read.unwrap();
    // What the client's own end would cut off still arrives.
    io.write_all(b"ask").await.unwrap();
    io.shutdown().await.unwrap();
    let mut asked = [0; 3];
    far.read_exact(&mut asked).await.unwrap();
    far.write_all(b"answer").await.unwrap();
    far.shutdown().await.unwrap();
    let mut answer = String::new();
    io.read_to_string(&mut answer).await.unwrap();
    assert_eq!((&greeting, &asked, answer.as_str()), (b"hi", b"ask", "answer"));
    assert!(io.write_all(b"late").await.is_err());
}

/// While too much waits to be said nothing is read; once that has left, reading goes on by itself.
#[tokio::test]
async fn reading_goes_on_once_what_waited_has_left() {
    let (near, mut far) = duplex(256 * 1024);
    let trunk = Trunk::new(Side::Server);
    let mut driver = Driver::new(Box::new(near), trunk.clone());
    let mut new = BytesMut::new();
    write_new(1, Network::Tcp, &target(), None, Some(b"x"), &mut new);
    far.write_all(&new).await.unwrap();
    assert!(trunk.lock().push(|out| out.resize(100 * 1024, 0)).is_none());
    // Looked at once, for nobody would wake it again.
    let begun = tokio::spawn(async move { driver.next().await });
    tokio::task::yield_now().await;
    assert!(begun.is_finished(), "nobody reads");
    assert_eq!(begun.await.unwrap().unwrap().unwrap().target, target());
}

#[tokio::test]
async fn an_error_is_told_from_an_end() {
    let (client, mut begun) = pair();
    let mut io = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    io.write_all(b"x").await.unwrap();
    drop(begun.recv().await.unwrap());
    assert_eq!(io.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn datagrams_are_dropped_where_nobody_reads_and_none_is_too_large() {
    let (client, mut begun) = pair();
    let mut io = SessionPackets::opening(Seat::take(&client, Network::Udp, LIMITS).unwrap(), target(), None);
    send(&mut io, &[1; 9000], &target()).await.unwrap();
    for n in 0..2000u32 {
        send(&mut io, &n.to_be_bytes(), &target()).await.unwrap();
    }
    let mut far = SessionPackets::accepted(begun.recv().await.unwrap().seat, target());
    let mut buf = BytesMut::new();
    assert_eq!(recv(&mut far, &mut buf).await.unwrap(), target());
    assert_eq!(&buf[..], 0u32.to_be_bytes());
    // The connection is not held up by what was not read.
    let mut other = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    other.write_all(b"x").await.unwrap();
    assert_eq!(begun.recv().await.unwrap().network, Network::Tcp);
}

#[tokio::test]
async fn an_id_is_used_once_and_only_so_many() {
    let (client, _begun) = pair();
    let limits = Limits { open: 2, total: 3 };
    for id in 1..=3 {
        let seat = Seat::take(&client, Network::Tcp, limits).unwrap();
        assert_eq!(seat.id, id);
    }
    assert!(Seat::take(&client, Network::Tcp, limits).is_none());
    assert!(client.close_idle(Some(3)) && client.is_closed());
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_fell_silent_takes_no_more_until_it_is_heard_of() {
    let (client, mut begun) = pair();
    let mut first = SessionStream::opening(Seat::take(&client, Network::Tcp, LIMITS).unwrap(), target());
    first.write_all(b"x").await.unwrap();
    let mut far = SessionStream::accepted(begun.recv().await.unwrap().seat);
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_some());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_none());
    far.write_all(b"y").await.unwrap();
    assert_eq!(first.read_u8().await.unwrap(), b'y');
    assert!(Seat::take(&client, Network::Tcp, LIMITS).is_some());
}
