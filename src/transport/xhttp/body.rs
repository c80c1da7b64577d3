//! Bodies of requests and answers: what we send, and what the other side does.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::source::Source;
use crate::flow::BoxFuture;
use crate::transport::http3::Upload;

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

/// What comes of a request.
pub(super) type Answered = BoxFuture<'static, io::Result<Response<Received>>>;

/// What the other side sends.
pub(super) enum Received {
    /// By HTTP/1.1 or HTTP/2.
    Hyper(Incoming),
    /// A server, by HTTP/3, and how long it is, if that was said.
    Quic(Box<dyn Source>, SizeHint),
    /// A client, by HTTP/3.
    Upload(Box<Upload>),
}

impl Body for Received {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Hyper(body) => Pin::new(body).poll_frame(cx).map_err(io::Error::other),
            Self::Upload(body) => Pin::new(&mut **body).poll_frame(cx),
            Self::Quic(source, _) => source.poll_chunk(cx).map(|chunk| chunk.transpose()).map_ok(Frame::data),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Hyper(body) => body.size_hint(),
            Self::Upload(body) => body.size_hint(),
            Self::Quic(_, hint) => *hint,
        }
    }
}

impl Source for Received {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        loop {
            match ready!(Pin::new(&mut *self).poll_frame(cx)) {
                None => return Poll::Ready(Ok(None)),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data()
                        && !bytes.is_empty()
                    {
                        return Poll::Ready(Ok(Some(bytes)));
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received").finish_non_exhaustive()
    }
}
