//! Whether a server heeds the addresses at datagrams.
//!
//! V2Ray's servers of the fourth generation pass them over: all that goes through a session ends at the target with which it
//! began. Those that heed them name them in their answers too. So until a server has done that, each target has a session of
//! its own; what would otherwise reach the wrong one could be anything.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::BytesMut;

use crate::addr::Target;
use crate::wire::{Parcel, Unpacked, WireError};

/// What is known of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Addressing(Arc<AtomicBool>);

impl Addressing {
    /// The server heeds addresses.
    pub(super) fn learn(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The targets of one association, by whether they share a session. Each stays where it began, or its port there would change.
#[derive(Debug)]
pub(super) struct Targets {
    server: Addressing,
    first: Option<Target>,
    alone: HashSet<Target>,
}

/// Targets that are remembered as having a session of their own.
const ALONE: usize = 256;

impl Targets {
    pub(super) fn new(server: Addressing) -> Self {
        Self { server, first: None, alone: HashSet::new() }
    }

    /// Whether a target shares the session of the first.
    pub(super) fn shares(&mut self, target: &Target) -> bool {
        let first = self.first.get_or_insert_with(|| target.clone());
        if first == target {
            return true;
        }
        if self.alone.contains(target) {
            return false;
        }
        let shares = self.server.is_known();
        if !shares && self.alone.len() < ALONE {
            self.alone.insert(target.clone());
        }
        shares
    }
}

/// A parcel whose answers teach.
#[derive(Debug)]
pub(super) struct Taught<P> {
    parcel: P,
    server: Addressing,
}

impl<P> Taught<P> {
    pub(super) fn new(parcel: P, server: Addressing) -> Self {
        Self { parcel, server }
    }
}

impl<P: Parcel> Parcel for Taught<P> {
    type Peer = P::Peer;

    fn pack(&mut self, payload: &[u8], peer: &P::Peer, out: &mut BytesMut) -> bool {
        self.parcel.pack(payload, peer, out)
    }

    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<P::Peer>, WireError> {
        let unpacked = self.parcel.unpack(input)?;
        if matches!(unpacked, Unpacked::Packet { peer: Some(_), .. }) {
            self.server.learn();
        }
        Ok(unpacked)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn targets_share_once_the_server_has_shown_that_it_heeds_them_and_stay_where_they_are() {
        let server = Addressing::default();
        let mut targets = Targets::new(server.clone());
        let [a, b, c] = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(|text| text.parse::<Target>().unwrap());
        assert!(targets.shares(&a) && !targets.shares(&b) && targets.shares(&a));
        server.learn();
        assert!(targets.shares(&c) && !targets.shares(&b));
        assert!(Targets::new(server).shares(&b));
    }
}
