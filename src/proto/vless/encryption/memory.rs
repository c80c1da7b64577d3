//! What a client keeps of a connection, so that the next needs no round trip.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::keys::Shared;

/// The keys of a connection that died with it, but for the ticket.
pub(super) type Pfs = Zeroizing<[u8; 64]>;

/// Of what the two algorithms gave.
pub(super) fn pfs(capsule: &Shared, point: &Shared) -> Pfs {
    let mut both = Zeroizing::new([0; 64]);
    both[..32].copy_from_slice(&capsule[..]);
    both[32..].copy_from_slice(&point[..]);
    both
}

/// The newest ticket of one server.
#[derive(Default)]
pub(super) struct Memory(Mutex<Option<Kept>>);

#[derive(Clone)]
pub(super) struct Kept {
    pub(super) pfs: Pfs,
    pub(super) ticket: [u8; 16],
    until: Instant,
}

impl Memory {
    pub(super) fn keep(&self, pfs: Pfs, ticket: [u8; 16], now: Instant) {
        let seconds = Duration::from_secs(u16::from_be_bytes([ticket[0], ticket[1]]).into());
        if let Some(until) = now.checked_add(seconds).filter(|_| !seconds.is_zero()) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Kept { pfs, ticket, until });
        }
    }

    /// What is kept, if it still counts.
    pub(super) fn find(&self, now: Instant) -> Option<Kept> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|kept| now < kept.until).cloned()
    }

    /// The server knows nothing of it.
    pub(super) fn forget(&self, ticket: &[u8; 16]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take_if(|kept| kept.ticket == *ticket);
    }
}
