//! What an outbound may ask of the house, answered from one snapshot.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use super::choose::{Nowhere, choose, head};
use super::shared::Shared;
use super::snapshot::{Exit, Snapshot};
use super::tell;
use crate::addr::{BalancerId, DomainName, Host, Network, OutboundId, Target};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Via};
use crate::model::config::Dest;
use crate::net::Families;

/// The house as one flow sees it.
#[derive(Debug, Clone)]
pub(super) struct House {
    pub(super) shared: Arc<Shared>,
    pub(super) snapshot: Arc<Snapshot>,
}

impl House {
    /// The house of this moment.
    pub(super) fn now(shared: &Arc<Shared>) -> Self {
        Self { snapshot: shared.snapshot(), shared: Arc::clone(shared) }
    }

    /// Opens a stream by an outbound.
    pub(super) async fn connect(&self, by: OutboundId, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let exit = self.exit(by)?;
        match self.addressed(exit, flow).await? {
            Some(flow) => exit.outbound.connect(self, &flow, first).await,
            None => exit.outbound.connect(self, flow, first).await,
        }
    }

    /// Opens an association by an outbound.
    pub(super) async fn associate_by(&self, by: OutboundId, flow: &Flow) -> Result<BoxPackets, DialError> {
        let exit = self.exit(by)?;
        if !exit.outbound.carries(Network::Udp) {
            return Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported));
        }
        let services: Arc<dyn Services> = Arc::new(self.clone());
        exit.outbound.associate(&services, flow).await
    }

    fn exit(&self, by: OutboundId) -> Result<&Exit, DialError> {
        self.snapshot.exit(by).ok_or_else(|| DialError::us(Stage::Policy, io::ErrorKind::NotFound))
    }

    /// The flow with an address in place of its name, where the outbound's `targetStrategy` wants that.
    async fn addressed(&self, exit: &Exit, flow: &Flow) -> Result<Option<Box<Flow>>, DialError> {
        let (Host::Domain(name), Some(_)) = (&flow.destination().host, exit.strategy.families()) else {
            return Ok(None);
        };
        if flow.probe {
            return Ok(None);
        }
        let port = flow.destination().port;
        let found = Box::pin(self.snapshot.resolver.resolve(name)).await;
        let found = found.map(|ips| Families::from(exit.strategy).pick(&ips, port));
        match found {
            Ok(found) if !found.is_empty() => {
                let at = found[rand::random_range(0..found.len())];
                let mut flow = Box::new(flow.clone());
                flow.route_target = Some(Target::from(at));
                Ok(Some(flow))
            }
            Err(error) if exit.strategy.forces() => Err(error),
            Ok(_) if exit.strategy.forces() => Err(DialError::target(Stage::Resolve, io::ErrorKind::AddrNotAvailable)),
            _ => Ok(None),
        }
    }

    /// The outbound for a flow that came back to the rules.
    async fn again(&self, flow: &Flow) -> Result<OutboundId, DialError> {
        let chosen = match head(&self.snapshot, flow).await {
            Ok(heading) => {
                let chosen = choose(&self.shared, &self.snapshot, &heading.to, flow).await;
                chosen.inspect(|choice| tell::accepted(&self.snapshot, flow, heading.because, *choice))
            }
            Err(nowhere) => Err(nowhere),
        };
        chosen.map(|choice| choice.exit).map_err(|nowhere| self.closed(flow, nowhere))
    }

    /// The outbound of the member that a balancer would choose now.
    async fn member(&self, id: BalancerId, flow: &Flow) -> Result<OutboundId, DialError> {
        let chosen = choose(&self.shared, &self.snapshot, &Dest::Balancer(id), flow).await;
        chosen.map(|choice| choice.exit).map_err(|nowhere| self.closed(flow, nowhere))
    }

    fn closed(&self, flow: &Flow, nowhere: Nowhere) -> DialError {
        tell::refused(&self.shared, flow, &nowhere);
        DialError::us(Stage::Policy, io::Error::other(nowhere))
    }
}

impl Services for House {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(self.snapshot.resolver.resolve(name))
    }

    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async move {
            let by = match via {
                Via::Outbound(id) => id,
                Via::Balancer(id) => self.member(id, flow).await?,
                Via::Route => self.again(flow).await?,
            };
            self.connect(by, flow, first).await
        })
    }

    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async move {
            let by = match via {
                Via::Outbound(id) => id,
                Via::Balancer(id) => self.member(id, flow).await?,
                Via::Route => self.again(flow).await?,
            };
            self.associate_by(by, flow).await
        })
    }
}

/// The house for measurements, which outlive any flow: each call sees the house of its moment.
#[derive(Debug)]
pub(super) struct Always(pub(super) Arc<Shared>);

impl Services for Always {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async move { House::now(&self.0).snapshot.resolver.resolve(name).await })
    }

    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async move { House::now(&self.0).dial(via, flow, first).await })
    }

    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async move { House::now(&self.0).associate(via, flow).await })
    }
}
