//! The loop of one keeper: sleep until something is due, measure, feed what comes back, and do what the keeper says.
//!
//! Nothing is decided here. What is due, who is alive and who serves is the keeper's business.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::hold::Hold;
use super::measure::Measure;
use super::router::{Latest, Router};
use super::running::{Errand, Running};
use super::teller::tell;
use super::what::Means;
use crate::balance::{Act, Balancer, Job, Keeper, Kind, Memory, Order, Refusal, Seen, Witness, Witnesses};

/// Somebody's call to a keeper.
#[derive(Debug)]
pub enum Call {
    /// An order to one of its groups.
    Order(usize, Order, oneshot::Sender<Result<(), Refusal>>),
    /// Write down what is known.
    Remember(oneshot::Sender<Memory>),
}

/// What comes to a keeper from outside.
#[derive(Debug)]
pub struct Inbox {
    /// What flows of its groups show.
    pub seen: mpsc::Receiver<(usize, Seen)>,
    /// Calls.
    pub calls: mpsc::Receiver<Call>,
    /// Words on balancers that are members.
    pub status: Arc<Latest>,
}

/// What the drivers of a prober share.
#[derive(Clone)]
pub struct Common {
    /// How members are measured.
    pub measure: Arc<dyn Measure>,
    /// How many light probes run at once: hundreds of members must not use up the descriptors.
    pub places: Arc<Semaphore>,
    /// The clock of all keepers.
    pub clock: Clock,
    /// Where words on balancers go.
    pub router: Arc<Router>,
    /// Who is told what happens, beside the log.
    pub witness: Witnesses,
}

/// A keeper on its way.
pub struct Driver {
    keeper: Keeper,
    means: Means,
    balancers: Vec<Arc<Balancer>>,
    holds: Vec<Option<Hold>>,
    common: Common,
    running: Running,
    acts: Vec<Act>,
}

impl Driver {
    /// Does what is due at once, so that boards are there before the first flow.
    #[must_use]
    pub fn begin(
        keeper: Keeper,
        (means, balancers, holds): (Means, Vec<Arc<Balancer>>, Vec<Option<Hold>>),
        common: Common,
    ) -> Self {
        let mut driver =
            Self { keeper, means, balancers, holds, common, running: Running::default(), acts: Vec::new() };
        let now = driver.common.clock.now();
        driver.common.witness.began(driver.keeper.setup(), now);
        driver.keeper.wake(now, &mut driver.acts);
        driver.act();
        driver
    }

    /// Drives it until the token falls.
    pub async fn run(mut self, mut inbox: Inbox, token: CancellationToken) {
        let clock = self.common.clock;
        loop {
            tokio::select! {
                () = token.cancelled() => return,
                () = clock.at(self.keeper.next_wake()) => self.keeper.wake(clock.now(), &mut self.acts),
                (job, outcome) = self.running.next() => {
                    self.keeper.done(job, outcome, clock.now(), &mut self.acts);
                }
                Some(call) = inbox.calls.recv() => self.call(call),
                words = inbox.status.take() => {
                    for (subject, up) in words {
                        self.keeper.status(subject, up, clock.now(), &mut self.acts);
                    }
                }
                Some((group, seen)) = inbox.seen.recv() => {
                    self.common.witness.saw(self.keeper.setup(), group, seen, clock.now());
                    self.keeper.saw(group, seen, clock.now(), &mut self.acts);
                }
            }
            self.act();
        }
    }

    fn call(&mut self, call: Call) {
        let now = self.common.clock.now();
        // Whoever does not wait for the answer any more does not want it.
        match call {
            Call::Order(group, order, reply) => {
                let _ = reply.send(self.keeper.order(group, &order, now, &mut self.acts));
            }
            Call::Remember(reply) => {
                let mut memory = Memory::default();
                self.keeper.remember(now, &mut memory);
                let _ = reply.send(memory);
            }
        }
    }

    fn act(&mut self) {
        for act in std::mem::take(&mut self.acts) {
            match act {
                Act::Start(job) => self.start(job),
                Act::Publish(group, board) => {
                    if let Some(balancer) = self.balancers.get(group) {
                        balancer.publish(board);
                    }
                }
                Act::Release(group) => {
                    if let Some(hold) = self.holds.get_mut(group) {
                        // Dropping it lets the flows go.
                        *hold = None;
                    }
                }
                Act::Status(group, up) => {
                    if let Some(balancer) = self.balancers.get(group) {
                        self.common.router.tell(balancer.tag(), up);
                    }
                }
                Act::Tell(story) => {
                    tell(&story);
                    self.common.witness.told(self.keeper.setup(), &story, self.common.clock.now());
                }
            }
        }
    }

    fn start(&mut self, job: Job) {
        let subject = job.subject.and_then(|at| self.keeper.setup().subjects.get(at));
        let errand = Errand {
            by: subject.map(|subject| (subject.tag.clone(), subject.hop)),
            what: self.means.of(&job),
            limit: job.timeout,
            // The tests of a round start together (O1).
            places: (job.kind != Kind::Test).then(|| Arc::clone(&self.common.places)),
        };
        self.running.start(job, errand.run(Arc::clone(&self.common.measure)));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
