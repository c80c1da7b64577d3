//! Names to addresses: hosts first, then servers in their order.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::time::Instant;

use super::ask::fault::Fault;
use super::error::{DnsError, Unbuilt};
use super::family::Families;
use super::given::Given;
use super::hosts::{Hosts, Told};
use super::look::{Asked, By, Looked};
use super::plan::{Plan, Step, Why};
use super::server::{Found, Server};
use super::system::{self, System, Unknown};
use super::together::Together;
use super::trace::{Considered, Explained, Trace};
use crate::addr::DomainName;
use crate::flow::Services;
use crate::model::dns::{Dns as Written, DnsServer};

/// All of the `dns` section that resolves names.
#[derive(Debug)]
pub struct Dns {
    hosts: Hosts,
    plan: Plan,
    /// Those of the section. Where it has none that everybody may ask, the operating system stands behind them.
    servers: Box<[Arc<Server>]>,
    system: Arc<System>,
    families: Families,
    parallel: bool,
}

/// For how many seconds the hosts are good (Xray's number).
const HOSTS_TTL: u32 = 10;

impl Dns {
    /// Makes what the section says; without one the operating system is asked. Servers that are equal to those of `before`
    /// go on with what they know.
    ///
    /// # Errors
    /// [`Unbuilt`] for a server that cannot be asked, an expression that does not compile, and a geodata list that is not
    /// among those given.
    pub fn new(written: Option<&Written>, given: Given<'_>, before: Option<&Self>) -> Result<Self, Unbuilt> {
        let none = Written::default();
        let dns = written.unwrap_or(&none);
        let old = before.map_or(&[][..], |before| &before.servers);
        let system = before.map_or_else(Arc::default, |before| Arc::clone(&before.system));
        let made = |server: &DnsServer| Server::new(dns, server, given, &system, old).map(Arc::new);
        let mut servers = dns.servers.iter().map(made).collect::<Result<Vec<_>, _>>()?;
        if servers.iter().all(|server| server.is_fake()) {
            let mut behind = DnsServer::default();
            behind.spec.address = "localhost".to_owned();
            behind.spec.timeout.0 = system::LIMIT;
            servers.push(made(&behind)?);
        }
        Ok(Self {
            servers: servers.into(),
            system,
            hosts: Hosts::compile(&dns.hosts, given.lists)?,
            plan: Plan::compile(dns, given.lists)?,
            families: Families::of(dns.query_strategy),
            parallel: dns.enable_parallel_query,
        })
    }

    /// The addresses of a name that can be dialed, best first, never empty. Ready at once where a server's answer is kept.
    ///
    /// # Errors
    /// [`DnsError`]: what the name lacks if a server says so, else how the first server failed.
    pub async fn resolve(&self, house: &Arc<dyn Services>, name: &DomainName) -> Result<Arc<[IpAddr]>, DnsError> {
        self.find(house, name, Asked::REAL, Watch::NONE).await.map(|looked| looked.ips)
    }

    /// The same for whoever wants some families only, fake addresses, or to know for how long the answer is good.
    ///
    /// # Errors
    /// As for [`Self::resolve`]; [`DnsError::code`] is the response code for it.
    pub async fn look(&self, house: &Arc<dyn Services>, name: &DomainName, asked: Asked) -> Result<Looked, DnsError> {
        self.find(house, name, asked, Watch::NONE).await
    }

    /// The servers in their order, as the configuration writes them.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| &*server.name)
    }

    /// Looks a name up and tells how that went. With `only`, the server at this place alone is asked.
    pub async fn explain(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        asked: Asked,
        only: Option<usize>,
    ) -> Explained {
        let (trace, begun) = (Arc::<Trace>::default(), Instant::now());
        let families = asked.families.and(self.families);
        let hosts = self.hosts.explain(name);
        let asked_about = self.told(name, families).err();
        let servers = asked_about.as_ref().map(|name| self.considered(name, asked, only)).unwrap_or_default();
        let outcome = self.find(house, name, asked, Watch { trace: Some(&trace), only }).await;
        let heard = trace.heard();
        Explained { families, hosts, name: asked_about, servers, heard, outcome, took: begun.elapsed() }
    }

    fn considered(&self, name: &DomainName, asked: Asked, only: Option<usize>) -> Vec<Considered> {
        let mut all: Vec<(usize, Why)> = self.plan.explain(name);
        if let Some(only) = only {
            all = (0..self.servers.len()).map(|at| (at, if at == only { Why::Chosen } else { Why::Others })).collect();
        }
        for (at, why) in &mut all {
            if why.is_asked() && !asked.fakes && self.servers.get(*at).is_some_and(|server| server.is_fake()) {
                *why = Why::Fake;
            }
        }
        if !all.iter().any(|(_, why)| why.is_asked()) {
            all.extend(self.system().map(|step| (step.server, Why::Last)));
        }
        let asked = all.iter().filter(|(_, why)| why.is_asked()).count();
        let one = |(place, why): (usize, Why)| {
            let server = self.servers.get(place)?;
            let rule = if let Why::Rule(at) = why { server.rule(at) } else { None };
            let absent = asked > 1 && why.is_asked() && server.is_absent();
            Some(Considered { place, server: Arc::clone(&server.name), why, rule, absent })
        };
        let mut all: Vec<Considered> = all.into_iter().filter_map(one).collect();
        all.sort_by_key(|one| (!one.why.is_asked(), one.absent));
        all
    }

    /// The same by the operating system, for the names of servers: asking one of them could ask for itself.
    ///
    /// # Errors
    /// As for [`Self::resolve`].
    pub async fn resolve_by_system(&self, name: &DomainName) -> Result<Arc<[IpAddr]>, DnsError> {
        let name = match self.told(name, self.families) {
            Ok(looked) => return looked.map(|looked| looked.ips),
            Err(name) => name,
        };
        let server = || "localhost".into();
        let found = self.system.look(&name, system::LIMIT).await.map_err(|why| match why {
            Unknown::Failed(why) => DnsError::Unreachable { server: server(), why: Fault::Io(why.to_string()) },
            Unknown::Silent => DnsError::Silent { server: server(), limit: system::LIMIT },
        })?;
        let ips: Arc<[IpAddr]> = found.iter().copied().filter(|ip| self.families.hold(*ip)).collect();
        if ips.is_empty() { Err(DnsError::NoAddress) } else { Ok(ips) }
    }

    /// What the hosts say, or the name that servers are to be asked about.
    fn told(&self, name: &DomainName, wants: Families) -> Result<Result<Looked, DnsError>, DomainName> {
        match self.hosts.look(name) {
            Told::Nothing(name) => Err(name),
            Told::Empty => Ok(Err(DnsError::NoAddress)),
            Told::Code(code) => Ok(Err(DnsError::Hosts { code })),
            Told::Ips(ips) => {
                let ips: Arc<[IpAddr]> = ips.into_iter().filter(|ip| wants.hold(*ip)).collect();
                let looked = Looked { ips, ttl: HOSTS_TTL, by: By::Hosts };
                Ok(if looked.ips.is_empty() { Err(DnsError::NoAddress) } else { Ok(looked) })
            }
        }
    }

    async fn find(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        asked: Asked,
        watch: Watch<'_>,
    ) -> Result<Looked, DnsError> {
        let Watch { trace, only } = watch;
        let wants = asked.families.and(self.families);
        if wants.is_empty() {
            return Err(DnsError::NoAddress);
        }
        let name = match self.told(name, wants) {
            Ok(looked) => return looked,
            Err(name) => name,
        };
        let order = match only {
            Some(server) => vec![Step { server, matched: false, group: 0 }],
            None => self.order(&name, asked),
        };
        let asked = Asked { families: wants, ..asked };
        let (place, (ips, ttl)) = if self.parallel {
            self.at_once(house, &name, asked, &order, trace).await?
        } else {
            self.in_turn(house, &name, asked, &order, trace).await?
        };
        let by = By::Server(order.get(place).map_or(usize::MAX, |step| step.server));
        Ok(Looked { ips: ips.into(), ttl, by })
    }

    /// Whom to ask about a name, in which order.
    fn order(&self, name: &DomainName, asked: Asked) -> Vec<Step> {
        let mut order = self.plan.order(name);
        if !asked.fakes {
            order.retain(|step| self.servers.get(step.server).is_some_and(|server| !server.is_fake()));
        }
        if order.is_empty() {
            order.extend(self.system());
        }
        // Who is absent costs its time once; while it is away, others are asked before it.
        if order.len() > 1 {
            order.sort_by_key(|step| self.servers.get(step.server).is_some_and(|server| server.is_absent()));
        }
        order
    }

    /// The operating system behind servers that only clients may ask, or none.
    fn system(&self) -> Option<Step> {
        let (last, others) = self.servers.split_last()?;
        let behind = !last.is_fake() && others.iter().all(|server| server.is_fake());
        behind.then_some(Step { server: others.len(), matched: false, group: u16::MAX })
    }

    async fn in_turn(
        &self,
        house: &Arc<dyn Services>,
        name: &DomainName,
        asked: Asked,
        order: &[Step],
        trace: Option<&Arc<Trace>>,
    ) -> Result<(usize, Found), DnsError> {
        let mut failure = Failure::default();
        for (place, step) in order.iter().enumerate() {
            let Some(server) = self.servers.get(step.server) else { continue };
            match server.ask(house, name, asked, trace.map(|trace| (&**trace, step.server))).await {
                Ok(found) => return Ok((place, found)),
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
        asked: Asked,
        order: &[Step],
        trace: Option<&Arc<Trace>>,
    ) -> Result<(usize, Found), DnsError> {
        let mut asking = Together::new(order.iter().map(|step| async move {
            let server = self.servers.get(step.server).ok_or(DnsError::NoAddress)?;
            server.ask(house, name, asked, trace.map(|trace| (&**trace, step.server))).await
        }));
        let mut open: Vec<bool> = vec![true; order.len()];
        let mut found: Option<(usize, Found)> = None;
        let mut failure = Failure::default();
        while let Some((place, outcome)) = asking.next().await {
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
        found.ok_or_else(|| failure.said())
    }
}

/// What an explanation wants beside the answer.
#[derive(Clone, Copy)]
struct Watch<'a> {
    trace: Option<&'a Arc<Trace>>,
    /// The server that is asked alone.
    only: Option<usize>,
}

impl Watch<'_> {
    const NONE: Self = Self { trace: None, only: None };
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
