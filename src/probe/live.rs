//! Measuring for real: HTTP through the member, and plain TCP to its server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;

use super::fetch::fetch;
use super::measure::{Failure, Measure};
use super::plan::Order;
use super::trust::Trust;
use crate::addr::{Host, Target};
use crate::balance::{Member, Sample};
use crate::flow::{BoxFuture, Services};

/// Measures through the services of the running engine.
pub struct Live {
    services: Arc<dyn Services>,
    trust: Trust,
}

impl Live {
    /// Measures by these services.
    #[must_use]
    pub fn new(services: Arc<dyn Services>) -> Self {
        Self { services, trust: Trust::default() }
    }

    /// The same, with chosen certificates.
    #[cfg(test)]
    pub fn trusting(services: Arc<dyn Services>, trust: Trust) -> Self {
        Self { services, trust }
    }

    async fn addresses(&self, host: &Host) -> Result<Arc<[IpAddr]>, Failure> {
        match host {
            Host::Ip(ip) => Ok(Arc::new([*ip])),
            Host::Domain(name) => self.services.resolve(name).await.map_err(|error| Failure::Dial(error.to_string())),
        }
    }
}

impl Measure for Live {
    fn fetch<'a>(&'a self, member: &'a Member, order: &'a Order) -> BoxFuture<'a, Result<Sample, Failure>> {
        Box::pin(fetch(&self.services, &self.trust, member, order))
    }

    /// Each address in the resolver's order; the first that answers will do.
    fn connect<'a>(&'a self, endpoint: &'a Target) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let mut last = Failure::Dial("the name has no address".into());
            for &ip in self.addresses(&endpoint.host).await?.iter() {
                match TcpStream::connect(SocketAddr::new(ip, endpoint.port)).await {
                    Ok(_) => return Ok(()),
                    Err(error) => last = Failure::Dial(error.to_string()),
                }
            }
            Err(last)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
