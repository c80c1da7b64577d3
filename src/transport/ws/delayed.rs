//! A WebSocket that is opened by its first bytes.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::WsStream;
use crate::flow::{BoxFuture, Half, Stream};

/// Waits for the first write, and sends the request with it: inside if it is short enough, else in front.
pub(super) struct Delayed {
    state: State,
    /// Most bytes that travel in the request.
    early: usize,
    /// Whoever waits while it opens. The two halves may be two tasks, and the socket knows one of them alone.
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Runs the handshake; the bytes travel in it.
pub(super) type Shake = Box<dyn FnOnce(Vec<u8>) -> BoxFuture<'static, io::Result<WsStream>> + Send>;

enum State {
    Waiting(Shake),
    Opening(BoxFuture<'static, io::Result<WsStream>>),
    Open(Box<WsStream>),
    Failed,
}

impl Delayed {
    /// So many of the first bytes travel in the request.
    pub(super) fn new(early: usize, shake: Shake) -> Self {
        Self { state: State::Waiting(shake), early, reader: None, writer: None }
    }

    /// Sends the request, if it still waits, with as much of `first` as may travel in it; says how much.
    fn begin(&mut self, first: &[u8]) -> usize {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Waiting(shake) => {
                let early = if first.len() <= self.early { first.to_vec() } else { Vec::new() };
                let taken = early.len();
                self.state = State::Opening(shake(early));
                self.wake();
                taken
            }
            other => {
                self.state = other;
                0
            }
        }
    }

    fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }

    /// The stream once it is open.
    fn poll_open(&mut self, half: Half, cx: &Context<'_>) -> Poll<io::Result<&mut WsStream>> {
        if let State::Opening(opening) = &mut self.state
            && let Poll::Ready(opened) = opening.as_mut().poll(&mut Context::from_waker(cx.waker()))
        {
            self.wake();
            match opened {
                Ok(ws) => self.state = State::Open(Box::new(ws)),
                Err(error) => {
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.state {
            State::Open(ws) => Poll::Ready(Ok(ws)),
            State::Failed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            State::Waiting(_) | State::Opening(_) => {
                let waiting = match half {
                    Half::Read => &mut self.reader,
                    Half::Write => &mut self.writer,
                };
                *waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncRead for Delayed {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let ws = ready!(self.get_mut().poll_open(Half::Read, cx))?;
        Pin::new(ws).poll_read(cx, buf)
    }
}

impl AsyncWrite for Delayed {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let early = this.begin(buf);
        // Polled also for its own sake: only then does the request leave.
        let opened = this.poll_open(Half::Write, cx);
        if early > 0 {
            return Poll::Ready(match opened {
                Poll::Ready(Err(error)) => Err(error),
                _ => Ok(early),
            });
        }
        Pin::new(ready!(opened)?).poll_write(cx, buf)
    }

    /// Does not wait for the server's answer: the request has left, and what else is written waits for the answer anyway.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.begin(&[]);
        match this.poll_open(Half::Write, cx) {
            Poll::Ready(ws) => Pin::new(ws?).poll_flush(cx),
            Poll::Pending => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.begin(&[]);
        Pin::new(ready!(this.poll_open(Half::Write, cx))?).poll_shutdown(cx)
    }
}

impl Stream for Delayed {}

impl fmt::Debug for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delayed").field("early", &self.early).finish_non_exhaustive()
    }
}
