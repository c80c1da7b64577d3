//! One direction of a relay.
//!
//! The kernel moves the bytes (`splice.rs`) once the direction proves to be bulk, that is when a read fills a whole buffer
//! and both ends are plain sockets at that moment; short messages are cheaper to copy, and most tunnels never see a pipe.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::ReadBuf;

use super::pool::{self, Buffer};
use super::splice::Pipe;
use crate::flow::{Half, Stream};

/// One direction. Holds a buffer or a pipe only while there are bytes in it that the other side did not take yet.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// Bytes delivered so far.
    pub(super) moved: u64,
    hold: Hold,
    state: State,
    pace: Pace,
    /// Something was written and not yet flushed.
    dirty: bool,
}

/// Which end of a direction failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// Its source.
    Read(io::Error),
    /// Its sink; the direction is closed.
    Write(io::Error),
}

#[derive(Debug, Default)]
enum Hold {
    #[default]
    Nothing,
    Bytes {
        buffer: Buffer,
        at: usize,
        end: usize,
    },
    Kernel(Pipe),
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The source has ended; the sink does not know yet.
    Ended,
    Closed,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Pace {
    #[default]
    Short,
    Bulk,
    /// The kernel refused to splice between these two.
    NeverSplice,
}

/// Turns before other tasks get theirs.
const TURNS: usize = 16;

/// What layers may put around a full buffer: it and they are four TLS records, or four chunks of Shadowsocks or VMess, and
/// no fifth of a few bytes that costs as much as a full one.
const FRAMES: usize = 512;

/// A splice that moves less than this was no bulk; the next turn copies.
const SHORT: usize = 4096;

impl Way {
    /// Whether it may still deliver bytes.
    pub(super) fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    /// Moves what can be moved now. Ready when the direction is closed.
    pub(super) fn poll(
        &mut self,
        from: &mut dyn Stream,
        to: &mut dyn Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        if self.state == State::Closed {
            return Poll::Ready(Ok(()));
        }
        for _ in 0..TURNS {
            let done = ready!(self.poll_deliver(to, cx));
            if done.is_err() || self.state == State::Closed {
                self.state = State::Closed;
                self.hold = Hold::Nothing;
                return Poll::Ready(done.map_err(Fault::Write));
            }
            match self.poll_take(from, to, cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Fault::Read(error))),
                Poll::Pending => {
                    self.hold = Hold::Nothing;
                    return self.poll_flush(to, cx);
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Delivers all that is held, and then the end if the source has ended.
    fn poll_deliver(&mut self, to: &mut dyn Stream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.hold {
            Hold::Nothing => {}
            Hold::Bytes { buffer, at, end } => {
                while at < end {
                    let written = ready!(Pin::new(&mut *to).poll_write(cx, &buffer[*at..*end]))?;
                    if written == 0 {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    *at += written;
                    self.moved += written as u64;
                    self.dirty = true;
                }
                self.hold = Hold::Nothing;
            }
            Hold::Kernel(pipe) => {
                while pipe.held() > 0 {
                    let Some(socket) = to.raw(Half::Write) else {
                        return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                    };
                    self.moved += ready!(pipe.poll_drain(socket, cx))? as u64;
                }
            }
        }
        if self.state == State::Ended {
            ready!(Pin::new(to).poll_shutdown(cx))?;
            self.state = State::Closed;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes more from the source, or learns that it has ended.
    fn poll_take(&mut self, from: &mut dyn Stream, to: &dyn Stream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.pace == Pace::Bulk
            && to.raw(Half::Write).is_some()
            && let Some(socket) = from.raw(Half::Read)
            && let Some(mut pipe) = self.pipe()
        {
            match pipe.poll_fill(socket, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => self.state = State::Ended,
                Poll::Ready(Ok(moved)) => {
                    if moved < SHORT {
                        self.pace = Pace::Short;
                    }
                    self.hold = Hold::Kernel(pipe);
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.pace = Pace::NeverSplice;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
            return Poll::Ready(Ok(()));
        }
        let mut buffer = Buffer::take();
        let room = if to.raw(Half::Write).is_some() { pool::SIZE } else { pool::SIZE - FRAMES };
        let mut read = ReadBuf::new(&mut buffer[..room]);
        ready!(Pin::new(from).poll_read(cx, &mut read))?;
        let end = read.filled().len();
        if end == 0 {
            self.state = State::Ended;
            return Poll::Ready(Ok(()));
        }
        if end == room && self.pace == Pace::Short {
            self.pace = Pace::Bulk;
        }
        self.hold = Hold::Bytes { buffer, at: 0, end };
        Poll::Ready(Ok(()))
    }

    /// The pipe of the last turn, or another.
    fn pipe(&mut self) -> Option<Pipe> {
        match std::mem::take(&mut self.hold) {
            Hold::Kernel(pipe) => Some(pipe),
            _ => Pipe::take(),
        }
    }

    /// The source is silent: what was written must not wait inside a layer. Never ready but for an error.
    fn poll_flush(&mut self, to: &mut dyn Stream, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.dirty {
            match ready!(Pin::new(to).poll_flush(cx)) {
                Ok(()) => self.dirty = false,
                Err(error) => {
                    self.state = State::Closed;
                    return Poll::Ready(Err(Fault::Write(error)));
                }
            }
        }
        Poll::Pending
    }
}
