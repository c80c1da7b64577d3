//! The house for measurements, which outlive any flow.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::house::House;
use super::life::{Lease, Trail};
use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::addr::DomainName;
use crate::flow::{BoxFuture, BoxPackets, BoxStream, DialError, Flow, Services, Via};

/// Answers from the snapshot that the measured members belong to, not from the one of the moment: members are named by
/// their places, and those change with the config.
#[derive(Debug)]
pub(super) struct Bench {
    shared: Arc<Shared>,
    snapshot: ArcSwap<Snapshot>,
    lease: Arc<Lease>,
}

impl Bench {
    pub(super) fn new(shared: Arc<Shared>, snapshot: Arc<Snapshot>) -> Self {
        Self { lease: Lease::under(&shared.end), shared, snapshot: ArcSwap::new(snapshot) }
    }

    /// Goes over to a snapshot that has the same members at the same places.
    pub(super) fn renew(&self, snapshot: Arc<Snapshot>) {
        self.snapshot.store(snapshot);
    }

    fn house(&self) -> House {
        let trail = Trail::new(Arc::clone(&self.lease));
        House { shared: Arc::clone(&self.shared), snapshot: self.snapshot.load_full(), trail, asks: false }
    }
}

impl Services for Bench {
    fn resolve<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async move { self.house().addresses(name).await })
    }

    fn resolve_server<'a>(&'a self, name: &'a DomainName) -> BoxFuture<'a, Result<Arc<[IpAddr]>, DialError>> {
        Box::pin(async move { self.house().asking().addresses(name).await })
    }

    fn dial<'a>(&'a self, via: Via, flow: &'a Flow, first: &'a [u8]) -> BoxFuture<'a, Result<BoxStream, DialError>> {
        Box::pin(async move { self.house().dial(via, flow, first).await })
    }

    fn associate<'a>(&'a self, via: Via, flow: &'a Flow) -> BoxFuture<'a, Result<BoxPackets, DialError>> {
        Box::pin(async move { self.house().associate(via, flow).await })
    }
}
