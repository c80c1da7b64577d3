//! Gives back bytes that were read too far, and holds a header until the first write.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::flow::{BoxStream, Half, Stream};
use crate::wire::TOGETHER;

/// A stream with something in front of one or both of its halves. Once that is gone it is out of the way: `raw` then
/// answers what the stream below answers.
#[derive(Debug)]
pub struct Prefixed<S> {
    read: Bytes,
    write: Bytes,
    /// The first payload has joined the header already; no more does, or a slow peer would make it grow.
    joined: bool,
    inner: S,
}

impl<S: Stream> Prefixed<S> {
    /// Serves `read` before the stream's own bytes.
    pub fn reading(inner: S, read: impl Into<Bytes>) -> Self {
        Self { read: read.into(), write: Bytes::new(), joined: false, inner }
    }

    /// Sends `write` together with the first bytes written, and at the latest with a flush or the end of the half.
    pub fn writing(inner: S, write: impl Into<Bytes>) -> Self {
        Self { read: Bytes::new(), write: write.into(), joined: false, inner }
    }

    fn poll_header(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.write.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.write))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.write.advance(written.min(self.write.len()));
        }
        Poll::Ready(Ok(()))
    }
}

/// Boxes a stream with what was read too far in front, and without a layer if that is nothing.
pub fn boxed<S: Stream + 'static>(inner: S, read: BytesMut) -> BoxStream {
    if read.is_empty() { Box::new(inner) } else { Box::new(Prefixed::reading(inner, read)) }
}

impl<S: Stream> AsyncRead for Prefixed<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.read.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, buf);
        }
        let len = this.read.len().min(buf.remaining());
        buf.put_slice(&this.read.split_to(len));
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream> AsyncWrite for Prefixed<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.joined {
            ready!(this.poll_header(cx))?;
        }
        if this.write.is_empty() {
            return Pin::new(&mut this.inner).poll_write(cx, buf);
        }
        if !this.inner.is_write_vectored() {
            // One write of a layer below is one record there, so both must be in it: the bytes join the header, count as
            // written, and leave with it.
            let taken = buf.len().min(TOGETHER);
            let mut joined = BytesMut::with_capacity(this.write.len() + taken);
            joined.extend_from_slice(&this.write);
            joined.extend_from_slice(&buf[..taken]);
            let written = ready!(Pin::new(&mut this.inner).poll_write(cx, &joined))?;
            this.joined = true;
            this.write = joined.split_off(written.min(joined.len())).freeze();
            return Poll::Ready(Ok(taken));
        }
        let slices = [IoSlice::new(&this.write), IoSlice::new(buf)];
        let written = ready!(Pin::new(&mut this.inner).poll_write_vectored(cx, &slices))?;
        let header = written.min(this.write.len());
        this.write.advance(header);
        if written > header || buf.is_empty() {
            return Poll::Ready(Ok(written - header));
        }
        ready!(this.poll_header(cx))?;
        Pin::new(&mut this.inner).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_header(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_header(cx))?;
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.write.is_empty() {
            return Pin::new(&mut this.inner).poll_write_vectored(cx, bufs);
        }
        let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
        Pin::new(this).poll_write(cx, first)
    }
}

impl<S: Stream> Stream for Prefixed<S> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        let clear = match half {
            Half::Read => self.read.is_empty(),
            Half::Write => self.write.is_empty(),
        };
        if clear { self.inner.raw(half) } else { None }
    }

    fn may_go_plain(&self) -> bool {
        self.inner.may_go_plain()
    }

    fn go_plain(&mut self, half: Half) -> bool {
        self.inner.go_plain(half)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    #[tokio::test]
    async fn bytes_read_too_far_come_first() {
        let (near, mut far) = duplex(64);
        far.write_all(b" world").await.unwrap();
        drop(far);
        let mut stream = Prefixed::reading(near, &b"hello"[..]);
        let mut all = String::new();
        stream.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "hello world");
    }

    /// A stream that takes one slice at a time, as a layer that makes records would.
    struct Single(DuplexStream);

    impl AsyncRead for Single {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Single {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    impl Stream for Single {}

    /// Through a narrow stream, so that header and payload leave in many pieces.
    #[tokio::test]
    async fn a_header_goes_before_the_first_bytes_whatever_fits() {
        for room in 1..12 {
            for single in [false, true] {
                let (near, far) = duplex(room);
                let near: BoxStream = if single { Box::new(Single(near)) } else { Box::new(near) };
                check_header(near, far).await;
            }
        }
    }

    async fn check_header(near: BoxStream, mut far: DuplexStream) {
        let mut stream = Prefixed::writing(near, &b"header"[..]);
        let reading = tokio::spawn(async move {
            let mut all = String::new();
            far.read_to_string(&mut all).await.unwrap();
            all
        });
        stream.write_all(b"payload").await.unwrap();
        stream.write_all(b", more").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), "headerpayload, more");
    }

    #[tokio::test]
    async fn a_header_alone_leaves_with_a_flush() {
        let (near, mut far) = duplex(64);
        let mut stream = Prefixed::writing(near, &b"header"[..]);
        stream.flush().await.unwrap();
        let mut said = [0; 6];
        far.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"header");
    }

    #[tokio::test]
    async fn the_socket_shows_once_nothing_is_in_front() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut stream = Prefixed {
            read: Bytes::from_static(b"ab"),
            write: Bytes::from_static(b"cd"),
            joined: false,
            inner: socket,
        };
        assert!(stream.raw(Half::Read).is_none() && stream.raw(Half::Write).is_none());
        stream.write_all(b"ef").await.unwrap();
        stream.read_exact(&mut [0; 2]).await.unwrap();
        assert!(stream.raw(Half::Read).is_some() && stream.raw(Half::Write).is_some());
        let mut said = [0; 4];
        peer.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"cdef");
    }
}
