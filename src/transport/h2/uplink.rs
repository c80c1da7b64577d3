//! What is written to a stream.

use std::io;
use std::task::{Context, Poll, Waker, ready};

use ::h2::{Reason, SendStream};
use bytes::Bytes;
use http::HeaderMap;

use super::fault::fault;

/// The writing half of a stream. What is pushed is with the connection at once; the next push waits until the peer's window
/// and the connection have room for more, so that no more waits than `UNSENT` bytes and one push.
#[derive(Debug)]
pub struct Uplink {
    stream: SendStream<Bytes>,
    /// Something was pushed. The first must not wait: a stream gets its window only once the connection has sent its head.
    begun: bool,
    /// The peer has said all it had to say and wants nothing more: what is pushed is let go, so that the other half comes to
    /// its end in peace.
    unwanted: bool,
}

/// What may wait in a stream for the socket.
pub(super) const UNSENT: usize = 128 * 1024;

impl Uplink {
    /// Around a stream of the library.
    #[must_use]
    pub fn new(stream: SendStream<Bytes>) -> Self {
        Self { stream, begun: false, unwanted: false }
    }

    /// Waits for room for a push of `len` bytes.
    ///
    /// # Errors
    /// The stream was reset, or its connection has ended.
    pub fn poll_ready(&mut self, len: usize, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.begun || self.unwanted {
            return Poll::Ready(Ok(()));
        }
        self.stream.reserve_capacity(len);
        if self.stream.capacity() > 0 {
            return Poll::Ready(Ok(()));
        }
        match ready!(self.stream.poll_capacity(cx)) {
            Some(room) => Poll::Ready(room.map(drop).map_err(fault)),
            None => Poll::Ready(self.ended(cx)),
        }
    }

    /// Gives bytes to send; after [`Uplink::poll_ready`] was.
    ///
    /// # Errors
    /// The stream was reset, or its connection has ended.
    pub fn push(&mut self, bytes: Bytes) -> io::Result<()> {
        self.begun = true;
        if self.unwanted || self.stream.send_data(bytes, false).is_ok() { Ok(()) } else { self.ended_now() }
    }

    /// Ends this half behind all that was pushed, with trailers or without.
    ///
    /// # Errors
    /// The stream was reset, or its connection has ended.
    pub fn end(&mut self, trailers: Option<HeaderMap>) -> io::Result<()> {
        let ended = match trailers {
            _ if self.unwanted => return Ok(()),
            Some(trailers) => self.stream.send_trailers(trailers),
            None => self.stream.send_data(Bytes::new(), true),
        };
        if ended.is_ok() { Ok(()) } else { self.ended_now() }
    }

    /// Why nothing can be written any more.
    fn ended(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.stream.poll_reset(cx) {
            Poll::Ready(Ok(Reason::NO_ERROR)) => {
                self.unwanted = true;
                Ok(())
            }
            Poll::Ready(Ok(reason)) => Err(fault(reason.into())),
            Poll::Ready(Err(error)) => Err(fault(error)),
            Poll::Pending => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The same where nobody is to be woken.
    fn ended_now(&mut self) -> io::Result<()> {
        self.ended(&mut Context::from_waker(Waker::noop()))
    }
}
