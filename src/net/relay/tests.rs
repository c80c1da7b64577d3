//! Over real loopback sockets, since half closes and splicing are theirs.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::flow::Stream;
use crate::net::pool;

const LIMITS: Limits = Limits {
    idle: Some(Duration::from_secs(300)),
    uplink_only: Duration::from_secs(2),
    downlink_only: Duration::from_secs(5),
};

/// Hides the socket, so that the relay must copy.
struct Opaque(TcpStream);

impl tokio::io::AsyncRead for Opaque {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl tokio::io::AsyncWrite for Opaque {
    fn poll_write(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Stream for Opaque {}

async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

struct Running {
    client: TcpStream,
    server: TcpStream,
    token: CancellationToken,
    meter: Arc<Meter>,
    task: JoinHandle<Relayed>,
}

/// A relay between two socket pairs, of which the test holds the outer ends.
async fn running(limits: Limits, plain: bool) -> Running {
    let (client, inner) = sockets().await;
    let (server, outer) = sockets().await;
    let (token, meter) = (CancellationToken::new(), Arc::new(Meter::default()));
    let (stop, count) = (token.clone(), Arc::clone(&meter));
    let near: BoxStream = if plain { Box::new(inner) } else { Box::new(Opaque(inner)) };
    let task = tokio::spawn(async move { relay(near, Box::new(outer), limits, &count, &stop).await });
    Running { client, server, token, meter, task }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 251) as u8).collect()
}

#[tokio::test]
async fn splice_and_copy_give_equal_bytes_both_ways() {
    const LEN: usize = 3_000_001;
    for plain in [true, false] {
        let Running { client, server, meter, task, .. } = running(LIMITS, plain).await;
        let mut ends = Vec::new();
        for (end, other) in [(client, LEN), (server, LEN)] {
            ends.push(tokio::spawn(async move {
                let (mut read, mut write) = end.into_split();
                let sending = tokio::spawn(async move {
                    write.write_all(&pattern(LEN)).await.unwrap();
                    write.shutdown().await.unwrap();
                });
                let mut got = Vec::new();
                read.read_to_end(&mut got).await.unwrap();
                sending.await.unwrap();
                assert_eq!(got.len(), other);
                assert!(got == pattern(LEN));
            }));
        }
        for end in ends {
            end.await.unwrap();
        }
        let relayed = task.await.unwrap();
        assert!(matches!(relayed.end, FlowEnd::Done), "{:?}", relayed.end);
        assert_eq!((relayed.up, relayed.down), (LEN as u64, LEN as u64));
        assert_eq!((meter.up(), meter.down()), (LEN as u64, LEN as u64));
    }
}

#[tokio::test]
async fn the_end_of_one_half_arrives_and_the_answer_comes_whole() {
    let Running { mut client, mut server, task, .. } = running(LIMITS, true).await;
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    let mut asked = String::new();
    server.read_to_string(&mut asked).await.unwrap();
    assert_eq!(asked, "question");
    let answer = pattern(500_000);
    let (sent, got) = tokio::join!(
        async {
            server.write_all(&answer).await.unwrap();
            drop(server);
        },
        async {
            let mut got = Vec::new();
            client.read_to_end(&mut got).await.unwrap();
            got
        }
    );
    let () = sent;
    assert!(got == answer);
    assert!(matches!(task.await.unwrap().end, FlowEnd::Done));
}

fn pair(limits: Limits) -> (DuplexStream, DuplexStream, JoinHandle<Relayed>) {
    let (client, inner) = duplex(64 * 1024);
    let (server, outer) = duplex(64 * 1024);
    let task = tokio::spawn(async move {
        let (meter, token) = (Meter::default(), CancellationToken::new());
        relay(Box::new(inner), Box::new(outer), limits, &meter, &token).await
    });
    (client, server, task)
}

#[tokio::test(start_paused = true)]
async fn limits_count_quiet_time_only() {
    let begun = Instant::now();
    let (mut client, mut server, task) = pair(LIMITS);
    for _ in 0..5 {
        sleep(Duration::from_secs(200)).await;
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();
    }
    assert!(matches!(task.await.unwrap().end, FlowEnd::Idle));
    assert_eq!(begun.elapsed().as_secs(), 1300);
}

#[tokio::test(start_paused = true)]
async fn each_half_has_its_own_limit() {
    let begun = Instant::now();
    let (mut client, _server, task) = pair(LIMITS);
    client.shutdown().await.unwrap();
    assert!(matches!(task.await.unwrap().end, FlowEnd::HalfIdle));
    assert_eq!(begun.elapsed().as_secs(), 5);

    let begun = Instant::now();
    let (mut client, mut server, task) = pair(LIMITS);
    server.shutdown().await.unwrap();
    for _ in 0..3 {
        sleep(Duration::from_secs(1)).await;
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();
    }
    assert!(matches!(task.await.unwrap().end, FlowEnd::HalfIdle));
    assert_eq!(begun.elapsed().as_secs(), 5);

    let (_client, mut server, task) = pair(Limits { uplink_only: Duration::ZERO, ..LIMITS });
    server.shutdown().await.unwrap();
    assert!(matches!(task.await.unwrap().end, FlowEnd::HalfIdle));
}

#[tokio::test]
async fn the_token_closes_both_sides() {
    let Running { mut client, mut server, token, task, .. } = running(LIMITS, true).await;
    client.write_all(b"x").await.unwrap();
    server.read_exact(&mut [0]).await.unwrap();
    token.cancel();
    let relayed = task.await.unwrap();
    assert!(matches!(relayed.end, FlowEnd::Cancelled));
    assert_eq!(relayed.up, 1);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_reset_says_which_side_broke() {
    let Running { client, mut server, task, .. } = running(LIMITS, true).await;
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    let end = task.await.unwrap().end;
    assert!(matches!(end, FlowEnd::Broken { side: Side::Client, .. }), "{end:?}");
    assert_eq!(server.read(&mut [0]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_side_that_takes_no_more_is_still_heard_out() {
    let (mut client, inner) = duplex(16);
    let (mut server, outer) = duplex(16);
    // The server's reading half is gone, its writing half is not.
    let outer = tokio::io::join(outer, Deaf);
    struct Deaf;
    impl tokio::io::AsyncWrite for Deaf {
        fn poll_write(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }
        fn poll_flush(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    impl Stream for tokio::io::Join<DuplexStream, Deaf> {}
    let task = tokio::spawn(async move {
        relay(Box::new(inner), Box::new(outer), LIMITS, &Meter::default(), &CancellationToken::new()).await
    });
    client.write_all(b"upload").await.unwrap();
    server.write_all(b"413 too large, thank you").await.unwrap();
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "413 too large, thank you");
    drop(client);
    assert!(matches!(task.await.unwrap().end, FlowEnd::Broken { side: Side::Server, .. }));
}

/// Bytes that nobody takes are held; everything else is given back.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_idle_tunnel_holds_no_pipe() {
    const TUNNELS: usize = 40;
    let mut tunnels = Vec::new();
    for _ in 0..TUNNELS {
        let mut tunnel = running(LIMITS, true).await;
        let bulk = pattern(8 * pool::SIZE);
        let mut got = vec![0; bulk.len()];
        let (sent, _) = tokio::join!(tunnel.client.write_all(&bulk), tunnel.server.read_exact(&mut got));
        sent.unwrap();
        assert!(got == bulk);
        tunnels.push(tunnel);
    }
    let pipes = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|link| link.to_string_lossy().starts_with("pipe:"))
        .count();
    // Those few are free ones that the thread keeps.
    assert!((2..TUNNELS).contains(&pipes), "{pipes} pipe ends for {TUNNELS} idle tunnels");
}

#[test]
fn a_relay_is_a_small_future() {
    let (client, server) = (duplex(1).0, duplex(1).0);
    let (meter, token) = (Meter::default(), CancellationToken::new());
    let future = relay(Box::new(client), Box::new(server), LIMITS, &meter, &token);
    let size = size_of_val(&future);
    assert!(size <= 700, "{size} bytes");
}
