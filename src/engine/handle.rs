//! A hold on a running engine, for whoever shows it or gives it orders.

use std::sync::Arc;

use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::addr::Tag;
use crate::balance::{Moment, Order, Refusal, Report};
use crate::model::config::Dest;
use crate::probe::NotDone;

/// A running engine. Each call sees the engine of its moment: a reload changes what there is.
#[derive(Debug, Clone)]
pub struct Handle(pub(super) Arc<Shared>);

impl Handle {
    /// What the balancers and the HTTP services know now.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        let (snapshot, now) = (self.0.snapshot(), self.now());
        let report = |group: &super::snapshot::Group| {
            let fallback = group.fallback.as_ref().map(|to| snapshot.tag_of(to));
            Report::of(&group.balancer, fallback.as_ref().map(Tag::as_str), now)
        };
        let services = self.0.web.load_full();
        let services = services.iter().flat_map(|services| services.reports());
        snapshot.groups.iter().map(report).chain(services).collect()
    }

    /// Gives an order to an HTTP service; absent: there is none of that name.
    pub fn order_service(&self, service: &Tag, order: &Order) -> Option<Result<(), Refusal>> {
        self.0.web.load_full()?.order(service, order)
    }

    /// Gives an order to a balancer.
    ///
    /// # Errors
    /// [`NotDone`] where it cannot be followed; nothing was changed then.
    pub async fn order(&self, balancer: &Tag, order: Order) -> Result<(), NotDone> {
        match self.0.prober.load_full() {
            Some(prober) => prober.order(balancer, order).await,
            None => Err(NotDone::Stopping),
        }
    }

    /// This moment on the clock of the boards. Before anything is probed there is nothing whose age could be told.
    fn now(&self) -> Moment {
        self.0.prober.load().as_ref().map(|prober| prober.now()).unwrap_or_default()
    }
}

impl Snapshot {
    /// A tag for people: of an outbound, a balancer, or of what does not exist.
    fn tag_of(&self, dest: &Dest) -> Tag {
        match dest {
            Dest::Outbound(id) => self.exit(*id).map(|exit| exit.tag.clone()),
            Dest::Balancer(id) => self.group(*id).map(|group| group.balancer.tag().clone()),
            Dest::Closed(tag) => Some(tag.clone()),
        }
        .unwrap_or_default()
    }
}
