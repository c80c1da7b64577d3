//! A session as a byte stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::seat::Seat;
use super::state::Side;
use crate::addr::{Network, Target};
use crate::flow::Stream;
use crate::proto::mux::{write_keep, write_new};

/// One stream of many over a connection.
///
/// The protocol knows no half close: an end is the end of both ways. So a client that has said all it had to say keeps that
/// to itself, or its answer would be cut off; a server tells at once that its target has ended, for that is what the client
/// waits for.
#[derive(Debug)]
pub struct SessionStream {
    seat: Seat,
    opening: Option<Box<Opening>>,
    shut: bool,
}

/// The peer does not know of the stream yet.
#[derive(Debug)]
struct Opening {
    target: Target,
    /// When it hears of it without data.
    hurry: Pin<Box<Sleep>>,
}

/// How long the first bytes are waited for, as in Xray.
const HURRY: Duration = Duration::from_millis(100);

/// Most data of one frame, as Xray writes.
const CHUNK: usize = 8 * 1024;

impl SessionStream {
    /// One that the peer began.
    #[must_use]
    pub fn accepted(seat: Seat) -> Self {
        Self { seat, opening: None, shut: false }
    }

    /// One of ours to this target; it begins with the first bytes, or a moment later without.
    #[must_use]
    pub fn opening(seat: Seat, target: Target) -> Self {
        Self { seat, opening: Some(Box::new(Opening { target, hurry: Box::pin(sleep(HURRY)) })), shut: false }
    }

    /// Appends frames for bytes of `plain`; how many it took.
    fn poll_send(&mut self, cx: &mut Context<'_>, plain: &[u8]) -> Poll<io::Result<usize>> {
        let id = self.seat.id;
        let mut state = self.seat.trunk.lock();
        let over = state.sessions.get(&id).is_none_or(|session| session.over.is_some());
        if over || self.shut || state.is_dead() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let (mut taken, mut wakers) = (0, None);
        let mut opening = self.opening.take();
        while opening.is_some() || taken < plain.len() {
            if state.poll_room(id, cx).is_pending() {
                break;
            }
            let chunk = &plain[taken..plain.len().min(taken + CHUNK)];
            let waker = match opening.take() {
                Some(begin) => {
                    state.ask(id);
                    let data = (!chunk.is_empty()).then_some(chunk);
                    state.push(|out| write_new(id, Network::Tcp, &begin.target, None, data, out))
                }
                None => state.push(|out| write_keep(id, None, chunk, out)),
            };
            wakers = wakers.or(waker);
            taken += chunk.len();
        }
        drop(state);
        self.opening = opening;
        wakers.into_iter().for_each(Waker::wake);
        if taken == 0 && (!plain.is_empty() || self.opening.is_some()) { Poll::Pending } else { Poll::Ready(Ok(taken)) }
    }

    /// Begins without data once it is time.
    fn poll_hurry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(opening) = &mut self.opening else { return Poll::Ready(Ok(())) };
        ready!(opening.hurry.as_mut().poll(cx));
        self.poll_send(cx, &[]).map_ok(|_| ())
    }
}

impl AsyncRead for SessionStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(begun) = this.poll_hurry(cx) {
            begun?;
        }
        let id = this.seat.id;
        let mut state = this.seat.trunk.lock();
        let dead = state.is_dead();
        let Some(session) = state.sessions.get_mut(&id) else { return Poll::Ready(Ok(())) };
        if session.inbox.read(buf) {
            let waker = state.unblock(id);
            drop(state);
            waker.into_iter().for_each(Waker::wake);
            return Poll::Ready(Ok(()));
        }
        match session.over {
            Some(false) => Poll::Ready(Ok(())),
            Some(true) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            None if dead => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            None => {
                session.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for SessionStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().poll_send(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What was said leaves by itself; only a beginning must not wait any more.
        let this = self.get_mut();
        if this.opening.is_some() { this.poll_send(cx, &[]).map_ok(|_| ()) } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.opening.is_some() {
            ready!(this.poll_send(cx, &[]))?;
        }
        (this.shut, this.seat.clean) = (true, true);
        let mut state = this.seat.trunk.lock();
        if state.side == Side::Server {
            let waker = state.remove(this.seat.id, false);
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for SessionStream {}
