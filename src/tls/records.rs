//! What lies between rustls and the stream below it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use crate::flow::Stream;

/// A stream that, where it must, hands rustls no byte beyond the record it is in: so what follows stays where a relay can
/// find it.
#[derive(Debug)]
pub(super) struct Records<S> {
    pub(super) io: S,
    one_by_one: bool,
    /// The header of the record that is being read, as far as it came; none of it between records.
    head: [u8; HEAD],
    have: usize,
    /// So much of the header is with rustls.
    given: usize,
    /// Bytes of the record that are still to come.
    body: usize,
    /// A record that was looked at before rustls came.
    ahead: Bytes,
    /// During a handshake: what goes out for a second hello.
    rewrite: Option<Rewrite>,
    /// What is to go out of it.
    queue: BytesMut,
    /// Nothing that rustls has to say goes out any more.
    mute: bool,
}

/// Makes the hello that goes out of the one that rustls wrote.
pub(super) type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Longest record (RFC 8446 5.2).
const LONGEST: usize = 16 * 1024 + 256;

/// A record's header: type, version, length.
const HEAD: usize = 5;

impl<S> Records<S> {
    pub(super) fn new(io: S, one_by_one: bool) -> Self {
        Self {
            io,
            one_by_one,
            head: [0; HEAD],
            have: 0,
            given: 0,
            body: 0,
            ahead: Bytes::new(),
            rewrite: None,
            queue: BytesMut::new(),
            mute: false,
        }
    }

    /// Whether rustls has whole records and nothing else.
    pub(super) fn between(&self) -> bool {
        self.one_by_one && self.given == 0
    }

    /// Whether a record has begun to come in that has not come in whole.
    pub(super) fn within(&self) -> bool {
        self.have > 0
    }

    /// What was read of the next record's header; it counts as not read any more.
    pub(super) fn take_head(&mut self) -> &[u8] {
        &self.head[..std::mem::take(&mut self.have)]
    }

    pub(super) fn one_by_one(&self) -> bool {
        self.one_by_one
    }

    /// Puts that in the place of a second hello, until told to stop.
    pub(super) fn rewrite(&mut self, rewrite: Rewrite) {
        self.rewrite = Some(rewrite);
    }

    pub(super) fn stop_rewriting(&mut self) {
        self.rewrite = None;
        self.queue = BytesMut::new();
    }

    /// Keeps in mind how far into a record these bytes lead, which go to rustls as they are.
    fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.have));
            self.add_head(head);
            let (body, rest) = rest.split_at(rest.len().min(self.body));
            self.body -= body.len();
            if self.have == HEAD && self.body == 0 {
                self.have = 0;
            }
            bytes = rest;
        }
    }

    /// Adds to the header; once it is whole, the body's length is known.
    fn add_head(&mut self, came: &[u8]) {
        self.head[self.have..self.have + came.len()].copy_from_slice(came);
        self.have += came.len();
        if !came.is_empty() && self.have == HEAD {
            self.body = u16::from_be_bytes([self.head[3], self.head[4]]).into();
        }
    }

    /// From now on, what rustls writes is thrown away.
    pub(super) fn mute(&mut self) {
        self.mute = true;
    }
}

impl<S: Stream> Records<S> {
    /// Sends a hello in a record of its own.
    pub(super) async fn send_hello(&mut self, hello: &[u8]) -> io::Result<()> {
        let mut record = Vec::with_capacity(HEAD + hello.len());
        put_record(&mut record, [HANDSHAKE, 3, 1], hello);
        self.io.write_all(&record).await?;
        self.io.flush().await
    }

    /// The first record from the other side, which rustls gets as well.
    pub(super) async fn look_ahead(&mut self) -> io::Result<&[u8]> {
        let mut record = vec![0; HEAD];
        self.io.read_exact(&mut record).await?;
        let body = usize::from(u16::from_be_bytes([record[3], record[4]]));
        if body > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the server does not speak TLS"));
        }
        record.resize(HEAD + body, 0);
        self.io.read_exact(&mut record[HEAD..]).await?;
        self.ahead = record.into();
        Ok(&self.ahead)
    }

    /// Takes whole records of a handshake, as rustls writes them.
    fn queue_rewritten(&mut self, mut records: &[u8], rewrite: Rewrite) {
        while let Some((head, rest)) = records.split_first_chunk::<HEAD>() {
            let len = usize::from(u16::from_be_bytes([head[3], head[4]])).min(rest.len());
            let (body, behind) = rest.split_at(len);
            let is_hello = head[0] == HANDSHAKE && body.first() == Some(&CLIENT_HELLO);
            match is_hello.then(|| rewrite(body)).flatten() {
                Some(ours) => put_record(&mut self.queue, [head[0], head[1], head[2]], &ours),
                None => put_record(&mut self.queue, [head[0], head[1], head[2]], body),
            }
            records = behind;
        }
    }

    fn poll_queue(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.queue.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.queue))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.queue.advance(sent),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what was looked at, then what is below.
    fn poll_below(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        buf.put_slice(&self.ahead.split_to(self.ahead.len().min(buf.remaining())));
        Poll::Ready(Ok(()))
    }

    /// Reads on until the header is whole; `false` at the stream's end.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.have < HEAD {
            let mut head = [0; HEAD];
            let mut rest = ReadBuf::new(&mut head[self.have..]);
            ready!(self.poll_below(cx, &mut rest))?;
            if rest.filled().is_empty() {
                return Poll::Ready(Ok(false));
            }
            self.add_head(rest.filled());
        }
        Poll::Ready(Ok(true))
    }
}

impl<S: Stream> AsyncRead for Records<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.one_by_one {
            let before = buf.filled().len();
            ready!(this.poll_below(cx, buf))?;
            this.follow(&buf.filled()[before..]);
            return Poll::Ready(Ok(()));
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
            match this.poll_below(cx, &mut part) {
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

impl<S: Stream> AsyncWrite for Records<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.mute {
            return Poll::Ready(Ok(buf.len()));
        }
        let Some(rewrite) = this.rewrite else { return Pin::new(&mut this.io).poll_write(cx, buf) };
        ready!(this.poll_queue(cx))?;
        this.queue_rewritten(buf, rewrite);
        // What does not leave now leaves with the flush.
        if let Poll::Ready(sent) = this.poll_queue(cx) {
            sent?;
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_queue(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored() && self.rewrite.is_none()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.mute {
            Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
        } else if this.rewrite.is_some() {
            // One record at a time, as they lie there.
            let record = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
            Pin::new(this).poll_write(cx, record)
        } else {
            Pin::new(&mut this.io).poll_write_vectored(cx, bufs)
        }
    }
}

fn put_record(into: &mut impl BufMut, head: [u8; 3], body: &[u8]) {
    into.put_slice(&head);
    // A hello stays far below the longest record.
    into.put_u16(u16::try_from(body.len()).unwrap_or(u16::MAX));
    into.put_slice(body);
}
