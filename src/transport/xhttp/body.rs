//! Bodies of requests and answers that we send.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

/// What is sent.
pub(super) enum Outgoing {
    /// These bytes, which may be none.
    Whole(Bytes),
    /// What comes through the channel, until it closes.
    Feed {
        /// Where it comes from.
        receiver: mpsc::Receiver<Bytes>,
        /// Falls when nobody wants it any more.
        _guard: Option<DropGuard>,
    },
}

impl Outgoing {
    pub(super) fn feed(receiver: mpsc::Receiver<Bytes>) -> Self {
        Self::Feed { receiver, _guard: None }
    }

    pub(super) fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Feed { receiver, .. } => receiver.poll_recv(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Feed { .. } => SizeHint::default(),
        }
    }
}
