//! Connections that stop being TLS, between real ends.
#![allow(clippy::unwrap_used)]

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpListener;

use super::super::client::Client;
use super::super::crypto::Crypto;
use super::super::options::{ClientOptions, Common, ServerOptions};
use super::super::server::Server;
use super::super::testing::Authority;
use super::*;
use crate::addr::Host;

/// What comes behind the last record; rustls would take it for a record with a wrong checksum.
const RAW: &[u8] = b"\x17\x03\x03\x00\x08not ours\x17\x03\x03\x00\x00and so on";

async fn meet<S: Stream>(near: S, far: S, can_end: bool) -> (TlsStream<S>, TlsStream<S>) {
    let (authority, crypto) = (Authority::new(), Crypto::default());
    let common = Common { can_end, ..Common::default() };
    let client = ClientOptions {
        common: common.clone(),
        roots: vec![authority.root()],
        no_system_roots: true,
        ..ClientOptions::default()
    };
    let certificates = vec![authority.issue("127.0.0.1")];
    let server = ServerOptions { common, certificates, ..ServerOptions::default() };
    let (client, server) = (Client::new(&crypto, &client).unwrap(), Server::new(&crypto, &server).unwrap());
    let host = Host::Ip(Ipv4Addr::LOCALHOST.into());
    let (near, far) = tokio::join!(client.connect(near, &host), server.accept(far));
    (near.unwrap(), far.unwrap())
}

async fn piped(can_end: bool) -> (TlsStream<DuplexStream>, TlsStream<DuplexStream>) {
    let (near, far) = duplex(64 * 1024);
    meet(near, far, can_end).await
}

/// A pipe out of which never more than so many bytes come at once.
struct Thin(DuplexStream, usize);

impl AsyncRead for Thin {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let size = self.1.min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(size));
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut part))?;
        let came = part.filled().len();
        buf.advance(came);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Thin {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Stream for Thin {}

/// Says something in TLS, then goes on without, and ends.
async fn leave(stream: &mut (impl Stream + AsyncWriteExt)) {
    stream.write_all(b"first ").await.unwrap();
    stream.write_all(b"last").await.unwrap();
    stream.flush().await.unwrap();
    assert!(stream.go_plain(Half::Write));
    stream.write_all(RAW).await.unwrap();
    stream.shutdown().await.unwrap();
}

/// Reads what is in TLS, by `step` bytes, then what is not.
async fn follow(stream: &mut (impl Stream + AsyncReadExt), step: usize) {
    let mut said = Vec::new();
    while said.len() < b"first last".len() {
        let mut some = vec![0; step];
        let came = stream.read(&mut some).await.unwrap();
        said.extend_from_slice(&some[..came]);
    }
    assert_eq!(said, b"first last");
    assert!(stream.go_plain(Half::Read));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, RAW);
}

#[tokio::test]
async fn no_byte_is_lost_behind_the_last_record_however_they_come() {
    for size in [1, 2, 3, 4, 5, 6, 7, 11, 26, 27, 64, 1000, 64 * 1024] {
        for step in [1, 7, 4096] {
            let (near, far) = duplex(64 * 1024);
            let (mut near, mut far) = meet(Thin(near, size), Thin(far, size), true).await;
            tokio::join!(leave(&mut near), follow(&mut far, step));
            tokio::join!(leave(&mut far), follow(&mut near, step));
        }
    }
}

#[tokio::test]
async fn over_tcp_the_socket_comes_to_light() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let far = listener.accept().await.unwrap().0;
    let (mut near, mut far) = meet(near, far, true).await;
    assert!(near.raw(Half::Write).is_none() && far.raw(Half::Read).is_none());
    // All of it is in the socket before the other side looks.
    leave(&mut near).await;
    follow(&mut far, 4096).await;
    assert!(near.raw(Half::Write).is_some() && near.raw(Half::Read).is_none());
    assert!(far.raw(Half::Read).is_some() && far.raw(Half::Write).is_none());
    tokio::join!(leave(&mut far), follow(&mut near, 4096));
    assert!(near.raw(Half::Read).is_some() && far.raw(Half::Write).is_some());
}

#[tokio::test]
async fn what_tls_still_held_comes_first() {
    let (mut near, mut far) = piped(true).await;
    leave(&mut near).await;
    let mut few = [0; 8];
    far.read_exact(&mut few).await.unwrap();
    assert!(far.go_plain(Half::Read) && far.go_plain(Half::Read));
    let mut rest = Vec::new();
    far.read_to_end(&mut rest).await.unwrap();
    assert_eq!((&few[..], &rest[..]), (&b"first la"[..], &[b"st", RAW].concat()[..]));
}

#[tokio::test]
async fn a_plain_half_never_carries_tls_again() {
    let (mut near, mut far) = piped(true).await;
    assert!(near.go_plain(Half::Write) && far.go_plain(Half::Write));
    far.write_all(RAW).await.unwrap();
    // Its other half is TLS still, and has reason to complain.
    assert!(near.read(&mut [0; 64]).await.is_err());
    near.write_all(b"after").await.unwrap();
    near.shutdown().await.unwrap();
    assert!(far.go_plain(Half::Read));
    let mut all = Vec::new();
    far.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"after");
}

#[tokio::test]
async fn halves_stay_tls_where_a_byte_could_be_lost() {
    let (mut near, far) = piped(false).await;
    assert!(!near.go_plain(Half::Read) && !near.go_plain(Half::Write) && far.is_tls13());
    // In the middle of a record that rustls has the head of.
    let (mut near, mut far) = piped(true).await;
    far.below().write_all(b"\x17\x03\x03\x00\x40half").await.unwrap();
    let mut few = [0; 8];
    assert!(must_wait(&mut near, &mut few));
    assert!(!near.go_plain(Half::Read));
}

/// What is read to the end of a connection that is cut without a word, `behind` the last whole record.
async fn cut(can_end: bool, size: usize, behind: &[u8]) -> (Vec<u8>, io::Result<usize>) {
    let (near, far) = duplex(64 * 1024);
    let (mut from, mut to) = meet(Thin(near, size), Thin(far, size), can_end).await;
    from.write_all(b"first ").await.unwrap();
    from.write_all(b"last").await.unwrap();
    from.flush().await.unwrap();
    from.below().0.write_all(behind).await.unwrap();
    from.below().0.shutdown().await.unwrap();
    let mut said = Vec::new();
    let end = to.read_to_end(&mut said).await;
    (said, end)
}

#[tokio::test]
async fn an_end_between_records_is_an_end_and_one_within_is_a_cut() {
    let begun: &[u8] = b"\x17\x03\x03\x00\x40half of it";
    for can_end in [false, true] {
        for size in [1, 3, 7, 64 * 1024] {
            let (said, end) = cut(can_end, size, b"").await;
            assert_eq!((&said[..], end.unwrap()), (&b"first last"[..], 10), "{can_end} {size}");
            for len in [1, 4, 5, 6, begun.len()] {
                let (said, end) = cut(can_end, size, &begun[..len]).await;
                assert_eq!(said, b"first last", "what came whole is read: {can_end} {size} {len}");
                assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{can_end} {size} {len}");
            }
        }
    }
}

/// Whether a read has to wait.
fn must_wait<S: Stream>(stream: &mut TlsStream<S>, into: &mut [u8]) -> bool {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(into)).is_pending()
}
