//! Any body codec as a stream.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::scratch::{FULL, Intake, Scratch, poll_drain};
use crate::flow::{Half, Stream};
use crate::wire::{Next, Open, Opened, Seal, WireError};

/// A stream whose bytes pass through a codec, each half by itself. A half whose codec comes to its end is out of the way.
///
/// Reading opens frames where they were read and copies their plain bytes once, to the reader; writing seals into a borrowed
/// buffer, that is one copy too. Neither half owns memory while nothing moves.
pub struct Framed<S, C, O> {
    io: S,
    seal: C,
    open: O,
    intake: Option<Intake>,
    /// Plain bytes in the intake that the reader has not got yet.
    plain: Range<usize>,
    /// The codec wants more than there is, so many bytes.
    need: usize,
    reading: Next,
    ended: bool,
    out: Option<Scratch>,
    writing: Next,
    /// Something was sealed.
    begun: bool,
    finished: bool,
    /// The layer below must stop transforming what is written once everything sealed has left.
    switching: bool,
    /// When a header leaves without payload.
    hurry: Option<Pin<Box<Sleep>>>,
    /// It has, and may still wait in a layer below.
    leaving: bool,
}

/// Frames without payload that are passed over before other tasks get their turn.
const EMPTY: usize = 64;

impl<S: Stream, C: Seal, O: Open> Framed<S, C, O> {
    /// Puts the codecs around a stream. `held` was read from it already.
    pub fn new(io: S, held: BytesMut, seal: C, open: O) -> Self {
        Self {
            io,
            seal,
            open,
            intake: (!held.is_empty()).then(|| Intake::holding(&held)),
            plain: 0..0,
            need: 0,
            reading: Next::Framed,
            ended: false,
            out: None,
            writing: Next::Framed,
            begun: false,
            finished: false,
            switching: false,
            hurry: None,
            leaving: false,
        }
    }

    /// The same; what stands in front of the first bytes leaves by itself if none are written within `wait` of the first
    /// read. Without this, a protocol in which the server speaks first would never begin.
    #[must_use]
    pub fn within(mut self, wait: Duration) -> Self {
        self.hurry = Some(Box::pin(sleep(wait)));
        self
    }

    /// The codec of what is written, for what it has to say beside the bytes; a write, also an empty one, sends that.
    pub fn seal_mut(&mut self) -> &mut C {
        &mut self.seal
    }

    /// The codec of what is read, for what it heard beside the bytes.
    pub fn open_mut(&mut self) -> &mut O {
        &mut self.open
    }

    /// Seals as much of `plain` as may wait.
    fn seal(&mut self, plain: &[u8]) -> usize {
        self.begun = true;
        self.hurry = None;
        let out = self.out.get_or_insert_with(Scratch::take);
        let mut taken = 0;
        loop {
            let took = self.seal.seal(&plain[taken..], out);
            taken += took;
            self.writing = self.seal.next();
            // By what was taken, not by what came of it: a relay's full buffer must not leave a last frame of a few bytes.
            if took == 0 || taken == plain.len() || taken >= FULL || self.writing != Next::Framed {
                break;
            }
        }
        self.switching = self.writing == Next::Direct;
        taken
    }

    /// Writes what waits, and switches the layer below if that is due.
    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(poll_drain(&mut self.out, &mut self.io, cx))?;
        if self.switching {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            if !self.io.go_plain(Half::Write) {
                return Poll::Ready(Err(cannot_go_plain()));
            }
            self.switching = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the header alone once its time has come.
    fn poll_hurry(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(hurry) = &mut self.hurry {
            if hurry.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            self.seal(&[]);
            self.leaving = true;
        }
        // Also what the timer has sealed and a slow sink, or a layer in front of it, did not let go at once.
        if (self.leaving || self.begun && self.out.is_some())
            && let Poll::Ready(sent) = Pin::new(&mut *self).poll_flush(cx)
        {
            self.leaving = false;
            sent?;
        }
        Ok(())
    }

    /// Opens frames until there are plain bytes, the codec is over, or the stream has ended.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..EMPTY {
            if self.ended || self.reading != Next::Framed || !self.plain.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if self.need > 0 {
                let intake = self.intake.get_or_insert_with(Intake::take);
                let came = match intake.poll_read(&mut self.io, self.need, cx) {
                    Poll::Pending => {
                        if intake.is_empty() {
                            self.intake = None;
                        }
                        self.poll_hurry(cx)?;
                        return Poll::Pending;
                    }
                    Poll::Ready(came) => came?,
                };
                if came == 0 {
                    if !intake.is_empty() {
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                    self.ended = true;
                    return Poll::Ready(Ok(()));
                }
            }
            let input = self.intake.as_mut().map_or(&mut [][..], Intake::rest);
            let opened = match self.open.open(input) {
                Ok(opened) => opened,
                Err(error) => {
                    self.complain(&error, cx);
                    return Poll::Ready(Err(error.into()));
                }
            };
            self.need = 0;
            match opened {
                Opened::More { need } => self.need = need.max(1),
                Opened::Plain { used, at } => self.plain = self.used(used, at),
                Opened::Over { used, next } => {
                    self.used(used, 0..0);
                    self.reading = next;
                    if next == Next::Direct && !self.io.go_plain(Half::Read) {
                        return Poll::Ready(Err(cannot_go_plain()));
                    }
                }
                Opened::End { used } => {
                    self.used(used, 0..0);
                    self.ended = true;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Tells the peer, as far as that leaves at once.
    fn complain(&mut self, error: &WireError, cx: &mut Context<'_>) {
        if self.writing == Next::Framed && !self.finished {
            self.finished = true;
            self.seal.complain(error, self.out.get_or_insert_with(Scratch::take));
            let _ = self.poll_out(cx);
        }
    }

    fn used(&mut self, used: usize, at: Range<usize>) -> Range<usize> {
        self.intake.as_mut().map_or(0..0, |intake| intake.use_up(used, at))
    }
}

fn cannot_go_plain() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the layer below cannot go on without its own protection")
}

impl<S: Stream, C: Seal, O: Open> AsyncRead for Framed<S, C, O> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_open(cx))?;
        if this.plain.is_empty() && this.reading != Next::Framed {
            // What was read too far is payload now.
            match &mut this.intake {
                Some(intake) if !intake.is_empty() => {
                    let rest = intake.rest().len();
                    this.plain = intake.use_up(rest, 0..rest);
                }
                _ => {
                    this.intake = None;
                    let read = Pin::new(&mut this.io).poll_read(cx, buf);
                    if read.is_pending() {
                        // A half that is bare from the beginning waits for a peer who may wait for our header.
                        this.poll_hurry(cx)?;
                    }
                    return read;
                }
            }
        }
        let Some(intake) = this.intake.as_mut().filter(|_| !this.plain.is_empty()) else {
            // The end; what was read of a frame that never came whole is no use any more.
            this.intake = None;
            return Poll::Ready(Ok(()));
        };
        let len = this.plain.len().min(buf.remaining());
        let (given, left) = (this.plain.start..this.plain.start + len, this.plain.start + len..this.plain.end);
        buf.put_slice(intake.slice(given));
        this.plain = left;
        if this.plain.is_empty() && intake.is_empty() {
            this.intake = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream, C: Seal, O: Open> AsyncWrite for Framed<S, C, O> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_out(cx))?;
        if this.writing != Next::Framed {
            return Pin::new(&mut this.io).poll_write(cx, buf);
        }
        let taken = this.seal(buf);
        // What the sink does not take now waits, and the next call goes on with it.
        if let Poll::Ready(sent) = this.poll_out(cx) {
            sent?;
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.begun {
            this.seal(&[]);
        }
        ready!(this.poll_out(cx))?;
        Pin::new(&mut this.io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.begun {
            this.seal(&[]);
        }
        if !this.finished {
            this.finished = true;
            if this.writing == Next::Framed {
                this.seal.finish(this.out.get_or_insert_with(Scratch::take));
            }
        }
        ready!(this.poll_out(cx))?;
        Pin::new(&mut this.io).poll_shutdown(cx)
    }
}

impl<S: Stream, C: Seal, O: Open> Stream for Framed<S, C, O> {
    fn raw(&self, half: Half) -> Option<&TcpStream> {
        let clear = match half {
            Half::Read => self.reading != Next::Framed && self.intake.is_none(),
            Half::Write => self.writing != Next::Framed && self.out.is_none() && !self.switching,
        };
        if clear { self.io.raw(half) } else { None }
    }

    fn may_go_plain(&self) -> bool {
        self.open.may_leave() && self.seal.may_leave()
    }

    fn go_plain(&mut self, half: Half) -> bool {
        match half {
            Half::Read if !self.open.may_leave() => return false,
            Half::Read if self.reading == Next::Framed => self.reading = self.open.leave(),
            Half::Write if !self.seal.may_leave() => return false,
            Half::Write if self.writing == Next::Framed => self.writing = self.seal.leave(),
            _ => {}
        }
        true
    }
}

/// Codecs hold keys.
impl<S: fmt::Debug, C, O> fmt::Debug for Framed<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framed").field("io", &self.io).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
