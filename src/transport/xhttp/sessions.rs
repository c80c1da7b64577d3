//! The sessions of a server: what belongs together though it comes in many requests, over any connection.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::body::Received;
use super::queue::{Queue, Up};
use super::source::Source;

/// All sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    /// Packets of a session that may wait.
    packets: usize,
    /// Bytes that packets of all sessions may still take, also of those that are being read.
    room: Arc<Semaphore>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    /// What comes up.
    pub(super) queue: Queue,
    /// The request for what comes down has come.
    begun: CancellationToken,
    taken: AtomicBool,
    /// Everything is over.
    pub(super) end: CancellationToken,
}

/// How long a session waits for the request for what comes down (Xray's).
const PATIENCE: Duration = Duration::from_secs(30);
/// Most sessions; strangers who know path and padding could open any number.
const MOST: usize = 65_536;
/// Most bytes of packets at a time, and how long one waits for room.
const BYTES: usize = 256 * 1024 * 1024;
const WAIT: Duration = Duration::from_secs(8);

impl Sessions {
    pub(super) fn new(packets: usize) -> Arc<Self> {
        Arc::new(Self { table: Mutex::default(), packets, room: Arc::new(Semaphore::new(BYTES)) })
    }

    /// The session of this name, made if there is none; nothing where there are too many.
    pub(super) fn open(self: &Arc<Self>, name: &str) -> Option<Arc<Session>> {
        let mut table = self.table();
        if let Some(session) = table.get(name) {
            return Some(Arc::clone(session));
        }
        if table.len() >= MOST {
            return None;
        }
        let session = Arc::new(Session {
            queue: Queue::new(self.packets),
            begun: CancellationToken::new(),
            taken: AtomicBool::new(false),
            end: CancellationToken::new(),
        });
        table.insert(name.to_owned(), Arc::clone(&session));
        tokio::spawn(Arc::clone(self).forget(name.to_owned(), Arc::clone(&session)));
        Some(session)
    }

    /// Room for a packet of so many bytes; nothing where there was none for too long.
    pub(super) async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes.min(BYTES)).ok()?;
        timeout(WAIT, Arc::clone(&self.room).acquire_many_owned(bytes)).await.ok()?.ok()
    }

    /// Closes a session in time.
    async fn forget(self: Arc<Self>, name: String, session: Arc<Session>) {
        tokio::select! {
            () = session.end.cancelled() => {}
            () = session.begun.cancelled() => session.end.cancelled().await,
            () = sleep(PATIENCE) => {}
        }
        self.table().remove(&name);
        session.end.cancel();
        session.queue.close();
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Takes what comes down for a request, for the first alone.
    pub(super) fn begin(&self) -> bool {
        let first = !self.taken.swap(true, Ordering::AcqRel);
        self.begun.cancel();
        first
    }
}

/// What comes up in a session.
pub(super) struct Upward {
    session: Arc<Session>,
    /// The one request that streams, once it is there.
    stream: Option<Received>,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Upward {
    pub(super) fn of(session: Arc<Session>) -> Self {
        let end = Box::pin(session.end.clone().cancelled_owned());
        Self { session, stream: None, end }
    }
}

impl Source for Upward {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if self.stream.is_none() {
            match ready!(self.session.queue.poll_next(cx))? {
                Up::Packet(packet) => return Poll::Ready(Ok(Some(packet))),
                Up::Stream(body) => self.stream = Some(body),
            }
        }
        match &mut self.stream {
            Some(stream) => stream.poll_chunk(cx),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_that_nobody_reads_is_forgotten() {
        let sessions = Sessions::new(4);
        let session = sessions.open("a").unwrap();
        assert!(Arc::ptr_eq(&session, &sessions.open("a").unwrap()));
        let read = sessions.open("b").unwrap();
        assert!(read.begin() && !read.begin());
        sleep(PATIENCE + Duration::from_secs(1)).await;
        assert!(session.end.is_cancelled() && !read.end.is_cancelled());
        assert!(!Arc::ptr_eq(&session, &sessions.open("a").unwrap()));
        read.end.cancel();
        tokio::task::yield_now().await;
        assert!(!sessions.table().contains_key("b"));
    }

    #[tokio::test(start_paused = true)]
    async fn packets_of_all_sessions_have_one_room() {
        let sessions = Sessions::new(4);
        let all: Vec<_> = std::iter::repeat_n(1 << 20, BYTES >> 20).collect();
        let mut kept = Vec::new();
        for bytes in all {
            kept.push(sessions.room(bytes).await.unwrap());
        }
        assert!(sessions.room(1).await.is_none());
        kept.pop();
        assert!(sessions.room(1).await.is_some());
    }
}
