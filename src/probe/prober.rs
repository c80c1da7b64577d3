//! All probes of a configuration: started together, stopped together.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::driver::{beats, rounds};
use super::hold::Hold;
use super::live::Live;
use super::measure::Measure;
use super::plan::Plan;
use crate::addr::Tag;
use crate::balance::Balancer;
use crate::flow::Services;

/// A balancer and how its members are probed.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Whose board is kept.
    pub balancer: Arc<Balancer>,
    /// What is measured, and how often.
    pub plan: Plan,
}

/// The running probes. Dropping it stops them.
pub struct Prober {
    token: CancellationToken,
    tasks: TaskTracker,
    held: HashMap<Tag, watch::Receiver<bool>>,
}

impl Prober {
    /// Starts to probe, by way of these services, until the token falls. Must be called inside a tokio runtime.
    #[must_use]
    pub fn start(watched: Vec<Watched>, services: Arc<dyn Services>, token: &CancellationToken) -> Self {
        Self::with(watched, &(Arc::new(Live::new(services)) as Arc<dyn Measure>), token)
    }

    /// Starts to probe by another kind of measurement.
    #[must_use]
    pub fn with(watched: Vec<Watched>, measure: &Arc<dyn Measure>, token: &CancellationToken) -> Self {
        let mut prober = Self { token: token.child_token(), tasks: TaskTracker::new(), held: HashMap::new() };
        for item in watched {
            prober.watch(item, Arc::clone(measure));
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

    /// Stops all probes and waits until they are gone.
    pub async fn stop(self) {
        self.token.cancel();
        self.tasks.wait().await;
    }

    fn watch(&mut self, item: Watched, measure: Arc<dyn Measure>) {
        let Watched { balancer, plan } = item;
        let token = self.token.clone();
        if balancer.members().is_empty() {
            return;
        }
        match plan {
            Plan::Nothing => {}
            Plan::Speed(plan) => {
                let now = tokio::time::Instant::now().into_std();
                let hold = Hold::new(Arc::clone(&balancer), plan.startup, now);
                if hold.until().is_some() {
                    self.held.insert(balancer.tag().clone(), hold.watch());
                }
                self.tasks.spawn(rounds(balancer, plan, measure, hold, token));
            }
            Plan::Checks(plan) => {
                self.tasks.spawn(beats(balancer, plan, measure, token));
            }
        }
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
