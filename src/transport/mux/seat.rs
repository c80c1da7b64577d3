//! A session's place in its connection.

use std::task::Waker;

use super::state::Trunk;
use crate::addr::Network;

/// How many sessions a connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// At a time.
    pub open: usize,
    /// In all.
    pub total: u16,
}

/// Holds a session. When it is dropped the session is over, and the peer is told once if that did not end it itself.
#[derive(Debug)]
pub struct Seat {
    pub(super) trunk: Trunk,
    pub(super) id: u16,
    /// It ends in order.
    pub(super) clean: bool,
}

impl Seat {
    /// A place for a session of ours, if the connection takes another and the peer is heard of. Nothing is sent yet.
    #[must_use]
    pub fn take(trunk: &Trunk, network: Network, limits: Limits) -> Option<Self> {
        let mut state = trunk.lock();
        let id = state.last.unwrap_or(0).checked_add(1)?;
        if state.is_closed() || state.is_silent() || state.sessions.len() >= limits.open || id > limits.total {
            return None;
        }
        state.add(id, network, false);
        drop(state);
        Some(Self::new(trunk.clone(), id))
    }

    pub(super) fn new(trunk: Trunk, id: u16) -> Self {
        Self { trunk, id, clean: false }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let waker = self.trunk.lock().remove(self.id, !self.clean);
        waker.into_iter().for_each(Waker::wake);
    }
}
