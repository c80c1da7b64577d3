//! What comes up in many requests, in its order again.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::body::Received;

/// The packets of one session, or the one request that streams.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Somebody took a packet.
    room: Notify,
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the packet that is read next.
    next: u64,
    waiting: BTreeMap<u64, Packet>,
    stream: Option<Received>,
    /// A request that streams was given.
    streams: bool,
    closed: bool,
    reader: Option<Waker>,
}

/// A packet, and its share of what may wait at the server.
#[derive(Debug)]
pub(super) struct Packet {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

/// Why a packet or a stream was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The session is over.
    Closed,
    /// More packets wait than are kept, and the one that is due is not among them.
    Overflow,
    /// There is a stream already.
    Taken,
}

/// What comes next.
pub(super) enum Up {
    Packet(Bytes),
    Stream(Received),
}

impl Packet {
    pub(super) fn new(bytes: Bytes, room: OwnedSemaphorePermit) -> Self {
        Self { bytes, _room: room }
    }
}

impl Queue {
    /// At most so many packets wait.
    pub(super) fn new(most: usize) -> Self {
        Self { state: Mutex::default(), room: Notify::new(), most }
    }

    /// Puts a packet in its place, once there is room. One that was there before counts as taken.
    pub(super) async fn push(&self, number: u64, packet: Packet) -> Result<(), Refused> {
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            {
                let mut state = self.state();
                if state.closed {
                    return Err(Refused::Closed);
                }
                if number < state.next {
                    return Ok(());
                }
                if number == state.next || state.waiting.len() < self.most {
                    state.waiting.insert(number, packet);
                    wake(state);
                    return Ok(());
                }
                let due = state.next;
                if !state.waiting.contains_key(&due) {
                    state.closed = true;
                    wake(state);
                    return Err(Refused::Overflow);
                }
            }
            room.await;
        }
    }

    /// Takes the body of one request for all that comes up.
    pub(super) fn stream(&self, body: Received) -> Result<(), Refused> {
        let mut state = self.state();
        if state.closed {
            return Err(Refused::Closed);
        }
        if std::mem::replace(&mut state.streams, true) || state.next > 0 || !state.waiting.is_empty() {
            return Err(Refused::Taken);
        }
        state.stream = Some(body);
        wake(state);
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        wake(state);
        self.room.notify_waiters();
    }

    /// What comes next.
    pub(super) fn poll_next(&self, cx: &Context<'_>) -> Poll<io::Result<Up>> {
        let mut state = self.state();
        let mut taken = false;
        loop {
            let due = state.next;
            match state.waiting.remove(&due) {
                Some(packet) => {
                    state.next += 1;
                    taken = true;
                    let Packet { bytes, .. } = packet;
                    if !bytes.is_empty() {
                        drop(state);
                        self.room.notify_waiters();
                        return Poll::Ready(Ok(Up::Packet(bytes)));
                    }
                }
                None => break,
            }
        }
        if taken {
            self.room.notify_waiters();
        }
        if let Some(body) = state.stream.take() {
            return Poll::Ready(Ok(Up::Stream(body)));
        }
        if state.closed {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    reader.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    async fn next(queue: &Queue) -> io::Result<Bytes> {
        match poll_fn(|cx| queue.poll_next(cx)).await? {
            Up::Packet(bytes) => Ok(bytes),
            Up::Stream(_) => unreachable!("packets alone were pushed"),
        }
    }

    fn text(number: u64) -> Bytes {
        Bytes::from(number.to_string())
    }

    fn packet(number: u64) -> Packet {
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        Packet::new(text(number), room)
    }

    #[tokio::test]
    async fn packets_come_in_order_and_once() {
        let queue = Queue::new(8);
        for number in [2, 0, 1, 1, 3, 0] {
            queue.push(number, packet(number)).await.unwrap();
        }
        for number in 0..4 {
            assert_eq!(next(&queue).await.unwrap(), text(number));
        }
        queue.push(1, packet(9)).await.unwrap();
        queue.close();
        assert!(next(&queue).await.is_err());
        assert_eq!(queue.push(4, packet(4)).await, Err(Refused::Closed));
    }

    #[tokio::test]
    async fn a_slow_reader_is_waited_for() {
        let queue = Arc::new(Queue::new(2));
        for number in 0..2 {
            queue.push(number, packet(number)).await.unwrap();
        }
        let pushing = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.push(2, packet(2)).await }
        });
        tokio::task::yield_now().await;
        assert!(!pushing.is_finished());
        for number in 0..3 {
            assert_eq!(next(&queue).await.unwrap(), text(number));
        }
        assert_eq!(pushing.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_gap_that_does_not_close_ends_the_session() {
        let queue = Queue::new(2);
        for number in 1..3 {
            queue.push(number, packet(number)).await.unwrap();
        }
        assert_eq!(queue.push(3, packet(3)).await, Err(Refused::Overflow));
        assert!(next(&queue).await.is_err());
    }
}
