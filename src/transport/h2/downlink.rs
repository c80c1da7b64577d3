//! What is read from a stream.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::h2::{Reason, RecvStream};
use bytes::{Buf as _, Bytes};
use http::HeaderMap;

use super::fault::fault;
use super::windows::Windows;

/// The reading half of a stream.
#[derive(Debug)]
pub struct Downlink {
    stream: RecvStream,
    windows: Arc<Windows>,
    /// What came and was not taken yet.
    chunk: Bytes,
    /// How long that was; it goes back to the window once all of it was taken.
    owed: usize,
    /// Bytes taken since the window was last looked at.
    read: usize,
    ended: bool,
}

impl Downlink {
    /// Around a stream of the library, with the windows of its connection.
    #[must_use]
    pub fn new(stream: RecvStream, windows: Arc<Windows>) -> Self {
        Self { stream, windows, chunk: Bytes::new(), owed: 0, read: 0, ended: false }
    }

    /// Bytes that came, not none; nothing once the peer has ended its half.
    ///
    /// # Errors
    /// The stream was reset, or its connection has ended.
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<&Bytes>>> {
        while self.chunk.is_empty() && !self.ended {
            self.give_back()?;
            match self.stream.poll_data(cx) {
                Poll::Pending => {
                    if self.windows.kept_up(self.read) {
                        self.read = 0;
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(chunk))) => {
                    self.owed = chunk.len();
                    self.chunk = chunk;
                }
                // Said by a server that ends its half and wants no more of ours.
                Poll::Ready(Some(Err(error))) if error.is_reset() && error.reason() == Some(Reason::NO_ERROR) => {
                    self.ended = true;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(fault(error))),
                Poll::Ready(None) => self.ended = true,
            }
        }
        Poll::Ready(Ok(Some(&self.chunk).filter(|chunk| !chunk.is_empty())))
    }

    /// Takes bytes from the front of the chunk.
    pub fn take(&mut self, len: usize) {
        self.chunk.advance(len.min(self.chunk.len()));
    }

    /// What the peer said behind its half. Only once there are no more chunks.
    ///
    /// # Errors
    /// The stream was reset, or its connection has ended.
    pub fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<HeaderMap>>> {
        match ready!(self.stream.poll_trailers(cx)) {
            Err(error) if error.is_reset() && error.reason() == Some(Reason::NO_ERROR) => Poll::Ready(Ok(None)),
            trailers => Poll::Ready(trailers.map_err(fault)),
        }
    }

    fn give_back(&mut self) -> io::Result<()> {
        let owed = std::mem::take(&mut self.owed);
        self.read = self.read.saturating_add(owed);
        if owed > 0 { self.stream.flow_control().release_capacity(owed).map_err(fault) } else { Ok(()) }
    }
}
