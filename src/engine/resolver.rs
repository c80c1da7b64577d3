//! Names to addresses: the fixed answers first, then the operating system.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use crate::addr::DomainName;
use crate::dns::{Hosts, Told};
use crate::flow::{DialError, Stage};
use crate::geo::{CompileError, Lists};
use crate::model::dns::{Dns, QueryStrategy};

/// Resolves names for rules and outbounds.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    hosts: Hosts,
    families: QueryStrategy,
}

impl Resolver {
    pub(super) fn new(dns: Option<&Dns>, lists: &Lists) -> Result<Self, CompileError> {
        dns.map_or_else(
            || Ok(Self::default()),
            |dns| Ok(Self { hosts: Hosts::compile(&dns.hosts, lists)?, families: dns.query_strategy }),
        )
    }

    /// The addresses of a name, best first, never empty. That a name has none is nobody's fault but the name's, so no
    /// balancer holds it against a member.
    pub(super) async fn resolve(&self, name: &DomainName) -> Result<Arc<[IpAddr]>, DialError> {
        let none =
            || DialError::target(Stage::Resolve, io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        let found: Vec<IpAddr> = match self.hosts.look(name) {
            Told::Ips(ips) => ips,
            Told::Empty => return Err(none()),
            Told::Nothing(name) => {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                let found = found.map_err(|error| DialError::target(Stage::Resolve, error))?;
                found.map(|at| at.ip().to_canonical()).collect()
            }
        };
        let found: Arc<[IpAddr]> = found.into_iter().filter(|ip| self.wants(*ip)).collect();
        if found.is_empty() { Err(none()) } else { Ok(found) }
    }

    fn wants(&self, ip: IpAddr) -> bool {
        match self.families {
            QueryStrategy::UseIpv4 => ip.is_ipv4(),
            QueryStrategy::UseIpv6 => ip.is_ipv6(),
            // The system's own resolver leaves out families that it has no route for.
            QueryStrategy::UseIp | QueryStrategy::UseSystem => true,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::dns::{HostAnswer, Hosts as Written};
    use crate::model::matcher::{Bare, DomainRule};

    fn resolver(families: QueryStrategy, answer: HostAnswer) -> Resolver {
        let hosts = Written(vec![(DomainRule::parse("a.example", Bare::Full).unwrap(), answer)]);
        Resolver::new(Some(&Dns { hosts, query_strategy: families, ..Dns::default() }), &Lists::default()).unwrap()
    }

    #[tokio::test]
    async fn hosts_answer_before_the_system_and_families_are_filtered() {
        let both = HostAnswer::Ips(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]);
        let name = DomainName::new("a.example").unwrap();
        let v6 = resolver(QueryStrategy::UseIpv6, both.clone()).resolve(&name).await.unwrap();
        assert_eq!(*v6, ["::1".parse::<IpAddr>().unwrap()]);
        assert_eq!(resolver(QueryStrategy::UseIp, both).resolve(&name).await.unwrap().len(), 2);
        let error = resolver(QueryStrategy::UseIp, HostAnswer::Code(3)).resolve(&name).await.unwrap_err();
        assert_eq!((error.stage, error.blame), (Stage::Resolve, crate::flow::Blame::Target));
    }

    #[tokio::test]
    async fn other_names_go_to_the_system() {
        let v4 = resolver(QueryStrategy::UseIpv4, HostAnswer::Alias("localhost".into()));
        let found = v4.resolve(&DomainName::new("a.example").unwrap()).await.unwrap();
        assert_eq!(*found, ["127.0.0.1".parse::<IpAddr>().unwrap()]);
    }
}
