//! A TLS connection as a stream.

use std::io::{self, IoSlice, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use rustls::ProtocolVersion;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::records::Records;
use crate::flow::{Half, Stream};

/// A TLS connection of either side.
///
/// Many peers close the connection without saying so in TLS (`close_notify`). Between two records that is an end like any
/// other: Go's crypto/tls takes it so as well, for the sake of web sites, and what is carried here knows its own ends.
/// Within a record, data was cut off: that is [`io::ErrorKind::UnexpectedEof`], here as there.
///
/// Where its settings foresee it ([`super::Inner::Vision`]), each half can stop being TLS
/// behind its last record: [`Stream::go_plain`].
#[derive(Debug)]
pub struct TlsStream<S> {
    tls: tokio_rustls::TlsStream<Records<S>>,
    /// Once reading is plain: what was read before that was known.
    plain_read: Option<Bytes>,
    plain_write: bool,
}

impl<S: Stream> TlsStream<S> {
    pub(super) fn new(tls: tokio_rustls::TlsStream<Records<S>>) -> Self {
        Self { tls, plain_read: None, plain_write: false }
    }

    /// The protocol that both sides agreed on.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.tls.get_ref().1.alpn_protocol()
    }

    /// The name that the client asked for; on a client, none.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        match &self.tls {
            tokio_rustls::TlsStream::Server(stream) => stream.get_ref().1.server_name(),
            tokio_rustls::TlsStream::Client(_) => None,
        }
    }

    /// Whether both sides speak TLS 1.3, without which Vision would give itself away.
    #[must_use]
    pub fn is_tls13(&self) -> bool {
        self.tls.get_ref().1.protocol_version() == Some(ProtocolVersion::TLSv1_3)
    }

    fn poll_tls(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut tls = Pin::new(&mut self.tls);
        if !tls.get_ref().0.one_by_one() {
            return tls.poll_read(cx, buf);
        }
        // The above goes on to further records as long as there is room.
        let plain = ready!(tls.as_mut().poll_fill_buf(cx))?;
        let len = plain.len().min(buf.remaining());
        buf.put_slice(&plain[..len]);
        tls.consume(len);
        Poll::Ready(Ok(()))
    }

    fn below(&mut self) -> &mut S {
        &mut self.tls.get_mut().0.io
    }

    /// What rustls holds in plain, and what was read of a record's header.
    fn leftover(&mut self) -> Bytes {
        let mut left = Vec::new();
        // It ends with `WouldBlock`, behind all there is.
        let _ = match &mut self.tls {
            tokio_rustls::TlsStream::Client(stream) => stream.get_mut().1.reader().read_to_end(&mut left),
            tokio_rustls::TlsStream::Server(stream) => stream.get_mut().1.reader().read_to_end(&mut left),
        };
        left.extend_from_slice(self.tls.get_mut().0.take_head());
        left.into()
    }
}

impl<S: Stream> AsyncRead for TlsStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match &mut this.plain_read {
            Some(left) if left.is_empty() => Pin::new(this.below()).poll_read(cx, buf),
            Some(left) => {
                let len = left.len().min(buf.remaining());
                buf.put_slice(&left[..len]);
                left.advance(len);
                Poll::Ready(Ok(()))
            }
            None => match this.poll_tls(cx, buf) {
                Poll::Ready(Err(error))
                    if error.kind() == io::ErrorKind::UnexpectedEof && !this.tls.get_ref().0.within() =>
                {
                    Poll::Ready(Ok(()))
                }
                other => other,
            },
        }
    }
}

impl<S: Stream> AsyncWrite for TlsStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.plain_write {
            Pin::new(this.below()).poll_write(cx, buf)
        } else {
            Pin::new(&mut this.tls).poll_write(cx, buf)
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.plain_write { Pin::new(this.below()).poll_flush(cx) } else { Pin::new(&mut this.tls).poll_flush(cx) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.plain_write {
            // No parting word of TLS: the peer would take it for payload.
            Pin::new(this.below()).poll_shutdown(cx)
        } else {
            Pin::new(&mut this.tls).poll_shutdown(cx)
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_write_vectored() && (!self.plain_write || self.tls.get_ref().0.io.is_write_vectored())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.plain_write {
            Pin::new(this.below()).poll_write_vectored(cx, bufs)
        } else {
            Pin::new(&mut this.tls).poll_write_vectored(cx, bufs)
        }
    }
}

/// Raw only where it went plain: every other byte is transformed.
impl<S: Stream> Stream for TlsStream<S> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        let clear = match half {
            Half::Read => self.plain_read.as_ref().is_some_and(Bytes::is_empty),
            Half::Write => self.plain_write,
        };
        if clear { self.tls.get_ref().0.io.raw(half) } else { None }
    }

    fn may_go_plain(&self) -> bool {
        self.is_tls13() && self.tls.get_ref().0.one_by_one()
    }

    /// Refuses where rustls may have read too far, or has not written all yet.
    fn go_plain(&mut self, half: Half) -> bool {
        let (records, state) = self.tls.get_mut();
        match half {
            Half::Read if self.plain_read.is_some() => {}
            Half::Read if records.between() => self.plain_read = Some(self.leftover()),
            Half::Write if self.plain_write => {}
            Half::Write if records.one_by_one() && !state.wants_write() => {
                // What reading may still call for, such as an alert, must not get between the plain bytes.
                records.mute();
                self.plain_write = true;
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
