//! A half of a stream that is read.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

/// A half that is read.
pub(super) trait Source: Send + Unpin {
    /// Bytes that came, not none; nothing at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>>;
}
