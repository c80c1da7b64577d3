//! Flows that wait for a balancer's first result (`startup = "wait"`), and their release.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::plan::Startup;
use crate::balance::Balancer;

/// Holds a balancer's flows until [`Hold::release`], or until dropped: a prober that goes away leaves nobody waiting.
#[derive(Debug)]
pub struct Hold {
    balancer: Arc<Balancer>,
    until: Option<Instant>,
    released: watch::Sender<bool>,
}

impl Hold {
    /// Begins to hold, if the plan says so and there is a choice to wait for.
    #[must_use]
    pub fn new(balancer: Arc<Balancer>, startup: Startup, now: Instant) -> Self {
        let until = match startup {
            Startup::Wait(limit) if balancer.members().len() > 1 => now.checked_add(limit),
            _ => None,
        };
        if until.is_some() {
            balancer.hold();
        }
        Self { balancer, until, released: watch::Sender::new(until.is_none()) }
    }

    /// When the wait ends in any case; `None` when nothing waits.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Turns true with the release.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.released.subscribe()
    }

    /// Lets the flows go.
    pub fn release(&mut self) {
        self.until = None;
        self.balancer.release();
        self.released.send_replace(true);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}
