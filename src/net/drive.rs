//! Runs any handshake over any stream, with a deadline and a cap.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::pool::Buffer;
use crate::wire::{Handshake, Step, WireError};

/// Bounds of one handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Time for all of it.
    pub limit: Duration,
    /// Most bytes that may be unused at a time, so a peer cannot make us keep what never becomes a message.
    pub cap: usize,
}

impl Bounds {
    /// This long, with a cap that every protocol's opening fits in (an HTTP request head is the largest).
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Self { limit, cap: 32 * 1024 }
    }
}

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The peer closed before it was finished.
    #[error("closed by the peer during the handshake")]
    Closed,
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer took too long.
    #[error("the handshake took too long")]
    TimedOut,
    /// The peer's bytes are not what the protocol says.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl From<DriveError> for io::Error {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Io(error) => error,
            DriveError::Wire(error) => error.into(),
            DriveError::Closed => Self::new(io::ErrorKind::UnexpectedEof, DriveError::Closed),
            DriveError::TimedOut => Self::new(io::ErrorKind::TimedOut, DriveError::TimedOut),
        }
    }
}

/// Reads once, unless something is held already: for protocols that judge by what comes first.
///
/// # Errors
/// [`DriveError`], also when the peer closes without a word.
pub async fn look<S>(io: &mut S, held: &mut BytesMut, bounds: Bounds) -> Result<(), DriveError>
where
    S: AsyncRead + Unpin + ?Sized,
{
    if !held.is_empty() {
        return Ok(());
    }
    let read = timeout(bounds.limit, poll_fn(|cx| poll_more(io, held, bounds.cap, cx))).await;
    if read.map_err(|_| DriveError::TimedOut)?? == 0 { Err(DriveError::Closed) } else { Ok(()) }
}

/// Runs `shake` to its end. `held` holds what was read already and gets what was read too far: give it to the next
/// handshake, or to [`Prefixed`](super::prefixed::Prefixed) if it is not empty. What the handshake says is sent before
/// this returns, also when it fails.
///
/// # Errors
/// [`DriveError`].
pub async fn drive<S, H>(
    io: &mut S,
    held: &mut BytesMut,
    shake: &mut H,
    bounds: Bounds,
) -> Result<H::Output, DriveError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
    H: Handshake,
{
    timeout(bounds.limit, run(io, held, shake, bounds.cap)).await.unwrap_or(Err(DriveError::TimedOut))
}

async fn run<S, H>(io: &mut S, held: &mut BytesMut, shake: &mut H, cap: usize) -> Result<H::Output, DriveError>
where
    S: AsyncRead + AsyncWrite + Unpin + ?Sized,
    H: Handshake,
{
    let mut reply = Vec::new();
    let mut unseen = !held.is_empty();
    // Whoever speaks first does so on empty input.
    let mut shown = shake.step(&[], &mut reply);
    loop {
        if !reply.is_empty() {
            let sent = async {
                io.write_all(&reply).await?;
                io.flush().await
            };
            let sent = sent.await;
            reply.clear();
            // A refusal that cannot be delivered is still a refusal.
            if shown.is_ok() {
                sent?;
            }
        }
        match shown? {
            Step::Done { used, value } => {
                let _ = held.split_to(used.min(held.len()));
                return Ok(value);
            }
            Step::More { used, .. } => {
                let _ = held.split_to(used.min(held.len()));
            }
        }
        if !std::mem::take(&mut unseen) {
            if held.len() >= cap {
                return Err(WireError::TooLong.into());
            }
            if poll_fn(|cx| poll_more(io, held, cap, cx)).await? == 0 {
                return Err(DriveError::Closed);
            }
        }
        shown = shake.step(held, &mut reply);
    }
}

/// Reads through a borrowed buffer: a peer that has not spoken yet costs no memory, and one that has as much as it said.
fn poll_more<S>(io: &mut S, held: &mut BytesMut, cap: usize, cx: &mut Context<'_>) -> Poll<io::Result<usize>>
where
    S: AsyncRead + Unpin + ?Sized,
{
    let mut buffer = Buffer::take();
    let room = cap.saturating_sub(held.len()).clamp(1, buffer.len());
    let mut read = ReadBuf::new(&mut buffer[..room]);
    ready!(Pin::new(io).poll_read(cx, &mut read))?;
    held.extend_from_slice(read.filled());
    Poll::Ready(Ok(read.filled().len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;
    use crate::wire::whole;

    /// Says "hi", reads a length-prefixed word, says "ok" or, to the word "no", "go".
    struct Word;

    impl Handshake for Word {
        type Output = String;

        fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<String>, WireError> {
            if input.is_empty() {
                reply.extend(b"hi");
                return Ok(Step::More { used: 0, need: 1 });
            }
            let step = whole(input, |reader| reader.take_prefixed_u8().map(<[u8]>::to_vec))?;
            Ok(match step {
                Step::More { used, need } => Step::More { used, need },
                Step::Done { value, .. } if value == b"no" => {
                    reply.extend(b"go");
                    return Err(WireError::Denied { what: "word" });
                }
                Step::Done { used, value } => {
                    reply.extend(b"ok");
                    Step::Done { used, value: String::from_utf8_lossy(&value).into_owned() }
                }
            })
        }
    }

    const BOUNDS: Bounds = Bounds { limit: Duration::from_secs(5), cap: 64 };

    #[tokio::test]
    async fn bytes_read_too_far_are_kept() {
        let (mut near, mut far) = duplex(256);
        far.write_all(b"\x03abcrest").await.unwrap();
        let mut held = BytesMut::new();
        assert_eq!(drive(&mut near, &mut held, &mut Word, BOUNDS).await.unwrap(), "abc");
        assert_eq!(&held[..], b"rest");
        let mut said = [0; 4];
        far.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"hiok");
    }

    #[tokio::test]
    async fn bytes_held_before_are_shown_first() {
        let (mut near, _far) = duplex(256);
        let mut held = BytesMut::from(&b"\x01a\x01b"[..]);
        assert_eq!(drive(&mut near, &mut held, &mut Word, BOUNDS).await.unwrap(), "a");
        assert_eq!(drive(&mut near, &mut held, &mut Word, BOUNDS).await.unwrap(), "b");
        assert!(held.is_empty());
    }

    #[tokio::test]
    async fn a_refusal_is_sent() {
        let (mut near, mut far) = duplex(256);
        far.write_all(b"\x02no").await.unwrap();
        let error = drive(&mut near, &mut BytesMut::new(), &mut Word, BOUNDS).await.unwrap_err();
        assert!(matches!(error, DriveError::Wire(WireError::Denied { .. })));
        drop(near);
        let mut said = String::new();
        far.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "higo");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_an_early_end_and_a_flood_are_told_apart() {
        let (mut near, far) = duplex(256);
        let error = drive(&mut near, &mut BytesMut::new(), &mut Word, BOUNDS).await.unwrap_err();
        assert!(matches!(error, DriveError::TimedOut));
        drop(far);
        let (mut near, mut far) = duplex(256);
        far.write_all(b"\x09ab").await.unwrap();
        far.shutdown().await.unwrap();
        let error = drive(&mut near, &mut BytesMut::new(), &mut Word, BOUNDS).await.unwrap_err();
        assert!(matches!(error, DriveError::Closed));
        let (mut near, mut far) = duplex(256);
        far.write_all(&[255; 200]).await.unwrap();
        let error = drive(&mut near, &mut BytesMut::new(), &mut Word, BOUNDS).await.unwrap_err();
        assert!(matches!(error, DriveError::Wire(WireError::TooLong)));
    }
}
