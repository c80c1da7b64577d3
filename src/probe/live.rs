//! Measuring for real: HTTP and DNS through the member, and plain TCP to its server.

use std::sync::Arc;

use tokio::time::Instant;

use super::dial::{connect, refused};
use super::dns::question;
use super::fetch::{fetch, ping};
use super::measure::{By, Failure, Measure};
use super::responder::Responders;
use super::trust::Trust;
use super::what::{Test, What};
use crate::addr::Target;
use crate::balance::Sample;
use crate::flow::{BoxFuture, Services};

/// Measures through the services of the running engine.
pub struct Live {
    services: Arc<dyn Services>,
    trust: Trust,
    responders: Responders,
}

impl Live {
    /// Measures by these services.
    #[must_use]
    pub fn new(services: Arc<dyn Services>) -> Self {
        Self { services, trust: Trust::default(), responders: Responders::default() }
    }

    /// The same, with chosen certificates.
    #[cfg(test)]
    pub fn trusting(services: Arc<dyn Services>, trust: Trust) -> Self {
        Self { trust, ..Self::new(services) }
    }

    async fn test(&self, by: Option<By<'_>>, test: &Test) -> Result<Sample, Failure> {
        let Some(through) = by.filter(|_| test.responder) else {
            return fetch(&self.services, &self.trust, by, test).await;
        };
        if let Some(own) = self.responders.instead(&self.services, through, test).await {
            match fetch(&self.services, &self.trust, by, &own).await {
                Err(failure) if !self.responders.blames(&self.services, through, &failure).await => {}
                ended => return ended,
            }
        }
        let ended = fetch(&self.services, &self.trust, by, test).await;
        if ended.is_ok() {
            self.responders.lacks(through.tag);
        }
        ended
    }

    async fn connect(&self, server: &Target) -> Result<Sample, Failure> {
        let begin = Instant::now();
        let Err(error) = connect(&*self.services, server).await else {
            let time = begin.elapsed();
            return Ok(Sample { bytes: 0, time, dial: time, status: 0 });
        };
        Err(if refused(&error) { Failure::Refused(error.to_string()) } else { Failure::Dial(error.to_string()) })
    }
}

impl Measure for Live {
    fn measure<'a>(&'a self, by: Option<By<'a>>, what: &'a What) -> BoxFuture<'a, Result<Sample, Failure>> {
        match (what, by) {
            (What::Test(test), _) => Box::pin(self.test(by, test)),
            (What::Ping(page), _) => Box::pin(ping(&self.services, &self.trust, by, page)),
            (What::Tcp(server), _) => Box::pin(self.connect(server)),
            (What::Dns(query), Some(by)) => Box::pin(question(&self.services, by, query)),
            (What::Dns(_), None) => Box::pin(async { Err(Failure::Broken) }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
