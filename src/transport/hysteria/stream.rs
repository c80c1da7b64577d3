//! A stream of QUIC as one of ours.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use quinn::{RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::keep::Keep;
use crate::flow::Stream;

/// A stream both ways.
pub struct Duplex {
    sending: SendStream,
    receiving: RecvStream,
    keep: Keep,
}

impl Duplex {
    pub(super) fn new(sending: SendStream, receiving: RecvStream, keep: Keep) -> Self {
        Self { sending, receiving, keep }
    }

    /// Its parts.
    pub(super) fn into_parts(self) -> (SendStream, RecvStream, Keep) {
        (self.sending, self.receiving, self.keep)
    }
}

impl AsyncRead for Duplex {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.receiving).poll_read(cx, buf)
    }
}

impl AsyncWrite for Duplex {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.sending).poll_write(cx, buf).map_err(Into::into)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It may have ended already.
        let _ = self.sending.finish();
        Poll::Ready(Ok(()))
    }
}

impl Stream for Duplex {}

impl fmt::Debug for Duplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Duplex").field(&self.sending.id()).finish()
    }
}
