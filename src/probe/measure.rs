//! How a member is measured, as seen by the driver: a trait, so that rounds are tested without a network.

use std::time::Duration;

use super::url::BadUrl;
use super::what::What;
use crate::addr::{Hop, Tag};
use crate::balance::{Fail, Sample};
use crate::flow::BoxFuture;

/// By whom a measurement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By<'a> {
    /// Its tag.
    pub tag: &'a Tag,
    /// Where it leads.
    pub hop: Hop,
}

/// Makes single measurements. Limits of time are kept by whoever calls; a dropped future stops the measurement.
pub trait Measure: Send + Sync {
    /// Measures through a member, or past all of them, on new connections.
    fn measure<'a>(&'a self, by: Option<By<'a>>, what: &'a What) -> BoxFuture<'a, Result<Sample, Failure>>;
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The member could not be dialed.
    #[error("{0}")]
    Dial(String),
    /// The member refused at once.
    #[error("{0}")]
    Refused(String),
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

impl From<Failure> for Fail {
    fn from(failure: Failure) -> Self {
        let text = || failure.to_string().into();
        match failure {
            Failure::Timeout(limit) => Self::Timeout(limit),
            Failure::Refused(_) => Self::Refused(text()),
            Failure::Http(_) | Failure::Redirect(_) | Failure::Redirects(_) | Failure::Status(_) => {
                Self::Answer(text())
            }
            Failure::Dial(_) | Failure::Tap(_) | Failure::Broken => Self::Other(text()),
        }
    }
}
