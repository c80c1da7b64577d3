//! The loop of one balancer: sleep until something is due, run it, feed the result, publish the board, say so.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::{Id, JoinSet};
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::hold::Hold;
use super::measure::{Failure, Measure, Outcome};
use super::plan::{Check, Checks, Speed};
use super::schedule::{Beats, Job, Moment, Progress, Rounds};
use super::teller::Teller;
use crate::balance::{Balancer, Beat, Board, Pulse, Reason, Sample};

/// Runs rounds of speed tests until the token falls.
pub async fn rounds(
    balancer: Arc<Balancer>,
    plan: Speed,
    measure: Arc<dyn Measure>,
    mut hold: Hold,
    token: CancellationToken,
) {
    balancer.publish(Board::weighted(balancer.members().iter().map(|member| member.weight)));
    let mut rounds = Rounds::new(&plan, now().steady);
    let mut teller = Teller::new(Arc::clone(&balancer));
    let mut running = Running::default();
    let plan = Arc::new(plan);
    let test = |job: Job| speed_test(Arc::clone(&balancer), Arc::clone(&plan), Arc::clone(&measure), job);
    loop {
        tokio::select! {
            () = token.cancelled() => return,
            () = at(hold.until()) => hold.release(),
            () = at(rounds.next_wake()) => {
                for job in rounds.poll(now(), &balancer.board()) {
                    running.start(job, test(job));
                }
            }
            (job, outcome) = running.next() => {
                let attempt = teller.attempt(job, outcome);
                match rounds.done(job, attempt, now()) {
                    Progress::Running(next, early) => {
                        next.into_iter().for_each(|job| running.start(job, test(job)));
                        if let Some(verdict) = early {
                            balancer.publish(Arc::clone(&verdict.board));
                            teller.verdict(&verdict);
                            if verdict.reason == Reason::FirstSuccess {
                                hold.release();
                            }
                        }
                    }
                    Progress::Closed(verdict) => {
                        balancer.publish(Arc::clone(&verdict.board));
                        teller.scores(&verdict);
                        teller.verdict(&verdict);
                        hold.release();
                    }
                    Progress::Discarded => teller.discarded(job),
                }
            }
        }
    }
}

/// Runs small checks until the token falls.
pub async fn beats(balancer: Arc<Balancer>, plan: Checks, measure: Arc<dyn Measure>, token: CancellationToken) {
    let mut beats = Beats::new(&plan, now().steady);
    let mut pulse = Pulse::new(balancer.members().len(), plan.returns);
    let teller = Teller::new(Arc::clone(&balancer));
    let mut running = Running::default();
    let plan = Arc::new(plan);
    loop {
        tokio::select! {
            () = token.cancelled() => return,
            () = at(beats.next_wake()) => {
                for member in beats.poll(now().steady) {
                    running.start(member, check(Arc::clone(&balancer), Arc::clone(&plan), Arc::clone(&measure), member));
                }
            }
            (member, outcome) = running.next() => {
                beats.done(member, now().steady);
                teller.beat(member, &outcome);
                let beat = outcome.result.map_or(Beat::Dead, |()| Beat::Alive(outcome.took));
                let (board, turned) = pulse.record(member, beat);
                balancer.publish(board);
                turned.into_iter().for_each(|life| teller.turned(member, life));
            }
        }
    }
}

async fn speed_test(balancer: Arc<Balancer>, plan: Arc<Speed>, measure: Arc<dyn Measure>, job: Job) -> Outcome<Sample> {
    let Some(member) = balancer.members().get(job.member) else { return Outcome::broken() };
    bounded(plan.order.timeout, measure.fetch(member, &plan.order)).await
}

async fn check(balancer: Arc<Balancer>, plan: Arc<Checks>, measure: Arc<dyn Measure>, at: usize) -> Outcome<()> {
    match (balancer.members().get(at), plan.of.get(at)) {
        (Some(member), Some(Check::Http(order))) => {
            bounded(plan.timeout, async { measure.fetch(member, order).await.map(|_| ()) }).await
        }
        (_, Some(Check::Tcp(endpoint))) => bounded(plan.timeout, measure.connect(endpoint)).await,
        _ => Outcome::broken(),
    }
}

async fn bounded<T>(limit: Duration, work: impl Future<Output = Result<T, Failure>>) -> Outcome<T> {
    let begin = tokio::time::Instant::now();
    let result = timeout(limit, work).await.unwrap_or(Err(Failure::Timeout(limit)));
    Outcome { result, took: begin.elapsed() }
}

/// Measurements that run now, each with what it is for, so that one that breaks is still accounted for.
struct Running<K, T> {
    tasks: JoinSet<Outcome<T>>,
    keys: HashMap<Id, K>,
}

impl<K, T> Default for Running<K, T> {
    fn default() -> Self {
        Self { tasks: JoinSet::new(), keys: HashMap::new() }
    }
}

impl<K, T: Send + 'static> Running<K, T> {
    fn start(&mut self, key: K, work: impl Future<Output = Outcome<T>> + Send + 'static) {
        let id = self.tasks.spawn(work).id();
        self.keys.insert(id, key);
    }

    /// The next one that ends; waits for ever while none runs.
    async fn next(&mut self) -> (K, Outcome<T>) {
        loop {
            let (id, outcome) = match self.tasks.join_next_with_id().await {
                None => pending().await,
                Some(Ok(ended)) => ended,
                Some(Err(error)) => (error.id(), Outcome::broken()),
            };
            if let Some(key) = self.keys.remove(&id) {
                return (key, outcome);
            }
        }
    }
}

/// Waits for a moment, or for ever if there is none.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due.into()).await,
        None => pending().await,
    }
}

fn now() -> Moment {
    // tokio's clock, which tests can pause.
    Moment { steady: tokio::time::Instant::now().into_std(), wall: SystemTime::now() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
