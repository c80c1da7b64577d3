//! The two ports that break the import ring: what an outbound may ask of the house, and where inbounds deliver.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use super::error::DialError;
use super::flow::Flow;
use super::packets::BoxPackets;
use super::stream::BoxStream;
use crate::addr::{BalancerId, DomainName, Hop, OutboundId};

/// A boxed future; ports are called once a flow, never per byte.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// By which way to dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// As the rules say.
    Route,
    /// By this outbound.
    Outbound(OutboundId),
    /// By a member of this balancer.
    Balancer(BalancerId),
}

impl From<Hop> for Via {
    fn from(hop: Hop) -> Self {
        match hop {
            Hop::Outbound(id) => Self::Outbound(id),
            Hop::Balancer(id) => Self::Balancer(id),
        }
    }
}

/// Which addresses of a name a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What a client is told of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The addresses, which may be none.
    pub ips: Arc<[IpAddr]>,
    /// For how many seconds they are good.
    pub ttl: u32,
    /// The response code of DNS: 0, 3 where there is no such name, 2 where nobody could say.
    pub code: u16,
}

/// What an outbound may ask of the house. Given for one call, never kept.
pub trait Services: Send + Sync {
    /// The addresses of a name, best first, never empty: the `dns` section's hosts first, then its servers or the system.
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>>;

    /// The same for the name of a server, where nothing says that the `dns` section is to be asked: its hosts, then the
    /// operating system. What the section's servers need themselves would else lead through what it is needed for.
    fn resolve_server<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        self.resolve(name)
    }

    /// What a client that asks by DNS is told of a name; fake addresses are allowed. Here it is told that nobody could say.
    fn tell<'a>(&'a self, name: &'a DomainName, wanted: Wanted) -> BoxFuture<'a, Told> {
        let _ = (name, wanted);
        Box::pin(async { Told { ips: Arc::default(), ttl: 0, code: 2 } })
    }

    /// Whether the flow is itself a question of the `dns` section to one of its servers. Whoever answers questions must let
    /// it pass.
    fn is_question(&self) -> bool {
        false
    }

    /// The house for what outlives the call; none where that cannot be.
    fn lasting(&self) -> Option<Arc<dyn Services>> {
        None
    }

    /// A stream to the flow's destination by another way; `first` is written with or right behind the opening.
    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>>;

    /// An association by another way.
    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>>;
}

/// Where inbounds and mux servers deliver what they accepted. The future ends when the flow does.
pub trait Sink: Send + Sync {
    /// A byte stream whose target is known.
    fn stream(&self, flow: Flow, io: BoxStream) -> BoxFuture<'static, ()>;

    /// A client's datagrams.
    fn packets(&self, flow: Flow, io: BoxPackets) -> BoxFuture<'static, ()>;
}
