//! Names to addresses, for whoever dials or routes.

use std::net::IpAddr;
use std::sync::Arc;

use super::house::House;
use crate::addr::DomainName;
use crate::dns::DnsError;
use crate::flow::{DialError, Services, Stage};

impl House {
    /// The addresses of a name, best first, never empty. That a name has none is nobody's fault but the name's, so no
    /// balancer holds it against a member. The flows of a question are not asked about again: the names in their way are the
    /// operating system's.
    pub(super) async fn addresses(&self, name: &DomainName) -> Result<Arc<[IpAddr]>, DialError> {
        let dns = &self.snapshot.dns;
        let found = if self.asks {
            dns.resolve_by_system(name).await
        } else {
            let house: Arc<dyn Services> = Arc::new(self.asking());
            dns.resolve(&house, name).await
        };
        found.map_err(|error: DnsError| DialError::target(Stage::Resolve, error))
    }
}
