//! Names to addresses: hosts first, then servers in their order.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::error::DnsError;
use super::family::Families;
use super::hosts::{Hosts, Told};
use super::plan::{Plan, Step};
use super::server::Server;
use crate::addr::DomainName;
use crate::flow::Services;
use crate::geo::{CompileError, Lists};
use crate::model::dns::{Dns as Written, DnsServer, ServerForm};

/// All of the `dns` section that resolves names.
#[derive(Debug)]
pub struct Dns {
    hosts: Hosts,
    plan: Plan,
    servers: Box<[Arc<Server>]>,
    families: Families,
    parallel: bool,
}

impl Dns {
    /// Makes what the section says; without one the operating system is asked. Servers that are equal to those of `before`
    /// go on with what they know.
    ///
    /// # Errors
    /// [`CompileError`] for an expression that does not compile, and for a geodata list that is not among `lists`.
    pub fn new(written: Option<&Written>, lists: &Lists, before: Option<&Self>) -> Result<Self, CompileError> {
        let mut dns = written.cloned().unwrap_or_default();
        // Only clients are given fake addresses.
        dns.servers.retain(|server| server.spec.form() != Some(ServerForm::Fake));
        if dns.servers.is_empty() {
            let mut system = DnsServer::default();
            system.spec.address = "localhost".to_owned();
            dns.servers.push(system);
        }
        let old = before.map_or(&[][..], |before| &before.servers);
        let made = dns.servers.iter().map(|server| {
            // Who cannot be asked is not passed over: the names that are his would go to servers that are not meant for them.
            let form = match server.spec.form() {
                None | Some(ServerForm::Other(_)) => ServerForm::System,
                Some(form) => form,
            };
            Server::new(&dns, server, form, lists, old).map(Arc::new)
        });
        Ok(Self {
            servers: made.collect::<Result<_, _>>()?,
            hosts: Hosts::compile(&dns.hosts, lists)?,
            plan: Plan::compile(&dns, lists)?,
            families: Families::of(dns.query_strategy),
            parallel: dns.enable_parallel_query,
        })
    }

    /// The addresses of a name, best first, never empty. Ready at once where a server's answer is kept.
    ///
    /// # Errors
    /// [`DnsError`]: what the name lacks if a server says so, else how the first server failed.
    pub async fn resolve(&self, house: &Arc<dyn Services>, name: &DomainName) -> Result<Arc<[IpAddr]>, DnsError> {
        let name = match self.told(name) {
            Ok(ips) => return ips,
            Err(name) => name,
        };
        let mut order = self.plan.order(&name);
        // Who is absent costs its time once; while it is away, others are asked before it.
        if order.len() > 1 {
            order.sort_by_key(|step| self.servers.get(step.server).is_some_and(|server| server.is_absent()));
        }
        let found = if self.parallel {
            self.at_once(house, &name, &order).await
        } else {
            self.in_turn(house, &name, &order).await
        };
        found.map(Into::into)
    }

    /// The same by the operating system, for the names of servers: asking one of them could ask for itself.
    ///
    /// # Errors
    /// As for [`Self::resolve`].
    pub async fn resolve_by_system(&self, name: &DomainName) -> Result<Arc<[IpAddr]>, DnsError> {
        let name = match self.told(name) {
            Ok(ips) => return ips,
            Err(name) => name,
        };
        let found = tokio::net::lookup_host((name.as_str(), 0)).await;
        let failed =
            |error: std::io::Error| DnsError::Unreachable { server: "localhost".into(), why: error.to_string() };
        let found = found.map_err(failed)?.map(|at| at.ip().to_canonical());
        let ips: Arc<[IpAddr]> = found.filter(|ip| self.families.hold(*ip)).collect();
        if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok(ips) }
    }

    /// What the hosts say, or the name that servers are to be asked about.
    fn told(&self, name: &DomainName) -> Result<Result<Arc<[IpAddr]>, DnsError>, DomainName> {
        match self.hosts.look(name) {
            Told::Nothing(name) => Err(name),
            Told::Empty => Ok(Err(DnsError::NoAddress)),
            Told::Ips(ips) => {
                let ips: Arc<[IpAddr]> = ips.into_iter().filter(|ip| self.families.hold(*ip)).collect();
                Ok(if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok(ips) })
            }
        }
    }

    async fn in_turn(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        order: &[Step],
    ) -> Result<Vec<IpAddr>, DnsError> {
        let mut failure = Failure::default();
        for step in order {
            let Some(server) = self.servers.get(step.server) else { continue };
            match server.ask(house, name, self.families).await {
                Ok(ips) => return Ok(ips),
                Err(error) => failure.note(error),
            }
        }
        Err(failure.said())
    }

    /// All at once: the fastest of the first group counts, and a later group only once all before it have failed.
    async fn at_once(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        order: &[Step],
    ) -> Result<Vec<IpAddr>, DnsError> {
        let mut asked = JoinSet::new();
        for (place, step) in order.iter().enumerate() {
            let Some(server) = self.servers.get(step.server).cloned() else { continue };
            let (house, name, families) = (Arc::clone(house), name.clone(), self.families);
            asked.spawn(async move { (place, server.ask(&house, &name, families).await) });
        }
        let mut open: Vec<bool> = vec![true; order.len()];
        let mut found: Option<(usize, Vec<IpAddr>)> = None;
        let mut failure = Failure::default();
        while let Some(Ok((place, outcome))) = asked.join_next().await {
            open[place] = false;
            match outcome {
                Ok(ips)
                    if found
                        .as_ref()
                        .is_none_or(|(best, _)| order[*best].group != order[place].group && place < *best) =>
                {
                    found = Some((place, ips));
                }
                Ok(_) => {}
                Err(error) => failure.note(error),
            }
            if let Some((best, _)) = &found {
                let earlier = |at: usize| at < *best && order[at].group != order[*best].group;
                if !(0..order.len()).any(|at| open[at] && earlier(at)) {
                    break;
                }
            }
        }
        found.map(|(_, ips)| ips).ok_or_else(|| failure.said())
    }
}

/// What is told of several failures: that the name lacks something if a server says so, else the first.
#[derive(Default)]
struct Failure(Option<DnsError>);

impl Failure {
    fn note(&mut self, error: DnsError) {
        match &self.0 {
            Some(known) if known.is_final() || !error.is_final() => {}
            _ => self.0 = Some(error),
        }
    }

    fn said(self) -> DnsError {
        self.0.unwrap_or(DnsError::NoAddress)
    }
}
