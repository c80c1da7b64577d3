//! A conversation, as all see it who have a part in it.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::proto::mkcp::{Connection, Fault, Heard, Segment};

/// A conversation. Whoever has it locked does not wait.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

#[derive(Debug)]
pub(super) struct State {
    connection: Connection,
    begun: Instant,
    /// What the socket said when it broke.
    broken: Option<io::ErrorKind>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    speaker: Option<Waker>,
    /// When the speaker wakes by itself.
    alarm: Option<u32>,
    held: usize,
    all: Room,
}

/// Bytes that wait to be read, of all conversations that share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Room(Arc<AtomicUsize>);

/// Of all conversations of a socket. Beyond this each keeps only what is read next.
const MOST: usize = 128 * 1024 * 1024;

impl Room {
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) < MOST
    }

    fn change(&self, before: usize, now: usize) {
        if now > before {
            self.0.fetch_add(now - before, Ordering::Relaxed);
        } else if now < before {
            self.0.fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}

impl Shared {
    pub(super) fn new(connection: Connection, all: Room) -> Self {
        Self(Arc::new(Mutex::new(State {
            connection,
            begun: Instant::now(),
            broken: None,
            reader: None,
            writer: None,
            speaker: None,
            alarm: None,
            held: 0,
            all,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the conversation, and wakes whom it concerns.
    fn with<T>(&self, act: impl FnOnce(&mut Connection, u32) -> T) -> T {
        let mut state = self.lock();
        let now = state.now();
        let done = act(&mut state.connection, now);
        let wakers = state.settle(now);
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
        done
    }

    /// Takes the segments of a packet; whether the peer has shown by now that it hears us.
    pub(super) fn take<'a>(&self, segments: impl Iterator<Item = Segment<'a>>, room: bool) -> bool {
        self.with(|connection, now| {
            segments.for_each(|segment| connection.input(now, &segment, room));
            connection.is_answered()
        })
    }

    /// Appends what is to be said now, and where each packet of it ends.
    pub(super) fn speak(&self, most: usize, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        self.with(|connection, now| {
            connection.beat(now);
            while ends.len() < most && connection.transmit(now, out) {
                ends.push(out.len());
            }
        });
    }

    /// For how long the speaker has nothing to say; it is woken if that changes. `None` once it is over.
    pub(super) fn rest(&self, cx: &mut Context<'_>) -> Option<Duration> {
        let mut state = self.lock();
        let now = state.now();
        let due = state.connection.due(now)?;
        state.alarm = Some(now.wrapping_add(due));
        if state.speaker.as_ref().is_none_or(|speaker| !speaker.will_wake(cx.waker())) {
            state.speaker = Some(cx.waker().clone());
        }
        Some(Duration::from_millis(due.into()))
    }

    /// Whether the peer has shown that it hears us.
    pub(super) fn is_answered(&self) -> bool {
        self.lock().connection.is_answered()
    }

    /// Nobody reads or writes any more.
    pub(super) fn close(&self) {
        self.with(Connection::close);
    }

    /// Ends it at once.
    pub(super) fn part(&self) {
        self.with(Connection::part);
    }

    /// The way to the peer is broken.
    pub(super) fn fail(&self, error: io::ErrorKind) {
        self.lock().broken = Some(error);
        self.with(Connection::abandon);
    }

    /// Waits until the peer has shown that it hears us.
    pub(super) fn poll_answered(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        if state.connection.is_answered() {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = state.error() {
            return Poll::Ready(Err(error.into()));
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Reads; `into` is shown piece by piece and says how much of each it took.
    pub(super) fn poll_read(&self, cx: &mut Context<'_>, into: impl FnMut(&[u8]) -> usize) -> Poll<io::Result<Heard>> {
        let mut state = self.lock();
        let heard = state.connection.read(into);
        let now = state.now();
        let wakers = state.settle(now);
        let heard = match heard {
            Ok(Heard::Nothing) => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            Ok(heard) => Poll::Ready(Ok(heard)),
            Err(_) => Poll::Ready(Err(state.error().unwrap_or(io::ErrorKind::BrokenPipe).into())),
        };
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
        heard
    }

    /// Writes what there is room for.
    pub(super) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        let written = match state.connection.write(bytes) {
            None => return Poll::Ready(Err(state.error().unwrap_or(io::ErrorKind::BrokenPipe).into())),
            Some(0) if !bytes.is_empty() => {
                state.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Some(written) => written,
        };
        let now = state.now();
        let speaker = state.call(now);
        drop(state);
        speaker.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(written))
    }
}

impl State {
    /// Milliseconds since it began.
    #[expect(clippy::cast_possible_truncation, reason = "times of a conversation wrap")]
    fn now(&self) -> u32 {
        self.begun.elapsed().as_millis() as u32
    }

    fn error(&self) -> Option<io::ErrorKind> {
        self.broken.or_else(|| {
            self.connection.fault().map(|fault| match fault {
                Fault::Cut => io::ErrorKind::ConnectionReset,
                Fault::Silence => io::ErrorKind::TimedOut,
            })
        })
    }

    /// Counts what waits; gives whom the change concerns.
    fn settle(&mut self, now: u32) -> [Option<Waker>; 3] {
        let held = self.connection.held();
        self.all.change(self.held, held);
        self.held = held;
        let reader = if self.connection.is_readable() { self.reader.take() } else { None };
        let writer = if self.connection.is_writable() { self.writer.take() } else { None };
        [reader, writer, self.call(now)]
    }

    /// The speaker, if it would wake too late.
    fn call(&mut self, now: u32) -> Option<Waker> {
        let alarm = self.alarm?;
        let due = self.connection.due(now).map(|due| now.wrapping_add(due));
        let late = due.is_none_or(|due| due.wrapping_sub(alarm).cast_signed() < 0);
        if !late {
            return None;
        }
        self.alarm = None;
        self.speaker.take()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.all.change(self.held, 0);
    }
}
