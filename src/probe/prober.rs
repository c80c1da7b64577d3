//! All probes of a configuration: started together, stopped together.
//!
//! A prober belongs to the snapshot it was started with, since members are places in its lists. A reload starts the next
//! one with what this one remembers, and then stops this one.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::choose::Watched;
use super::clock::Clock;
use super::driver::{Call, Common, Driver, Inbox};
use super::hold::Hold;
use super::live::Live;
use super::measure::Measure;
use super::router::{Latest, Router};
use crate::addr::Tag;
use crate::balance::{Balancer, Ear, Keeper, Memory, Moment, Order, Refusal, Seen, Witnesses};
use crate::flow::Services;

/// The running probes. Dropping it stops them.
pub struct Prober {
    token: CancellationToken,
    tasks: TaskTracker,
    held: HashMap<Tag, watch::Receiver<bool>>,
    desks: Vec<Desk>,
    clock: Clock,
    dropped: Arc<AtomicU64>,
}

/// The way to a keeper, and the balancers it keeps.
struct Desk {
    calls: mpsc::Sender<Call>,
    groups: Vec<Tag>,
}

/// Why an order was not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// No such balancer.
    #[error("there is no balancer {balancer}; balancers are {known}")]
    NoBalancer {
        /// Who was named.
        balancer: Tag,
        /// Who there is.
        known: String,
    },
    /// The keeper refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The prober is being stopped.
    #[error("the balancers are being replaced; try again")]
    Stopping,
}

/// How many light probes run at once.
const PLACES: usize = 64;

/// How much evidence may wait for a keeper; what comes on top is dropped, since the next flows show the same.
const EVIDENCE: usize = 1024;

/// How many calls may wait for a keeper.
const CALLS: usize = 16;

impl Prober {
    /// Starts to probe, by way of these services, until the token falls; with what an earlier prober remembered, and
    /// watched by somebody beside the log. Must be called inside a tokio runtime.
    #[must_use]
    pub fn start(
        keepers: Vec<Watched>,
        services: Arc<dyn Services>,
        memory: &Memory,
        witness: Witnesses,
        token: &CancellationToken,
    ) -> Self {
        Self::with(keepers, Arc::new(Live::new(services)), memory, witness, token)
    }

    /// The same by another kind of measurement.
    #[must_use]
    pub fn with(
        keepers: Vec<Watched>,
        measure: Arc<dyn Measure>,
        memory: &Memory,
        witness: Witnesses,
        token: &CancellationToken,
    ) -> Self {
        let (router, inboxes) = Router::new(&keepers);
        let clock = Clock::begin();
        let places = Arc::new(Semaphore::new(PLACES));
        let common = Common { measure, places, clock, router: Arc::new(router), witness };
        let (token, tasks, dropped) = (token.child_token(), TaskTracker::new(), Arc::default());
        let mut prober = Self { token, tasks, held: HashMap::new(), desks: vec![], clock, dropped };
        for (watched, status) in keepers.into_iter().zip(inboxes) {
            prober.keep(watched, status, memory, common.clone());
        }
        prober.tasks.close();
        prober
    }

    /// Waits until a balancer's flows need not wait any more; at once if they never did. Ask the balancer again then.
    pub async fn released(&self, balancer: &Tag) {
        if let Some(held) = self.held.get(balancer) {
            // An error means the prober is gone, which releases too.
            let _ = held.clone().wait_for(|released| *released).await;
        }
    }

    /// Gives an order to a balancer.
    ///
    /// # Errors
    /// [`NotDone`] where it cannot be followed; nothing was changed then.
    pub async fn order(&self, balancer: &Tag, order: Order) -> Result<(), NotDone> {
        // Of two balancers with one name the last counts.
        let found = self
            .desks
            .iter()
            .rev()
            .find_map(|desk| desk.groups.iter().rposition(|group| group == balancer).map(|group| (desk, group)));
        let Some((desk, group)) = found else {
            let known: Vec<&str> = self.desks.iter().flat_map(|desk| &desk.groups).map(Tag::as_str).collect();
            return Err(NotDone::NoBalancer { balancer: balancer.clone(), known: known.join(", ") });
        };
        let (reply, answer) = oneshot::channel();
        desk.calls.send(Call::Order(group, order, reply)).await.map_err(|_| NotDone::Stopping)?;
        Ok(answer.await.map_err(|_| NotDone::Stopping)??)
    }

    /// Writes down what is known, for the next prober or for a file.
    pub async fn remember(&self) -> Memory {
        let mut memory = Memory::default();
        for desk in &self.desks {
            let (reply, answer) = oneshot::channel();
            if desk.calls.send(Call::Remember(reply)).await.is_err() {
                continue;
            }
            if let Ok(known) = answer.await {
                memory.subjects.extend(known.subjects);
                memory.groups.extend(known.groups);
            }
        }
        memory
    }

    /// This moment on the clock of the boards.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// How much of what flows showed was dropped, because keepers had enough.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Stops all probes and waits until they are gone.
    pub async fn stop(&self) {
        self.token.cancel();
        self.tasks.wait().await;
    }

    fn keep(&mut self, watched: Watched, status: Arc<Latest>, memory: &Memory, common: Common) {
        let Watched { setup, means, balancers } = watched;
        let waits = setup.groups.iter().map(|group| group.wait.is_some());
        let holds: Vec<Option<Hold>> =
            waits.zip(&balancers).map(|(waits, balancer)| waits.then(|| Hold::new(Arc::clone(balancer)))).collect();
        for (hold, balancer) in holds.iter().zip(&balancers) {
            self.held.extend(hold.iter().map(|hold| (balancer.tag().clone(), hold.watch())));
        }
        let (calls, called) = mpsc::channel(CALLS);
        let seen = self.listen(&balancers);
        self.desks.push(Desk { calls, groups: balancers.iter().map(|balancer| balancer.tag().clone()).collect() });
        let keeper = Keeper::new(setup, memory, self.clock.now());
        let driver = Driver::begin(keeper, (means, balancers, holds), common);
        let inbox = Inbox { seen, calls: called, status };
        self.tasks.spawn(driver.run(inbox, self.token.clone()));
    }

    /// Lets a keeper hear what flows of its balancers show.
    fn listen(&self, balancers: &[Arc<Balancer>]) -> mpsc::Receiver<(usize, Seen)> {
        let (tell, seen) = mpsc::channel(EVIDENCE);
        for (group, balancer) in balancers.iter().enumerate() {
            let (tell, dropped) = (tell.clone(), Arc::clone(&self.dropped));
            balancer.listen(Ear::new(move |seen| {
                if tell.try_send((group, seen)).is_err() {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        seen
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

impl fmt::Debug for Prober {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prober").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}
