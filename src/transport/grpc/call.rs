//! A call as a stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::h2::client::ResponseFuture;
use ::h2::server::SendResponse;
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::flow::Stream;
use crate::proto::gun::{self, Hunks};
use crate::transport::h2::{Downlink, Exchange, Request, Ticket, Uplink, Windows};

/// One call, seen from either side.
pub(super) struct Call {
    down: Down,
    hunks: Hunks,
    /// Bytes of payload at the front of what came.
    payload: usize,
    /// What went wrong behind the bytes that the reader got.
    fault: Option<io::Error>,
    up: Up,
    /// Among the streams of its connection.
    _ticket: Ticket,
}

/// What is read.
enum Down {
    /// The server has not answered yet.
    Unanswered(ResponseFuture, Arc<Windows>),
    Open(Downlink),
    Ended,
}

/// What is written.
enum Up {
    /// We are the server and have not answered yet.
    Unanswered(SendResponse<Bytes>),
    Open {
        link: Uplink,
        serving: bool,
    },
    Ended,
}

/// Why a server's answer carries nothing.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the server answered with HTTP status {0}")]
    Http(StatusCode),
    #[error("the server answers with something other than gRPC")]
    Type,
    #[error("the server ended the call with gRPC status {0}")]
    Status(u32),
}

/// Pieces without payload that are passed over before other tasks get their turn.
const EMPTY: usize = 64;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

impl Call {
    /// A client's call.
    pub(super) fn asked(exchange: Exchange) -> Self {
        let Exchange { answer, up, windows, ticket } = exchange;
        Self {
            down: Down::Unanswered(answer, windows),
            hunks: Hunks::default(),
            payload: 0,
            fault: None,
            up: Up::Open { link: up, serving: false },
            _ticket: ticket,
        }
    }

    /// A call that a server takes.
    pub(super) fn taken(request: Request) -> Self {
        let Request { down, respond, ticket, .. } = request;
        Self {
            down: Down::Open(down),
            hunks: Hunks::default(),
            payload: 0,
            fault: None,
            up: Up::Unanswered(respond),
            _ticket: ticket,
        }
    }

    /// Reads into `buf` until it is full or nothing more has come.
    fn poll_fill(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        for _ in 0..EMPTY {
            let link = match &mut self.down {
                Down::Ended => return Poll::Ready(Ok(())),
                Down::Open(link) => link,
                Down::Unanswered(answer, windows) => {
                    let answer = ready!(Pin::new(answer).poll(cx)).map_err(io::Error::other)?;
                    check(&answer)?;
                    self.down = Down::Open(Downlink::new(answer.into_body(), Arc::clone(windows)));
                    continue;
                }
            };
            let Some(chunk) = ready!(link.poll_chunk(cx))? else {
                return self.poll_ended(cx);
            };
            if self.payload == 0 {
                let piece = self.hunks.next(chunk)?;
                self.payload = piece.data;
                link.take(piece.skip);
                continue;
            }
            let len = self.payload.min(buf.remaining());
            buf.put_slice(&chunk[..len]);
            link.take(len);
            self.payload -= len;
            if buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The peer has ended its half.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.hunks.is_between() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        if let Down::Open(link) = &mut self.down {
            let trailers = ready!(link.poll_trailers(cx))?;
            self.down = Down::Ended;
            if let Some(trailers) = trailers {
                check_status(&trailers)?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Up {
    /// The link, after a server's first headers.
    fn link(&mut self) -> io::Result<&mut Uplink> {
        if let Self::Unanswered(respond) = self {
            let mut head = Response::new(());
            head.headers_mut().insert(CONTENT_TYPE, GRPC);
            let stream = respond.send_response(head, false).map_err(io::Error::other)?;
            *self = Self::Open { link: Uplink::new(stream), serving: true };
        }
        match self {
            Self::Open { link, .. } => Ok(link),
            Self::Unanswered(_) | Self::Ended => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends this half.
    fn end(&mut self) -> io::Result<()> {
        match std::mem::replace(self, Self::Ended) {
            Self::Unanswered(mut respond) => {
                let mut head = Response::new(());
                head.headers_mut().insert(CONTENT_TYPE, GRPC);
                head.headers_mut().extend(over());
                respond.send_response(head, true).map(drop).map_err(io::Error::other)
            }
            Self::Open { mut link, serving } => link.end(serving.then(over)),
            Self::Ended => Ok(()),
        }
    }
}

/// Trailers of a call that went well.
fn over() -> HeaderMap {
    HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0")), (MESSAGE, HeaderValue::from_static(""))])
}

/// Whether the answer to a call is the beginning of one.
fn check<B>(answer: &Response<B>) -> io::Result<()> {
    let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if answer.status() != StatusCode::OK {
        return refused(Refused::Http(answer.status()));
    }
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.is_some_and(gun::is_grpc) {
        return refused(Refused::Type);
    }
    check_status(answer.headers())
}

/// No status is as good as 0: middlemen lose trailers.
fn check_status(headers: &HeaderMap) -> io::Result<()> {
    let status = headers.get(STATUS).and_then(|value| value.to_str().ok()?.parse().ok());
    match status {
        None | Some(0) => Ok(()),
        Some(status) => Err(io::Error::new(io::ErrorKind::ConnectionReset, Refused::Status(status))),
    }
}

impl AsyncRead for Call {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(fault) = this.fault.take() {
            return Poll::Ready(Err(fault));
        }
        let before = buf.filled().len();
        let filled = this.poll_fill(cx, buf);
        if buf.filled().len() == before {
            return filled;
        }
        if let Poll::Ready(Err(fault)) = filled {
            this.fault = Some(fault);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Call {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let link = self.get_mut().up.link()?;
        let len = buf.len().min(gun::MOST);
        let size = gun::overhead(len) + len;
        ready!(link.poll_ready(size, cx))?;
        let mut hunk = BytesMut::with_capacity(size);
        gun::put_prefix(len, &mut hunk);
        hunk.extend_from_slice(&buf[..len]);
        link.push(hunk.freeze())?;
        Poll::Ready(Ok(len))
    }

    /// All that was written is with the connection already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().up.end())
    }
}

impl Stream for Call {}

/// A server's call ends well whatever became of it, as in Go: a stranger hears no more than that. A client's is reset by the
/// library.
impl Drop for Call {
    fn drop(&mut self) {
        if matches!(self.up, Up::Unanswered(_) | Up::Open { serving: true, .. }) {
            // The connection may be gone, and then nobody listens.
            let _ = self.up.end();
        }
    }
}
