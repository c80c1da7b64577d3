//! What an outbound may ask of the house, answered from one snapshot.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use super::choose::{Because, Heading, head};
use super::house::House;
use super::presence::{Attended, Presence};
use super::reach::{closed, reach};
use super::snapshot::Exit;
use crate::addr::{DomainName, Host, Network, OutboundId, Target};
use crate::dns::{Asked, Families, Looked};
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Stage, Told, Via, Wanted};
use crate::model::config::Dest;
use crate::model::fields::DomainStrategy;
use crate::net::Families as Order;
use crate::outbound::by_address;

impl House {
    /// Opens a stream by an outbound.
    async fn connect(&self, by: OutboundId, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let exit = self.exit(by)?;
        self.trail.through(&exit.life);
        match self.addressed(exit, flow).await? {
            Some(flow) => exit.outbound.connect(self, &flow, first).await,
            None => exit.outbound.connect(self, flow, first).await,
        }
    }

    /// Opens an association by an outbound.
    async fn associate_by(&self, by: OutboundId, flow: &Flow) -> Result<BoxPackets, DialError> {
        let exit = self.exit(by)?;
        if !exit.outbound.carries(Network::Udp) {
            return Err(DialError::us(Stage::Policy, io::ErrorKind::Unsupported));
        }
        self.trail.through(&exit.life);
        let services: Arc<dyn Services> = Arc::new(self.clone());
        let packets = exit.outbound.associate(&services, flow).await?;
        let strategy = if flow.probe || self.asks { DomainStrategy::AsIs } else { exit.strategy };
        Ok(by_address(packets, &services, strategy, flow))
    }

    fn exit(&self, by: OutboundId) -> Result<&Exit, DialError> {
        self.snapshot.exit(by).ok_or_else(|| DialError::us(Stage::Policy, io::ErrorKind::NotFound))
    }

    /// The flow with an address in place of its name, where the outbound's `targetStrategy` wants that.
    async fn addressed(&self, exit: &Exit, flow: &Flow) -> Result<Option<Box<Flow>>, DialError> {
        let (Host::Domain(name), Some(_)) = (&flow.destination().host, exit.strategy.families()) else {
            return Ok(None);
        };
        if flow.probe || self.asks {
            return Ok(None);
        }
        let port = flow.destination().port;
        let found = Box::pin(self.addresses(name)).await;
        let families = Order::from(exit.strategy);
        match found.map(|ips| families.pick(&ips, port)) {
            Ok(mut found) if !found.is_empty() => {
                // A family that is second is there for names that lack the first.
                if families != Order::Any {
                    let first = found[0].is_ipv4();
                    found.retain(|at| at.is_ipv4() == first);
                }
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

    /// A stream to a destination, by whichever members it takes.
    pub(super) async fn stream(
        &self,
        flow: &Flow,
        first: &[u8],
        to: &Dest,
        because: Option<Because>,
    ) -> Result<(BoxStream, Option<Presence>), DialError> {
        reach(self, flow, to, because, |exit| Box::pin(self.connect(exit, flow, first))).await
    }

    /// An association to a destination, by whichever members it takes.
    pub(super) async fn association(
        &self,
        flow: &Flow,
        to: &Dest,
        because: Option<Because>,
    ) -> Result<(BoxPackets, Option<Presence>), DialError> {
        reach(self, flow, to, because, |exit| Box::pin(self.associate_by(exit, flow))).await
    }

    /// Where a flow goes that an outbound asks for; rules are told of.
    async fn heading(&self, via: Via, flow: &Flow) -> Result<(Dest, Option<Because>), DialError> {
        match via {
            Via::Outbound(id) => Ok((Dest::Outbound(id), None)),
            Via::Balancer(id) => Ok((Dest::Balancer(id), None)),
            Via::Route => match head(self, flow).await {
                Ok(Heading { to, because }) => Ok((to, Some(because))),
                Err(nowhere) => Err(closed(self, flow, nowhere)),
            },
        }
    }
}

impl Services for House {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(self.addresses(name))
    }

    fn resolve_server<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async move { self.asking().addresses(name).await })
    }

    fn tell<'a>(&'a self, name: &'a DomainName, wanted: Wanted) -> BoxFuture<'a, Told> {
        Box::pin(async move {
            let family = match wanted {
                Wanted::V4 => Families { v4: true, v6: false },
                Wanted::V6 => Families { v4: false, v6: true },
            };
            let house: Arc<dyn Services> = Arc::new(self.asking());
            match self.snapshot.dns.look(&house, name, Asked { families: family, fakes: true }).await {
                Ok(Looked { ips, ttl, .. }) => Told { ips, ttl, code: 0 },
                Err(error) => {
                    tracing::debug!(target: "dns", %error, "a client asked for {name}");
                    Told { ips: Arc::default(), ttl: 0, code: error.code() }
                }
            }
        })
    }

    fn is_question(&self) -> bool {
        self.asks
    }

    fn lasting(&self) -> Option<Arc<dyn Services>> {
        Some(Arc::new(self.clone()))
    }

    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async move {
            if let Via::Outbound(id) = via {
                return self.connect(id, flow, first).await;
            }
            let (to, because) = self.heading(via, flow).await?;
            let (io, presence) = self.stream(flow, first, &to, because).await?;
            Ok(match presence {
                Some(presence) => Box::new(Attended::new(io, presence, &flow.meter)),
                None => io,
            })
        })
    }

    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async move {
            if let Via::Outbound(id) = via {
                return self.associate_by(id, flow).await;
            }
            let (to, because) = self.heading(via, flow).await?;
            let (io, presence) = self.association(flow, &to, because).await?;
            Ok(match presence {
                Some(presence) => Box::new(Attended::new(io, presence, &flow.meter)),
                None => io,
            })
        })
    }
}
