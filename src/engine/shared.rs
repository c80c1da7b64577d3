//! What all flows of an engine share, whichever snapshot they run on.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::snapshot::Snapshot;
use crate::balance::Witnesses;
use crate::probe::Prober;
use crate::service::HttpServices;

/// What all flows share.
#[derive(Debug)]
pub(super) struct Shared {
    /// What new flows run on.
    pub(super) now: ArcSwap<Snapshot>,
    /// Who is told what balancers learn and decide.
    pub(super) witnesses: OnceLock<Witnesses>,
    /// Who measures members, and knows when held flows may go.
    pub(super) prober: ArcSwapOption<Prober>,
    /// Every running listener.
    pub(super) doors: TaskTracker,
    /// Services that run or end.
    pub(super) webs: TaskTracker,
    /// The HTTP services that run.
    pub(super) web: ArcSwapOption<HttpServices>,
    /// Every running flow.
    pub(super) flows: TaskTracker,
    /// Ends all flows.
    pub(super) end: CancellationToken,
    ids: AtomicU64,
    warned: Mutex<HashSet<String>>,
}

/// Faults of a config that were told already; a config has no more names than this that matter.
const WARNED: usize = 1024;

impl Shared {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            now: ArcSwap::from_pointee(snapshot),
            witnesses: OnceLock::new(),
            prober: ArcSwapOption::empty(),
            doors: TaskTracker::new(),
            webs: TaskTracker::new(),
            web: ArcSwapOption::empty(),
            flows: TaskTracker::new(),
            end: CancellationToken::new(),
            ids: AtomicU64::new(1),
            warned: Mutex::default(),
        }
    }

    /// A number for a flow. They begin at 1.
    pub(super) fn number(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Who is told what balancers learn and decide.
    pub(super) fn witnesses(&self) -> Witnesses {
        self.witnesses.get().cloned().unwrap_or_default()
    }

    /// What new flows run on.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.now.load_full()
    }

    /// Warns of a fault of the config, once: every flow would meet it.
    pub(super) fn warn_once(&self, fault: &impl fmt::Display) {
        let text = fault.to_string();
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() < WARNED && warned.insert(text.clone()) {
            drop(warned);
            tracing::warn!("{text}");
        }
    }
}
