//! What the task of a connection and its sessions share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use super::inbox::Inbox;
use crate::addr::Network;
use crate::net::Scratch;
use crate::proto::mux::write_end;

/// One connection, as its sessions see it.
#[derive(Debug, Clone)]
pub struct Trunk(Arc<Mutex<State>>);

/// Who begins sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// We do.
    Client,
    /// The peer does.
    Server,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) side: Side,
    pub(super) sessions: HashMap<u16, Session>,
    /// The last id that a session had. They are never used again, so whatever names an earlier one came too late.
    pub(super) last: Option<u16>,
    /// Frames that wait for the driver.
    out: Option<Scratch>,
    driver: Option<Waker>,
    /// The session whose full inbox holds everything up.
    blocked: Option<u16>,
    /// Since when a session that began waits for anything at all from the peer.
    asked: Option<Instant>,
    /// No session begins any more.
    closed: bool,
    /// The connection is gone.
    dead: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) network: Network,
    pub(super) inbox: Inbox,
    pub(super) reader: Option<Waker>,
    writer: Option<Waker>,
    /// The peer knows of it.
    pub(super) begun: bool,
    /// The peer has ended it, perhaps because of an error.
    pub(super) over: Option<bool>,
}

/// How long a connection may be silent before new sessions take another.
const SILENT: Duration = Duration::from_secs(8);

/// Frames that wait before sessions must. Sessions never wait to end, so that a little more can come.
const FULL: usize = 32 * 1024;

impl Trunk {
    /// Of a connection that is still to be opened.
    #[must_use]
    pub fn new(side: Side) -> Self {
        Self(Arc::new(Mutex::new(State {
            side,
            sessions: HashMap::new(),
            last: None,
            out: None,
            driver: None,
            blocked: None,
            asked: None,
            closed: false,
            dead: false,
        })))
    }

    /// How many sessions there are, and the last one's id.
    #[must_use]
    pub fn sessions(&self) -> (usize, Option<u16>) {
        let state = self.lock();
        (state.sessions.len(), state.last)
    }

    /// Takes no more sessions if there are none and none came since `last`; whether it is so.
    #[must_use]
    pub fn close_idle(&self, last: Option<u16>) -> bool {
        let mut state = self.lock();
        state.closed |= state.sessions.is_empty() && state.last == last;
        state.closed && state.sessions.is_empty()
    }

    /// Takes no more sessions.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Whether it takes no more sessions.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The connection is gone, or never came.
    pub fn fail(&self) {
        let mut state = self.lock();
        (state.closed, state.dead, state.out) = (true, true, None);
        let wakers: Vec<_> = state.sessions.values_mut().flat_map(Session::wakers).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn wakers(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.reader.take().into_iter().chain(self.writer.take())
    }
}

impl State {
    pub(super) fn add(&mut self, id: u16, network: Network, begun: bool) {
        let (reader, writer) = (None, None);
        let session = Session { network, inbox: Inbox::default(), reader, writer, begun, over: None };
        self.sessions.insert(id, session);
        self.last = self.last.max(Some(id));
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Appends frames, and gives the driver's waker if that must hear of it.
    #[must_use]
    pub(super) fn push(&mut self, write: impl FnOnce(&mut BytesMut)) -> Option<Waker> {
        if self.dead {
            return None;
        }
        let idle = self.out.is_none();
        write(self.out.get_or_insert_with(Scratch::take));
        if idle { self.driver.clone() } else { None }
    }

    /// Whether a session may append frames; else it will be woken.
    pub(super) fn poll_room(&mut self, id: u16, cx: &mut Context<'_>) -> Poll<()> {
        if self.out.as_ref().is_none_or(|out| out.len() < FULL) {
            return Poll::Ready(());
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.writer = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The driver takes what waits; those to be woken have room now.
    pub(super) fn take_out(&mut self) -> (Option<Scratch>, Vec<Waker>) {
        let out = self.out.take();
        let full = out.as_ref().is_some_and(|out| out.len() >= FULL);
        let woken =
            if full { self.sessions.values_mut().filter_map(|one| one.writer.take()).collect() } else { vec![] };
        (out, woken)
    }

    pub(super) fn drive_by(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// A session begins, and the peer is to say something.
    pub(super) fn ask(&mut self, id: u16) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.begun = true;
            self.asked.get_or_insert_with(Instant::now);
        }
    }

    /// The peer said something.
    pub(super) fn hear(&mut self) {
        self.asked = None;
    }

    /// Whether nothing came since a session began some time ago: the way there may be gone without anybody having said so.
    pub(super) fn is_silent(&self) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() >= SILENT)
    }

    /// Reading waits for this session.
    pub(super) fn block(&mut self, id: u16) {
        self.blocked = Some(id);
    }

    /// The driver's waker, if it waits for this session and need not any more.
    #[must_use]
    pub(super) fn unblock(&mut self, id: u16) -> Option<Waker> {
        let free = self.sessions.get(&id).is_none_or(|session| session.inbox.has_room());
        if self.blocked == Some(id) && free {
            self.blocked = None;
            return self.driver.clone();
        }
        None
    }

    /// Whether nothing may be read now: a session has no room, or the peer does not fetch what it made us say.
    pub(super) fn holds_up(&self) -> bool {
        self.blocked.is_some() || self.out.as_ref().is_some_and(|out| out.len() >= 2 * FULL)
    }

    /// Takes a session out, and tells the peer if that does not know; the driver may have to be woken.
    #[must_use]
    pub(super) fn remove(&mut self, id: u16, error: bool) -> Option<Waker> {
        let session = self.sessions.remove(&id)?;
        let waiting = self.unblock(id);
        let told = (session.begun && session.over.is_none()).then(|| self.push(|out| write_end(id, error, out)));
        // The driver also hears of the last one's end, since it may be waiting for that.
        told.flatten().or(waiting).or_else(|| if self.sessions.is_empty() { self.driver.clone() } else { None })
    }
}
