//! UDP over the datagrams of a connection, the same on both sides.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use quinn::{Connection, SendDatagramError};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::{Instant, Sleep, sleep};

use super::keep::Keep;
use crate::addr::Target;
use crate::flow::Packets;
use crate::net::{Waiting, WaitingRoom};
use crate::proto::hysteria::{Fragment, Gather, Pieces, Whole};

/// The sessions of one connection.
pub(super) struct Sessions {
    connection: Connection,
    table: Mutex<HashMap<u32, mpsc::Sender<Waiting>>>,
    /// What all of them may keep waiting.
    room: WaitingRoom,
}

/// Datagrams that wait for a slow session; more are dropped.
const QUEUE: usize = 256;
/// Sessions of a connection at a time.
const MOST: usize = 1024;

impl Sessions {
    pub(super) fn on(connection: Connection) -> Arc<Self> {
        Arc::new(Self { connection, table: Mutex::default(), room: WaitingRoom::default() })
    }

    fn table(&self) -> MutexGuard<'_, HashMap<u32, mpsc::Sender<Waiting>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session under this number, if it is free.
    pub(super) fn open(self: &Arc<Self>, id: u32, keep: Keep) -> Option<Session> {
        let mut table = self.table();
        if table.len() >= MOST || table.contains_key(&id) {
            return None;
        }
        let (sender, queue) = mpsc::channel(QUEUE);
        table.insert(id, sender);
        Some(Session {
            sessions: Arc::clone(self),
            id,
            queue,
            gather: Gather::default(),
            packet: 0,
            named: None,
            out: BytesMut::new(),
            idle: None,
            _keep: keep,
        })
    }

    /// Gives out what comes until the connection ends. `new` is given sessions that the peer began, with their first target,
    /// if the peer may begin any, which then keep something.
    pub(super) async fn run(self: &Arc<Self>, keep: Option<Keep>, mut new: impl FnMut(Session, Target)) {
        while let Ok(datagram) = self.connection.read_datagram().await {
            let Some(id) = Fragment::session(&datagram) else { continue };
            if self.give(id, &datagram) {
                continue;
            }
            let (Some(keep), Ok(first)) = (&keep, Fragment::read(&datagram)) else { continue };
            if let Some(session) = self.open(id, Arc::clone(keep)) {
                self.give(id, &datagram);
                new(session, first.target);
            }
        }
        self.table().clear();
    }

    /// Gives a datagram to its session, if there is one.
    fn give(&self, id: u32, datagram: &[u8]) -> bool {
        let mut table = self.table();
        let Some(queue) = table.get(&id) else { return false };
        // What finds no room is dropped, as a router would.
        let Some(kept) = self.room.keep(datagram) else { return true };
        if let Err(TrySendError::Closed(_)) = queue.try_send(kept) {
            table.remove(&id);
            return false;
        }
        true
    }
}

/// The datagrams of one session.
pub struct Session {
    sessions: Arc<Sessions>,
    id: u32,
    queue: mpsc::Receiver<Waiting>,
    gather: Gather,
    packet: u16,
    /// The peer that was written to last, in words.
    named: Option<(Target, String)>,
    out: BytesMut,
    idle: Option<Idle>,
    _keep: Keep,
}

/// When a session was quiet for too long.
struct Idle {
    limit: Duration,
    last: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl Session {
    /// The same, which ends after so much silence.
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.idle = Some(Idle { limit, last: Instant::now(), sleep: Box::pin(sleep(limit)) });
        self
    }

    fn moved(&mut self) {
        if let Some(idle) = &mut self.idle {
            idle.last = Instant::now();
        }
    }
}

impl Idle {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let until = self.last + self.limit;
            if until <= Instant::now() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(until);
        }
    }
}

impl Packets for Session {
    fn poll_recv(&mut self, cx: &mut Context<'_>, buf: &mut BytesMut) -> Poll<io::Result<Target>> {
        loop {
            let datagram = match self.queue.poll_recv(cx) {
                Poll::Ready(Some(datagram)) => datagram,
                Poll::Ready(None) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Poll::Pending => {
                    if let Some(idle) = &mut self.idle {
                        ready!(idle.poll(cx));
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                    return Poll::Pending;
                }
            };
            let Ok(fragment) = Fragment::read(&datagram) else { continue };
            match self.gather.add(&fragment) {
                Whole::Not => continue,
                Whole::Itself(payload) => buf.extend_from_slice(payload),
                Whole::Gathered => self.gather.take(buf),
            }
            let target = fragment.target;
            self.moved();
            return Poll::Ready(Ok(target));
        }
    }

    fn poll_send(&mut self, _: &mut Context<'_>, payload: &[u8], peer: &Target) -> Poll<io::Result<()>> {
        self.moved();
        let Self { sessions, named, out, packet, id, .. } = self;
        let named = match named {
            Some(named) if named.0 == *peer => named,
            _ => named.insert((peer.clone(), peer.to_string())),
        };
        // None where the peer takes no datagrams.
        let Some(most) = sessions.connection.max_datagram_size() else { return Poll::Ready(Ok(())) };
        *packet = packet.wrapping_add(1).max(1);
        let Some(mut pieces) = Pieces::new(*id, *packet, &named.1, payload, most) else { return Poll::Ready(Ok(())) };
        while pieces.write(out) {
            let sent = sessions.connection.send_datagram(out.split().freeze());
            // Other failures are of this one alone: the way may just have become narrower.
            if let Err(SendDatagramError::ConnectionLost(error)) = sent {
                return Poll::Ready(Err(error.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.queue.close();
        let mut table = self.sessions.table();
        // Another may have taken the number already.
        if table.get(&self.id).is_some_and(mpsc::Sender::is_closed) {
            table.remove(&self.id);
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.id).finish()
    }
}
