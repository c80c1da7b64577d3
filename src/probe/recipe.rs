//! What is measured when, and of whom: the part of a balancer's settings by which balancers share a keeper.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;

use super::known::Known;
use super::url::{Address, BadUrl, origin_of, read_address, read_url};
use super::what::{Mean, Ping, Query, Test, What};
use crate::addr::{DomainName, Hop, Tag};
use crate::balance::{Plan, Rounds};
use crate::model::balancer::{Adaptive, Optimal, ProbeKind, Strategy, TcpProbe};
use crate::model::config::LinkedBalancer;
use crate::model::probing::{Observer, Probing};
use crate::model::services::{Observatory, Ping as Burst, Services};

/// How members are probed. Balancers for which this is equal share a keeper.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    pub(super) plan: Plan,
    /// Whether the plan measures everybody, or only tags that begin so.
    watched: Option<Vec<String>>,
    test: Option<Arc<What>>,
    light: Light,
    life: Life,
    second: Option<Arc<What>>,
    pub(super) direct: Option<Arc<What>>,
    pub(super) idle: Option<Duration>,
}

/// The plan's light probe.
#[derive(Debug, Clone, PartialEq)]
enum Light {
    None,
    /// A plain connect to the member's server; where it has none, this.
    Server(Arc<What>),
    Asks(Arc<What>),
}

/// The light probe of guards, where the plan makes none.
#[derive(Debug, Clone, PartialEq, Default)]
struct Life {
    /// That of an observatory, for the members it selects.
    observed: Option<(Vec<String>, Arc<What>)>,
    /// For the others.
    usual: Option<Arc<What>>,
}

impl Recipe {
    /// That of a balancer.
    ///
    /// # Errors
    /// [`BadUrl`] where an address cannot be asked.
    pub(super) fn of(linked: &LinkedBalancer, services: &Services) -> Result<Self, BadUrl> {
        let own = linked.probe.as_ref();
        match linked.probing(services) {
            Probing::Rounds => match &linked.strategy {
                Strategy::Optimal(optimal) => Self::rounds(&Speed::of(optimal, own), linked.observer(services)),
                Strategy::Adaptive(adaptive) => {
                    Self::rounds(&Speed::adaptive(adaptive, own), linked.observer(services))
                }
                _ => Self::rounds(&Speed::adaptive(&Adaptive::default(), own), linked.observer(services)),
            },
            Probing::Own(probe) => Self::own(probe),
            Probing::Observed(Observer::Plain(plain)) => Self::sweep(plain, Some(&plain.subjects)),
            Probing::Observed(Observer::Burst(burst)) => {
                let ping = burst.ping.clone().unwrap_or_default();
                Ok(Self { idle: burst.idle.map(|idle| idle.0), ..Self::burst(&ping, Some(&burst.subjects))? })
            }
            Probing::Usual if matches!(linked.strategy, Strategy::LeastLoad(_)) => Self::burst(&Burst::default(), None),
            Probing::Usual => Self::sweep(&Observatory::default(), None),
            Probing::Flows => Self::flows(own),
        }
    }

    /// Whether guards can ask anybody for a sign of life.
    pub(super) fn guards_probe(&self) -> bool {
        self.light != Light::None || self.life != Life::default()
    }

    /// Whether the plan measures a member. Selectors are for outbounds alone.
    pub(super) fn watches(&self, tag: &Tag, hop: Hop) -> bool {
        match &self.watched {
            None => self.plan != Plan::Nothing,
            Some(prefixes) => matches!(hop, Hop::Outbound(_)) && begins(tag, prefixes),
        }
    }

    /// What is done to a member.
    pub(super) fn mean(&self, tag: &Tag, known: &Known) -> Mean {
        let light = match (&self.light, &known.server) {
            (Light::None, _) => None,
            (Light::Server(_), Some(server)) => Some(Arc::new(What::Tcp(server.clone()))),
            (Light::Server(what), None) | (Light::Asks(what), _) => Some(Arc::clone(what)),
        };
        let observed = self.life.observed.as_ref().filter(|(prefixes, _)| begins(tag, prefixes));
        let life = observed.map(|(_, what)| what).or(self.life.usual.as_ref()).cloned();
        let mean = Mean { test: self.test.clone(), light, life, second: self.second.clone() };
        if known.only_udp { only_udp(mean) } else { mean }
    }

    fn nothing() -> Self {
        let (test, second, direct, idle) = (None, None, None, None);
        Self {
            plan: Plan::Nothing,
            watched: None,
            test,
            light: Light::None,
            life: Life::default(),
            second,
            direct,
            idle,
        }
    }

    fn rounds(speed: &Speed<'_>, observer: Option<Observer<'_>>) -> Result<Self, BadUrl> {
        let url = read_url(speed.url)?;
        let second = address(speed.probe_url)?;
        let origin = What::Ping(Ping::new(origin_of(&url), Method::HEAD));
        let observed = observer.map(|observer| Ok((observer.subjects().to_vec(), Arc::new(asked_by(observer)?))));
        let test = Test {
            url,
            max_bytes: speed.max_bytes,
            accept: speed.accept.0..=speed.accept.1,
            responder: speed.responder,
        };
        Ok(Self {
            plan: Plan::Rounds(Rounds { second: second.is_some(), ..speed.rounds.clone() }),
            test: Some(Arc::new(What::Test(test))),
            life: Life {
                observed: observed.transpose()?,
                usual: Some(second.clone().unwrap_or_else(|| Arc::new(origin))),
            },
            second,
            idle: speed.idle,
            ..Self::nothing()
        })
    }

    fn own(probe: &TcpProbe) -> Result<Self, BadUrl> {
        let asks = match (address(&probe.url)?, probe.kind) {
            (Some(what), ProbeKind::Dns) if !matches!(*what, What::Dns(_)) => {
                return Err(BadUrl::Question(probe.url.clone()));
            }
            (Some(what), _) => what,
            (None, ProbeKind::Dns) => Arc::new(usual_question()?),
            (None, _) => Arc::new(What::Ping(Ping::new(read_url(&Observatory::default().probe_url)?, Method::GET))),
        };
        let (interval, timeout) = (Duration::from_secs(probe.interval), Duration::from_secs(probe.timeout));
        let (light, spread) = match probe.kind {
            ProbeKind::Tcp | ProbeKind::Auto => (Light::Server(asks), false),
            ProbeKind::Http | ProbeKind::Dns => (Light::Asks(asks), true),
            ProbeKind::None => (Light::None, false),
        };
        let idle = probe.idle.map(|idle| idle.0);
        Ok(Self { plan: Plan::Beats { interval, timeout, spread }, light, idle, ..Self::nothing() })
    }

    fn sweep(plain: &Observatory, subjects: Option<&Vec<String>>) -> Result<Self, BadUrl> {
        let (interval, concurrent) = (plain.probe_interval.0, plain.concurrent);
        Ok(Self {
            plan: Plan::Sweep { interval, timeout: SWEEP_TIMEOUT, concurrent },
            watched: subjects.cloned(),
            light: Light::Asks(Arc::new(asked_by(Observer::Plain(plain))?)),
            idle: plain.idle.map(|idle| idle.0),
            ..Self::nothing()
        })
    }

    fn burst(ping: &Burst, subjects: Option<&Vec<String>>) -> Result<Self, BadUrl> {
        let direct = (!ping.connectivity.is_empty()).then(|| read_url(&ping.connectivity)).transpose()?;
        let direct = direct.map(|url| {
            Ok::<_, BadUrl>(Arc::new(What::Ping(Ping { body: body(ping), ..Ping::new(url, method(ping)?) })))
        });
        let direct = direct.transpose()?;
        Ok(Self {
            plan: Plan::Burst {
                interval: ping.interval.0,
                timeout: ping.timeout.0,
                sampling: u32::try_from(ping.sampling).unwrap_or(1).max(1),
                connectivity: direct.is_some(),
            },
            watched: subjects.cloned(),
            light: Light::Asks(Arc::new(asked(ping)?)),
            direct,
            ..Self::nothing()
        })
    }

    /// Nothing is probed; guards may ask an address, if one is given.
    fn flows(own: Option<&TcpProbe>) -> Result<Self, BadUrl> {
        let usual = own.map(|probe| address(&probe.url)).transpose()?.flatten();
        Ok(Self { life: Life { usual, observed: None }, ..Self::nothing() })
    }
}

/// What `optimal` and `adaptive` have in common.
struct Speed<'a> {
    url: &'a str,
    probe_url: &'a str,
    max_bytes: u64,
    accept: (u16, u16),
    responder: bool,
    idle: Option<Duration>,
    rounds: Rounds,
}

impl<'a> Speed<'a> {
    fn of(optimal: &'a Optimal, own: Option<&'a TcpProbe>) -> Self {
        Self {
            url: &optimal.url,
            probe_url: either(&optimal.probe_url, own),
            max_bytes: optimal.max_bytes,
            accept: (optimal.accept_status.from, optimal.accept_status.to),
            responder: optimal.responder,
            idle: optimal.idle.map(|idle| idle.0),
            rounds: Rounds {
                interval: optimal.interval.0,
                timeout: optimal.timeout.0,
                count: optimal.count,
                warmup: vec![],
                stagger: optimal.stagger.0,
                second: false,
            },
        }
    }

    fn adaptive(adaptive: &'a Adaptive, own: Option<&'a TcpProbe>) -> Self {
        Self {
            url: &adaptive.url,
            probe_url: either(&adaptive.probe_url, own),
            max_bytes: adaptive.max_bytes,
            accept: (adaptive.accept_status.from, adaptive.accept_status.to),
            responder: adaptive.responder,
            idle: adaptive.idle.map(|idle| idle.0),
            rounds: Rounds {
                interval: adaptive.interval.0,
                timeout: adaptive.timeout.0,
                count: adaptive.count,
                warmup: adaptive.warmup.iter().map(|after| after.0).collect(),
                stagger: adaptive.stagger.0,
                second: false,
            },
        }
    }
}

fn either<'a>(url: &'a str, own: Option<&'a TcpProbe>) -> &'a str {
    own.filter(|_| url.is_empty()).map_or(url, |probe| &probe.url)
}

fn begins(tag: &Tag, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| tag.as_str().starts_with(prefix.as_str()))
}

fn address(text: &str) -> Result<Option<Arc<What>>, BadUrl> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(Arc::new(match read_address(text)? {
        Address::Page(ping) => What::Ping(ping),
        Address::Question(query) => What::Dns(query),
    })))
}

/// What an observatory asks of a member.
fn asked_by(observer: Observer<'_>) -> Result<What, BadUrl> {
    match observer {
        Observer::Plain(plain) => Ok(What::Ping(Ping::new(read_url(&plain.probe_url)?, Method::GET))),
        Observer::Burst(burst) => asked(&burst.ping.clone().unwrap_or_default()),
    }
}

fn asked(ping: &Burst) -> Result<What, BadUrl> {
    Ok(What::Ping(Ping { body: body(ping), ..Ping::new(read_url(&ping.destination)?, method(ping)?) }))
}

fn method(ping: &Burst) -> Result<Method, BadUrl> {
    let word = ping.http_method.to_ascii_uppercase();
    Method::from_bytes(word.as_bytes()).map_err(|_| BadUrl::Method(word))
}

/// A burst observatory that uses GET takes the page as well (`app/observatory/burst/ping.go`); no page is as large as this.
fn body(ping: &Burst) -> u64 {
    if ping.http_method.eq_ignore_ascii_case("GET") { 1 << 20 } else { 0 }
}

/// A member that carries nothing but datagrams can only be asked by one.
fn only_udp(mean: Mean) -> Mean {
    let Ok(question) = usual_question() else { return mean };
    let question = Arc::new(question);
    let by_datagram = |what: Option<Arc<What>>| {
        what.map(|what| if matches!(*what, What::Dns(_)) { what } else { Arc::clone(&question) })
    };
    Mean {
        test: by_datagram(mean.test),
        light: by_datagram(mean.light),
        life: by_datagram(mean.life),
        second: by_datagram(mean.second),
    }
}

/// A question that every public name server can answer.
fn usual_question() -> Result<What, BadUrl> {
    let bad = |_| BadUrl::Host;
    let server = std::net::SocketAddr::from(([8, 8, 8, 8], 53)).into();
    Ok(What::Dns(Query { server, name: DomainName::new("www.google.com").map_err(bad)? }))
}

/// Bound of one probe of a plain observatory (`app/observatory/observer.go`).
const SWEEP_TIMEOUT: Duration = Duration::from_secs(5);
