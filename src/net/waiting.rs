//! WaitingRoom for datagrams that must wait: how many bytes all queues of one association may hold together.
//!
//! Queues are bounded by number too, but a number of datagrams says little: each may have 64 KiB.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The room of one association, shared by its queues.
#[derive(Debug, Clone)]
pub struct WaitingRoom(Arc<AtomicUsize>);

/// Bytes that may wait in one association.
const BYTES: usize = 1024 * 1024;

impl Default for WaitingRoom {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(BYTES)))
    }
}

impl WaitingRoom {
    /// A copy of a datagram that waits, if there is room for it.
    #[must_use]
    pub fn keep(&self, payload: &[u8]) -> Option<Waiting> {
        let less = |left: usize| left.checked_sub(payload.len());
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Waiting { payload: Bytes::copy_from_slice(payload), room: self.clone() })
    }
}

/// A datagram that waits. Its room is free again when it goes.
#[derive(Debug)]
pub struct Waiting {
    payload: Bytes,
    room: WaitingRoom,
}

impl Deref for Waiting {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.payload
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.room.0.fetch_add(self.payload.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_bounded_and_free_again_when_they_go() {
        let room = WaitingRoom::default();
        let mut kept: Vec<Waiting> = std::iter::from_fn(|| room.clone().keep(&[7; 60_000])).collect();
        assert_eq!(kept.len(), BYTES / 60_000);
        assert!(room.keep(&[7; 1000]).is_some() && kept.iter().all(|one| one.len() == 60_000));
        kept.pop();
        assert!(room.keep(&[7; 60_000]).is_some());
        drop(kept);
        assert_eq!(room.0.load(Ordering::Relaxed), BYTES);
    }
}
