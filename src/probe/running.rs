//! Measurements that run now, each with its job, so that one that breaks is still accounted for.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout};

use super::measure::{By, Failure, Measure};
use super::what::What;
use crate::addr::{Hop, Tag};
use crate::balance::{Job, Outcome};

/// Measurements that run now.
#[derive(Debug, Default)]
pub struct Running {
    tasks: JoinSet<Outcome>,
    jobs: HashMap<Id, Job>,
}

impl Running {
    /// Starts one.
    pub fn start(&mut self, job: Job, work: impl Future<Output = Outcome> + Send + 'static) {
        let id = self.tasks.spawn(work).id();
        self.jobs.insert(id, job);
    }

    /// The next one that ends; waits for ever while none runs.
    pub async fn next(&mut self) -> (Job, Outcome) {
        loop {
            let (id, outcome) = match self.tasks.join_next_with_id().await {
                None => pending().await,
                Some(Ok(ended)) => ended,
                Some(Err(error)) => (error.id(), failed(Duration::ZERO, Failure::Broken)),
            };
            if let Some(job) = self.jobs.remove(&id) {
                return (job, outcome);
            }
        }
    }
}

/// A measurement to be made.
pub struct Errand {
    /// By whom, if by somebody.
    pub by: Option<(Tag, Hop)>,
    /// What is done; absent where the keeper asks for what nobody described.
    pub what: Option<Arc<What>>,
    /// Bound of all of it.
    pub limit: Duration,
    /// Where its turn comes from; absent where it must start at once.
    pub places: Option<Arc<Semaphore>>,
}

impl Errand {
    /// Waits for its turn, then measures.
    pub async fn run(self, measure: Arc<dyn Measure>) -> Outcome {
        let Some(what) = self.what else { return failed(Duration::ZERO, Failure::Broken) };
        let _place = match self.places {
            Some(places) => places.acquire_owned().await.ok(),
            None => None,
        };
        let begin = Instant::now();
        let by = self.by.as_ref().map(|(tag, hop)| By { tag, hop: *hop });
        match timeout(self.limit, measure.measure(by, &what)).await {
            Ok(Ok(sample)) => Outcome::Done(sample),
            Ok(Err(failure)) => failed(begin.elapsed(), failure),
            Err(_) => failed(begin.elapsed(), Failure::Timeout(self.limit)),
        }
    }
}

fn failed(took: Duration, failure: Failure) -> Outcome {
    Outcome::Failed { took, why: failure.into() }
}
