//! How a member is measured, as seen by the driver: a trait, so that rounds are tested without a network.

use std::time::Duration;

use super::plan::{BadUrl, Order};
use crate::addr::Target;
use crate::balance::{Attempt, Member, Sample};
use crate::flow::BoxFuture;

/// Makes single measurements. Limits of time are kept by whoever calls; a dropped future stops the measurement.
pub trait Measure: Send + Sync {
    /// Fetches the order's URL through the member, on a new connection.
    fn fetch<'a>(&'a self, member: &'a Member, order: &'a Order) -> BoxFuture<'a, Result<Sample, Failure>>;

    /// Opens and closes a plain TCP connection.
    fn connect<'a>(&'a self, endpoint: &'a Target) -> BoxFuture<'a, Result<(), Failure>>;
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The member could not be dialed.
    #[error("{0}")]
    Dial(String),
    /// The response broke HTTP, TLS or off.
    #[error("{0}")]
    Http(String),
    /// A redirect led to something that cannot be fetched.
    #[error("redirected to a bad place: {0}")]
    Redirect(#[from] BadUrl),
    /// More redirects than allowed.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// A status that does not count as success.
    #[error("status {0} does not count as success")]
    Status(u16),
    /// The private socket could not be opened.
    #[error("no private socket: {0}")]
    Tap(#[from] std::io::Error),
    /// Too slow.
    #[error("not finished within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The measurement itself broke.
    #[error("the measurement broke")]
    Broken,
}

/// How a measurement ended, and how long it took in all.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What came of it.
    pub result: Result<T, Failure>,
    /// From its start to its end.
    pub took: Duration,
}

impl<T> Outcome<T> {
    /// The measurement panicked or could not begin.
    #[must_use]
    pub fn broken() -> Self {
        Self { result: Err(Failure::Broken), took: Duration::ZERO }
    }
}

impl Outcome<Sample> {
    /// The outcome as a round counts it.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        self.result.as_ref().map_or(Attempt::Failed(self.took), |&sample| Attempt::Done(sample))
    }
}
