//! Flows that wait for a balancer's first result (`startup = "wait"`), and their release.

use std::sync::Arc;

use tokio::sync::watch;

use crate::balance::Balancer;

/// Holds a balancer's flows until dropped: a prober that goes away leaves nobody waiting.
#[derive(Debug)]
pub struct Hold {
    balancer: Arc<Balancer>,
    released: watch::Sender<bool>,
}

impl Hold {
    /// Begins to hold.
    #[must_use]
    pub fn new(balancer: Arc<Balancer>) -> Self {
        balancer.hold();
        Self { balancer, released: watch::Sender::new(false) }
    }

    /// Turns true with the release.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.released.subscribe()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.balancer.release();
        self.released.send_replace(true);
    }
}
