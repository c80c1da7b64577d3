//! How long a flow may live: as long as the process, its inbound, and every outbound that it leaves by.
//!
//! There is no token for each flow. All flows that came in by one inbound and leave by one outbound end together, so they
//! share a *lease*, and it is the outbound that keeps one for each inbound (and for each lease, where an outbound dials
//! through another). A flow holds one pointer, whatever it leads through.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The life that some flows share.
#[derive(Debug)]
pub(super) struct Lease {
    token: CancellationToken,
    /// The same as the token says, for a single load.
    over: AtomicBool,
    /// The lease that this one cannot outlive.
    from: Option<Arc<Self>>,
}

impl Lease {
    /// That of an inbound's flows, whatever they leave by; it is over when this token falls.
    pub(super) fn under(all: &CancellationToken) -> Arc<Self> {
        Arc::new(Self { token: all.child_token(), over: AtomicBool::new(false), from: None })
    }

    /// One that is over when either this one or itself is ended.
    fn narrowed(self: &Arc<Self>) -> Arc<Self> {
        let from = Some(Arc::clone(self));
        Arc::new(Self { token: self.token.child_token(), over: AtomicBool::new(false), from })
    }

    /// What flows wait for.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Ends everything under it.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// Whether it was ended. That the whole process ends is known from the token alone.
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) || self.from.as_ref().is_some_and(|from| from.is_over())
    }
}

/// The life of an outbound: the leases of those who leave by it.
#[derive(Debug, Default)]
pub(super) struct Life(Mutex<Leases>);

#[derive(Debug, Default)]
struct Leases {
    ended: bool,
    /// For each lease that came here, the one that goes on.
    all: Vec<(Arc<Lease>, Arc<Lease>)>,
}

impl Life {
    /// The lease of flows that leave by here and had this one so far.
    pub(super) fn join(&self, from: &Arc<Lease>) -> Arc<Lease> {
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, joined)) = leases.all.iter().find(|(known, _)| Arc::ptr_eq(known, from)) {
            return Arc::clone(joined);
        }
        let joined = from.narrowed();
        if leases.ended {
            joined.end();
        } else {
            leases.all.push((Arc::clone(from), Arc::clone(&joined)));
        }
        joined
    }

    /// Ends all who left by here, and whoever still will.
    pub(super) fn end(&self) {
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        leases.ended = true;
        leases.all.drain(..).for_each(|(_, joined)| joined.end());
    }

    /// Forgets the leases of inbounds that have ended.
    pub(super) fn tidy(&self) {
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        leases.all.retain(|(from, _)| !from.is_over());
    }
}

/// The leases that a flow collects while it is dialed: its inbound's, narrowed by each outbound on the way.
#[derive(Debug, Clone)]
pub(super) struct Trail(Arc<Mutex<Arc<Lease>>>);

impl Trail {
    /// Begins with a lease.
    pub(super) fn new(from: Arc<Lease>) -> Self {
        Self(Arc::new(Mutex::new(from)))
    }

    /// Leads through an outbound.
    pub(super) fn through(&self, life: &Life) {
        let mut lease = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *lease = life.join(&lease);
    }

    /// Leads through nothing else than this any more: what came after it failed.
    pub(super) fn back_to(&self, lease: &Arc<Lease>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(lease);
    }

    /// What it came to.
    pub(super) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells a task when a lease is over, for a load a turn.
pub(super) struct Expiry {
    lease: Arc<Lease>,
    wait: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Who was told to wake up.
    asked: Option<Waker>,
}

impl Expiry {
    pub(super) fn of(lease: Arc<Lease>) -> Self {
        Self { wait: Box::pin(lease.token.clone().cancelled_owned()), lease, asked: None }
    }

    /// Whether it is over; if not, the task is woken when it is.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if self.asked.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return self.lease.is_over();
        }
        self.asked = Some(cx.waker().clone());
        self.wait.as_mut().poll(cx).is_ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_ends_with_its_inbound_and_with_each_outbound_on_its_way() {
        let process = CancellationToken::new();
        let (one, two) = (Lease::under(&process), Lease::under(&process));
        let (near, far) = (Life::default(), Life::default());
        let way = |from: &Arc<Lease>| {
            let trail = Trail::new(Arc::clone(from));
            trail.through(&Life::default());
            trail.back_to(from);
            trail.through(&near);
            trail.through(&far);
            trail.lease()
        };
        let (first, again, other) = (way(&one), way(&one), way(&two));
        assert!(Arc::ptr_eq(&first, &again), "flows of one way share a lease");
        let direct = far.join(&two);
        one.end();
        assert!(first.is_over() && first.token().is_cancelled());
        assert!(!other.is_over() && !direct.is_over());
        near.end();
        assert!(other.is_over() && other.token().is_cancelled() && !direct.is_over());
        far.end();
        assert!(direct.is_over());
    }

    #[test]
    fn who_comes_after_the_end_is_ended_at_once() {
        let life = Life::default();
        let from = Lease::under(&CancellationToken::new());
        life.end();
        assert!(life.join(&from).token().is_cancelled() && !from.is_over());
    }

    #[test]
    fn leases_of_ended_inbounds_are_forgotten() {
        let life = Life::default();
        let (one, two) = (Lease::under(&CancellationToken::new()), Lease::under(&CancellationToken::new()));
        let (_, kept) = (life.join(&one), life.join(&two));
        one.end();
        life.tidy();
        assert!(Arc::ptr_eq(&kept, &life.join(&two)));
        assert_eq!(life.0.lock().map_or(0, |leases| leases.all.len()), 1);
    }
}
