//! What an answer to a stranger holds.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};

/// What an answer holds.
pub(super) enum Page {
    /// These bytes.
    Whole(Bytes),
    /// A file, so much of it.
    File(Box<File>, u64),
    /// What another site sends.
    Upstream(Incoming),
}

/// Bytes of a file that are read at a time.
const PIECE: usize = 16 * 1024;

impl Default for Page {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Body for Page {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::File(_, 0) => Poll::Ready(None),
            Self::File(file, left) => {
                let mut piece = vec![0; usize::try_from(*left).map_or(PIECE, |left| left.min(PIECE))];
                let mut read = ReadBuf::new(&mut piece);
                ready!(Pin::new(&mut **file).poll_read(cx, &mut read))?;
                let len = read.filled().len();
                if len == 0 {
                    // It has become shorter than was said.
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                piece.truncate(len);
                *left -= len as u64;
                Poll::Ready(Some(Ok(Frame::data(piece.into()))))
            }
            Self::Upstream(body) => Pin::new(body).poll_frame(cx).map_err(io::Error::other),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::File(_, left) => SizeHint::with_exact(*left),
            Self::Upstream(body) => body.size_hint(),
        }
    }
}
