//! Waiting for a test that was ordered.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::gallery::Heard;
use super::protocol::{Code, Refused, Tested};
use crate::balance::{Kind, Report, Story};

/// Longest silence between two results; a test has a limit of its own, which is mostly far below.
const SILENCE: Duration = Duration::from_secs(120);

/// What a keeper may take from a last result to the board that shows it.
const SETTLE: Duration = Duration::from_millis(100);

/// A test of some members that runs.
#[derive(Debug)]
pub(super) struct Trial {
    /// Whose tests are not over.
    open: BTreeSet<String>,
    heard: Receiver<Heard>,
    settled: bool,
}

impl Trial {
    /// A test of one member, or of all of them, that is about to be ordered.
    ///
    /// # Errors
    /// [`Refused`] where there is nobody to be tested.
    pub(super) fn new(report: &Report, member: Option<&str>, heard: Receiver<Heard>) -> Result<Self, Refused> {
        let known = || report.members.iter().map(|state| state.member.as_str());
        let open: BTreeSet<String> =
            known().filter(|tag| member.is_none_or(|member| member == *tag)).map(str::to_owned).collect();
        match (open.is_empty(), member) {
            (true, Some(member)) => {
                let (balancer, members) = (&report.balancer, known().collect::<Vec<_>>().join(", "));
                let message = format!("balancer {balancer} has no member {member}; its members are {members}");
                Err(Refused::new(Code::UnknownMember, message))
            }
            (true, None) => {
                let message = format!("balancer {} has no members: there is nothing to test", report.balancer);
                Err(Refused::new(Code::NothingToTest, message))
            }
            (false, _) => Ok(Self { open, heard, settled: false }),
        }
    }

    /// The next result, or nothing once all are there and the board shows them.
    ///
    /// # Errors
    /// [`Refused`] where no result comes.
    pub(super) async fn next(&mut self) -> Result<Option<Tested>, Refused> {
        while !self.open.is_empty() {
            let heard = match timeout(SILENCE, self.heard.recv()).await {
                Ok(Ok(heard)) => heard,
                // What was missed were results as well; the board shows them.
                Ok(Err(RecvError::Lagged(_))) => continue,
                Ok(Err(RecvError::Closed)) => return Err(Refused::new(Code::Stopping, "the engine ends")),
                Err(_) => {
                    let left: Vec<&str> = self.open.iter().map(String::as_str).collect();
                    let message = format!("no result of {} in {} s", left.join(", "), SILENCE.as_secs());
                    return Err(Refused::new(Code::Timeout, message));
                }
            };
            if let Some(tested) = self.take(&heard) {
                return Ok(Some(tested));
            }
        }
        if !std::mem::replace(&mut self.settled, true) {
            sleep(SETTLE).await;
        }
        Ok(None)
    }

    fn take(&mut self, Heard { story, attempts }: &Heard) -> Option<Tested> {
        let Story::Measured { member, job, outcome } = story else { return None };
        if !self.open.contains(member.as_str()) || matches!(job.kind, Kind::Direct | Kind::Second) {
            return None;
        }
        if job.kind != Kind::Test || job.attempt >= *attempts {
            self.open.remove(member.as_str());
        }
        Some(Tested { member: member.to_string(), ok: outcome.good(), text: story.to_string() })
    }
}
