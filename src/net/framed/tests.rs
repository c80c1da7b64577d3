//! Codecs of a few lines around in-memory streams.
#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;
use crate::wire::WireError;

/// A greeting, then a length byte and as many bytes flipped; the frame "!" is the last, and what follows is bare.
#[derive(Default)]
struct Flip {
    greeted: bool,
    over: bool,
}

impl Seal for Flip {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        if !std::mem::replace(&mut self.greeted, true) {
            out.extend_from_slice(b"hi");
        }
        let taken = plain.len().min(7);
        if taken > 0 {
            out.extend_from_slice(&[u8::try_from(taken).unwrap()]);
            out.extend(plain[..taken].iter().map(|byte| !byte));
        }
        self.over |= &plain[..taken] == b"!";
        taken
    }

    fn next(&self) -> Next {
        if self.over { Next::Bare } else { Next::Framed }
    }

    fn finish(&mut self, out: &mut BytesMut) {
        out.extend_from_slice(&[0]);
    }
}

impl Open for Flip {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        if self.over {
            return Ok(Opened::Over { used: 0, next: Next::Bare });
        }
        if !self.greeted {
            return Ok(match input.len() {
                len @ (0 | 1) => Opened::More { need: 2 - len },
                _ => {
                    self.greeted = true;
                    Opened::Plain { used: 2, at: 0..0 }
                }
            });
        }
        Ok(match input.first().map(|len| usize::from(*len)) {
            None => Opened::More { need: 1 },
            Some(0) => Opened::End { used: 1 },
            Some(len) if input.len() <= len => Opened::More { need: len + 1 - input.len() },
            Some(len) => {
                input[1..=len].iter_mut().for_each(|byte| *byte = !*byte);
                self.over = &input[1..=len] == b"!";
                Opened::Plain { used: len + 1, at: 1..len + 1 }
            }
        })
    }
}

fn pair(room: usize) -> (Framed<DuplexStream, Flip, Flip>, Framed<DuplexStream, Flip, Flip>) {
    let (near, far) = duplex(room);
    let framed = |io| Framed::new(io, BytesMut::new(), Flip::default(), Flip::default());
    (framed(near), framed(far))
}

#[tokio::test]
async fn bytes_pass_whatever_fits_at_a_time() {
    for room in 1..20 {
        let (mut near, mut far) = pair(room);
        let writing = tokio::spawn(async move {
            near.write_all(b"a longer text than one frame holds").await.unwrap();
            near.shutdown().await.unwrap();
            near
        });
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "a longer text than one frame holds", "{room}");
        writing.await.unwrap();
    }
}

#[tokio::test]
async fn a_half_that_is_over_is_bare() {
    for room in [1, 3, 64] {
        let (mut near, mut far) = pair(room);
        let writing = tokio::spawn(async move {
            near.write_all(b"a").await.unwrap();
            near.write_all(b"!").await.unwrap();
            near.write_all(b"bare").await.unwrap();
            near.shutdown().await.unwrap();
        });
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "a!bare");
        writing.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_greeting_leaves_by_itself_after_a_while() {
    let (near, mut far) = duplex(64);
    let near = Framed::new(near, BytesMut::new(), Flip::default(), Flip::default());
    let mut near = near.within(Duration::from_millis(100));
    let reading = tokio::spawn(async move {
        let mut all = String::new();
        near.read_to_string(&mut all).await.map(|_| all)
    });
    let mut said = [0; 2];
    far.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"hi");
    far.write_all(b"hi\x01\x9e\x00").await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), "a");
}

/// Keeps what is written until it is flushed, and the first flush has to be asked for twice.
struct Lazy {
    io: DuplexStream,
    kept: Vec<u8>,
    asked: bool,
}

impl AsyncRead for Lazy {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Lazy {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.kept.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { io, kept, asked } = &mut *self;
        if !std::mem::replace(asked, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while !kept.is_empty() {
            let sent = ready!(Pin::new(&mut *io).poll_write(cx, kept))?;
            kept.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl Stream for Lazy {}

#[tokio::test(start_paused = true)]
async fn a_greeting_does_not_stay_in_a_layer_below() {
    let (near, mut far) = duplex(64);
    let near = Lazy { io: near, kept: Vec::new(), asked: false };
    let near = Framed::new(near, BytesMut::new(), Flip::default(), Flip::default());
    let mut near = near.within(Duration::from_millis(100));
    let reading = tokio::spawn(async move { near.read_u8().await });
    let mut said = [0; 2];
    tokio::time::timeout(Duration::from_secs(5), far.read_exact(&mut said)).await.unwrap().unwrap();
    assert_eq!(&said, b"hi");
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn it_leaves_too_where_nothing_is_opened() {
    let (near, mut far) = duplex(64);
    let open = Flip { over: true, ..Flip::default() };
    let mut near = Framed::new(near, BytesMut::new(), Flip::default(), open).within(Duration::from_millis(100));
    let reading = tokio::spawn(async move { near.read_u8().await });
    let mut said = [0; 2];
    far.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"hi");
    far.write_all(b"x").await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), b'x');
}

/// What was taken from a large buffer must not be looked for in the small one that the end is read into.
#[tokio::test]
async fn the_end_behind_more_than_a_buffer_is_an_end() {
    let (near, far) = duplex(64);
    let frames = [&b"hi"[..], &b"\x01\x9e".repeat(30_000)].concat();
    let mut near = Framed::new(near, BytesMut::from(&frames[..]), Flip::default(), Flip::default());
    let mut all = vec![0; 30_000];
    near.read_exact(&mut all).await.unwrap();
    assert!(near.intake.is_none());
    drop(far);
    assert_eq!(near.read(&mut all).await.unwrap(), 0);
}

#[tokio::test]
async fn half_a_frame_at_the_end_is_an_error() {
    let (near, far) = duplex(64);
    drop(far);
    let held = BytesMut::from(&b"hi\x05ab"[..]);
    let mut near = Framed::new(near, held, Flip::default(), Flip::default());
    let error = near.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn nothing_is_held_while_nothing_moves() {
    let (mut near, mut far) = pair(1024);
    near.write_all(b"x").await.unwrap();
    near.flush().await.unwrap();
    let mut byte = [0];
    far.read_exact(&mut byte).await.unwrap();
    assert!(near.out.is_none() && far.intake.is_none());
}
