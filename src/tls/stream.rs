//! A TLS connection as a stream.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::flow::Stream;

/// A TLS connection of either side.
#[derive(Debug)]
pub struct TlsStream<S>(tokio_rustls::TlsStream<S>);

impl<S> TlsStream<S> {
    pub(super) fn new(inner: tokio_rustls::TlsStream<S>) -> Self {
        Self(inner)
    }

    /// The protocol that both sides agreed on.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.0.get_ref().1.alpn_protocol()
    }

    /// The name that the client asked for; on a client, none.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        match &self.0 {
            tokio_rustls::TlsStream::Server(stream) => stream.get_ref().1.server_name(),
            tokio_rustls::TlsStream::Client(_) => None,
        }
    }
}

impl<S: Stream> AsyncRead for TlsStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.0).poll_read(cx, buf) {
            // Many peers close the connection without saying so in TLS; Go takes that for an end too, and what is carried
            // here knows its own ends.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            other => other,
        }
    }
}

impl<S: Stream> AsyncWrite for TlsStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }
}

/// Never raw: every byte is transformed, in both directions.
impl<S: Stream> Stream for TlsStream<S> {}
