//! What lies between rustls and the stream below it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that, where it must, hands rustls no byte beyond the record it is in: so what follows stays where a relay can
/// find it.
#[derive(Debug)]
pub(super) struct Records<S> {
    pub(super) io: S,
    one_by_one: bool,
    /// The header of the record that is being read.
    head: [u8; HEAD],
    have: usize,
    /// So much of the header is with rustls.
    given: usize,
    /// Bytes of the record that are still below.
    body: usize,
    /// Nothing that rustls has to say goes out any more.
    mute: bool,
}

/// A record's header: type, version, length.
const HEAD: usize = 5;

impl<S> Records<S> {
    pub(super) fn new(io: S, one_by_one: bool) -> Self {
        Self { io, one_by_one, head: [0; HEAD], have: 0, given: 0, body: 0, mute: false }
    }

    /// Whether rustls has whole records and nothing else.
    pub(super) fn between(&self) -> bool {
        self.one_by_one && self.given == 0
    }

    /// What was read of the next record's header; it counts as not read any more.
    pub(super) fn take_head(&mut self) -> &[u8] {
        &self.head[..std::mem::take(&mut self.have)]
    }

    pub(super) fn one_by_one(&self) -> bool {
        self.one_by_one
    }

    /// From now on, what rustls writes is thrown away.
    pub(super) fn mute(&mut self) {
        self.mute = true;
    }
}

impl<S: AsyncRead + Unpin> Records<S> {
    /// Reads on until the header is whole; `false` at the stream's end.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.have < HEAD {
            let mut rest = ReadBuf::new(&mut self.head[self.have..]);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut rest))?;
            match rest.filled().len() {
                0 => return Poll::Ready(Ok(false)),
                came => self.have += came,
            }
            if self.have == HEAD {
                self.body = u16::from_be_bytes([self.head[3], self.head[4]]).into();
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Records<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.one_by_one {
            return Pin::new(&mut this.io).poll_read(cx, buf);
        }
        if !ready!(this.poll_head(cx))? {
            return Poll::Ready(Ok(()));
        }
        let head = (HEAD - this.given).min(buf.remaining());
        buf.put_slice(&this.head[this.given..this.given + head]);
        this.given += head;
        let room = this.body.min(buf.remaining());
        if room > 0 {
            let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
            match Pin::new(&mut this.io).poll_read(cx, &mut part) {
                Poll::Pending if head == 0 => return Poll::Pending,
                // The header alone is something too.
                Poll::Pending => {}
                Poll::Ready(read) => {
                    read?;
                    let came = part.filled().len();
                    buf.advance(came);
                    this.body -= came;
                }
            }
        }
        if this.given == HEAD && this.body == 0 {
            (this.have, this.given) = (0, 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Records<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.mute { Poll::Ready(Ok(buf.len())) } else { Pin::new(&mut this.io).poll_write(cx, buf) }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.mute {
            Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
        } else {
            Pin::new(&mut this.io).poll_write_vectored(cx, bufs)
        }
    }
}
