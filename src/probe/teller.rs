//! What the log says of probes: every attempt and score at debug, changes at info (DECISIONS 31).

use std::sync::Arc;

use tracing::{debug, info, warn};

use super::measure::Outcome;
use super::schedule::Job;
use crate::balance::{Attempt, Balancer, Life, Reason, Sample, Verdict};

/// Tells the story of one balancer.
#[derive(Debug)]
pub struct Teller {
    balancer: Arc<Balancer>,
    /// Whether the last round had no score at all; said once, not every round.
    all_zero: bool,
}

impl Teller {
    /// For this balancer.
    #[must_use]
    pub fn new(balancer: Arc<Balancer>) -> Self {
        Self { balancer, all_zero: false }
    }

    /// An attempt ended: a debug line, and the outcome as the round counts it.
    pub fn attempt(&self, job: Job, outcome: Outcome<Sample>) -> Attempt {
        let (tag, member, Job { round, attempt, .. }) = (self.balancer.tag(), self.member(job.member), job);
        let millis = outcome.took.as_millis();
        match &outcome.result {
            Ok(Sample { bytes, time, dial, status }) => debug!(
                "optimal {tag} round {round}: member {member} attempt {attempt} bytes={bytes} time_ms={} dial_ms={} status={status}",
                time.as_millis(),
                dial.as_millis(),
            ),
            Err(why) => {
                debug!(
                    "optimal {tag} round {round}: member {member} attempt {attempt} failed after {millis} ms: {why}"
                );
            }
        }
        outcome.attempt()
    }

    /// A round ended: each member's terms.
    pub fn scores(&self, verdict: &Verdict) {
        for at in 0..self.balancer.members().len() {
            debug!("{}", verdict.member_line(self.balancer.tag().as_str(), self.balancer.members(), at));
        }
    }

    /// Who serves from now on.
    pub fn verdict(&mut self, verdict: &Verdict) {
        let line = verdict.serving_line(self.balancer.tag().as_str(), self.balancer.members());
        let all_zero = verdict.reason == Reason::AllZero;
        if verdict.changed() || (verdict.first && verdict.board.round > 0) {
            info!("{line}");
        } else if all_zero && !self.all_zero {
            warn!("{line}");
        } else {
            debug!("{line}");
        }
        self.all_zero = all_zero;
    }

    /// A round that counts for nothing.
    pub fn discarded(&self, job: Job) {
        let tag = self.balancer.tag();
        info!(
            "optimal {tag} round {}: discarded, it took longer than it can: the machine slept, or its clock jumped",
            job.round
        );
    }

    /// A plain probe ended.
    pub fn beat(&self, at: usize, outcome: &Outcome<()>) {
        let (tag, member, millis) = (self.balancer.tag(), self.member(at), outcome.took.as_millis());
        match &outcome.result {
            Ok(()) => debug!("balancer {tag}: member {member} answered after {millis} ms"),
            Err(why) => debug!("balancer {tag}: member {member} failed after {millis} ms: {why}"),
        }
    }

    /// A member turned. The words are an interface: people grep for them.
    pub fn turned(&self, at: usize, life: Life) {
        let word = if life.usable() { "up" } else { "down" };
        info!("balancer member {} is now {word}", self.member(at));
    }

    fn member(&self, at: usize) -> &str {
        self.balancer.members().get(at).map_or("?", |member| member.tag.as_str())
    }
}
