//! What a name has, and how that came about: servers are asked as for a real flow, and nothing else is opened.

use std::sync::Arc;

use super::engine::Ready;
use super::house::House;
use super::life::Lease;
use crate::addr::DomainName;
use crate::dns::{Asked, Explained};
use crate::flow::Services;

impl Ready {
    /// The name servers in their order, as the configuration writes them.
    #[must_use]
    pub fn name_servers(&self) -> Vec<String> {
        self.shared.snapshot().dns.servers().map(ToString::to_string).collect()
    }

    /// The condition of the configuration's hosts at this place.
    #[must_use]
    pub fn hosts_rule(&self, at: usize) -> String {
        let hosts = self.plan.config.dns.as_ref().map(|dns| &dns.hosts.0);
        hosts.and_then(|hosts| hosts.get(at)).map_or_else(|| "?".into(), |(rule, _)| rule.to_string())
    }

    /// Looks a name up, by one server alone or by all, and tells how that went.
    pub async fn inquire(&self, name: &DomainName, asked: Asked, only: Option<usize>) -> Explained {
        let house = House::now(&self.shared, &Lease::under(&self.shared.end)).asking();
        let snapshot = Arc::clone(&house.snapshot);
        let house: Arc<dyn Services> = Arc::new(house);
        snapshot.dns.explain(&house, name, asked, only).await
    }
}
