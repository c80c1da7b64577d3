//! How many streams a connection has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many streams a connection has, and whether it takes more.
#[derive(Debug, Default)]
pub(super) struct Streams(AtomicUsize);

/// The place of one stream on a connection.
#[derive(Debug)]
pub struct Ticket(Arc<Streams>);

/// Instead of a number: it takes no stream any more.
const CLOSED: usize = usize::MAX;

impl Streams {
    pub(super) fn count(&self) -> usize {
        Some(self.0.load(Ordering::Acquire)).filter(|count| *count != CLOSED).unwrap_or(0)
    }

    pub(super) fn close(&self) {
        self.0.store(CLOSED, Ordering::Release);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED
    }

    /// Closes if there is none.
    pub(super) fn close_unused(&self) -> bool {
        self.0.compare_exchange(0, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Ticket {
    /// A place, if fewer than `most` are taken.
    pub(super) fn take(streams: &Arc<Streams>, most: usize) -> Option<Self> {
        let more = |count| (count < most.min(CLOSED - 1)).then(|| count + 1);
        streams.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self(Arc::clone(streams)))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let fewer = |count| (count != CLOSED).then(|| count - 1);
        // Where it is closed nobody counts any more.
        let _ = self.0.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_a_closed_connection_has_none() {
        let streams = Arc::new(Streams::default());
        let tickets: Vec<_> = (0..3).map_while(|_| Ticket::take(&streams, 2)).collect();
        assert_eq!((tickets.len(), streams.count(), streams.close_unused()), (2, 2, false));
        drop(tickets);
        assert!(streams.close_unused() && streams.is_closed());
        assert!(Ticket::take(&streams, 2).is_none());
        let streams = Arc::new(Streams::default());
        let ticket = Ticket::take(&streams, 2);
        streams.close();
        drop(ticket);
        assert!(streams.is_closed());
    }
}
