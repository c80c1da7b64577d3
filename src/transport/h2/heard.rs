//! Whether anything was heard from a peer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::flow::BoxStream;

/// A mark that something was read.
pub(super) type Mark = Arc<AtomicBool>;

/// A connection that leaves a mark whenever something was read from it; one store per read.
pub(super) struct Heard {
    io: BoxStream,
    mark: Mark,
    /// The first bytes, until all of them are there.
    preface: Option<Vec<u8>>,
    /// They are not those of HTTP/2.
    refused: bool,
}

/// What a client says first (RFC 9113 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Heard {
    pub(super) fn new(io: BoxStream) -> (Self, Mark) {
        let mark = Mark::default();
        (Self { io, mark: Arc::clone(&mark), preface: None, refused: false }, mark)
    }

    /// The same for a server, which looks at the first bytes of a visitor once all of them are there, as Go's does: a
    /// stranger who says less than that is not told from a client that is slow.
    pub(super) fn preface_first(self) -> Self {
        Self { preface: Some(Vec::with_capacity(PREFACE.len())), ..self }
    }

    /// Reads the first bytes; once they are there, they are given out. Who says something else is told the end, in TLS too.
    fn poll_preface(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while let Some(preface) = &mut self.preface {
            if self.refused {
                // It may be gone already.
                let _ = ready!(Pin::new(&mut self.io).poll_shutdown(cx));
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            let mut first = [0; PREFACE.len()];
            let mut read = ReadBuf::new(&mut first[preface.len()..]);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut read))?;
            preface.extend_from_slice(read.filled());
            let ended = read.filled().is_empty();
            if ended || (preface.len() == PREFACE.len() && preface[..] != PREFACE[..]) {
                self.refused = true;
            } else if preface.len() == PREFACE.len() {
                // The library reads into far more room than this.
                buf.put_slice(&preface[..preface.len().min(buf.remaining())]);
                self.preface = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Heard {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if this.preface.is_some() {
            ready!(this.poll_preface(cx, buf))?;
        } else {
            ready!(Pin::new(&mut this.io).poll_read(cx, buf))?;
        }
        if buf.filled().len() > before {
            this.mark.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Heard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
