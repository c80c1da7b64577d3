//! A half of a stream that is read.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};

/// A half that is read.
pub(super) trait Source: Send + Unpin {
    /// Bytes that came, not none; nothing at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>>;
}

/// The next bytes of a library's stream, whose pieces may be empty.
pub(super) fn poll_bytes<B: Buf, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    mut next: impl FnMut() -> Poll<Result<Option<B>, E>>,
) -> Poll<io::Result<Option<Bytes>>> {
    loop {
        let Some(mut chunk) = ready!(next()).map_err(io::Error::other)? else { return Poll::Ready(Ok(None)) };
        if chunk.has_remaining() {
            return Poll::Ready(Ok(Some(chunk.copy_to_bytes(chunk.remaining()))));
        }
    }
}
