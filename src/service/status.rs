//! Services and their servers, which of them are up, and which one a request goes to.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::backend::Backend;
use super::key::Asked;
use crate::addr::Tag;
use crate::balance::{Key, score};
use crate::model::hashkey::HashKey;
use crate::model::httplink::{LinkedServer, LinkedService, ServerTo};
use crate::model::httpservice::HttpHealth;
use crate::model::inbound::Listen;
use crate::tls::{Client, ClientOptions, Common, Crypto, TlsError};

/// All services of a configuration, and what is known of their servers.
#[derive(Debug)]
pub struct HttpServices {
    pub(super) all: Box<[Service]>,
    /// Held while a server turns, so that news goes upwards in the order in which it came.
    turning: Mutex<()>,
}

/// One service.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) tag: Tag,
    pub(super) at: Option<SocketAddr>,
    pub(super) hash_key: HashKey,
    pub(super) health: Option<HttpHealth>,
    pub(super) servers: Box<[Server]>,
    /// Where it is a server of others.
    parents: Box<[Place]>,
}

/// One server of a service.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) to: To,
    /// What keys are hashed with: its address as it is written, or the tag of the service.
    pub(super) name: Box<str>,
    pub(super) weight: u32,
    pub(super) fenced: AtomicBool,
    /// Whether it is written as fenced.
    written: bool,
    pub(super) up: AtomicBool,
    pub(super) count: Count,
    pub(super) known: Mutex<Known>,
}

/// What a server was given to do.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Requests it was sent.
    pub(super) picks: AtomicU64,
    /// Those of them that run.
    pub(super) running: AtomicU64,
}

/// What was last learnt of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// When it was last looked at, and when it was last found well.
    pub(super) tried: Option<Instant>,
    pub(super) well: Option<Instant>,
    /// Why it was not.
    pub(super) error: Option<String>,
}

/// Where the requests of a server go.
#[derive(Debug)]
pub(super) enum To {
    Backend(Arc<Backend>),
    Service(usize),
}

/// A request that a server was given, while it runs.
#[derive(Debug)]
pub(super) struct InUse {
    services: Arc<HttpServices>,
    place: Place,
}

impl Drop for InUse {
    fn drop(&mut self) {
        let server = &self.services.all[self.place.service].servers[self.place.server];
        server.count.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A server by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) service: usize,
    pub(super) server: usize,
}

impl HttpServices {
    /// Makes the services of a configuration; every server counts as up until something shows otherwise.
    ///
    /// # Errors
    /// [`TlsError`] where a server needs TLS and no certificate can be trusted.
    pub fn new(linked: &[LinkedService], crypto: &Crypto) -> Result<Self, TlsError> {
        let secure = |service: &LinkedService| {
            service.servers.iter().any(|server| matches!(&server.to, ServerTo::Url(url) if url.tls))
        };
        let tls = linked.iter().any(secure).then(|| client(crypto)).transpose()?;
        let one = |(at, service): (usize, &LinkedService)| Service {
            tag: service.tag.clone(),
            at: service.port.map(|port| SocketAddr::new(ip(&service.listen), port)),
            hash_key: service.hash_key.clone(),
            health: service.health.clone(),
            servers: service.servers.iter().map(|server| Server::new(server, linked, tls.as_ref())).collect(),
            parents: parents(linked, at),
        };
        let all: Box<[Service]> = linked.iter().enumerate().map(one).collect();
        let services = Self { all, turning: Mutex::default() };
        services.settle();
        Ok(services)
    }

    /// Goes on where earlier services stood: what is known of a server that is still there, and looked after in the same
    /// way, stays known, and so do fences that a person ordered.
    pub fn inherit(&self, earlier: &Self) {
        let _held = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        for service in &self.all {
            let same = |other: &&Service| other.tag == service.tag && other.health == service.health;
            let Some(before) = earlier.all.iter().find(same) else { continue };
            for server in &service.servers {
                let found = before.servers.iter().find(|other| other.name == server.name);
                found.into_iter().for_each(|other| server.go_on(other));
            }
        }
        self.settle();
    }

    /// Works out which services are up in those around them. As many turns as there are services reach all of them.
    fn settle(&self) {
        for _ in &self.all {
            for server in self.all.iter().flat_map(|service| &service.servers) {
                if let To::Service(inner) = server.to {
                    server.up.store(self.all[inner].is_up(), Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The server for a request: of all that are up, take new requests and were not tried, the one with the highest score.
    /// A service is looked into at once; one without a server left for this request counts as tried.
    pub(super) fn choose(&self, service: usize, asked: Asked<'_>, tried: &mut Vec<Place>) -> Option<Place> {
        let here = &self.all[service];
        let key = asked.key(&here.hash_key, &here.tag);
        loop {
            let open = |server: usize| !tried.contains(&Place { service, server });
            let place = Place { service, server: here.best(key, open)? };
            match here.servers[place.server].to {
                To::Backend(_) => return Some(place),
                To::Service(inner) => match self.choose(inner, asked, tried) {
                    Some(found) => return Some(found),
                    None => tried.push(place),
                },
            }
        }
    }

    /// Counts a request that goes to a server, until what is returned is dropped.
    pub(super) fn enter(self: &Arc<Self>, place: Place) -> InUse {
        let count = &self.all[place.service].servers[place.server].count;
        count.picks.fetch_add(1, Ordering::Relaxed);
        count.running.fetch_add(1, Ordering::Relaxed);
        InUse { services: Arc::clone(self), place }
    }

    /// The backend at a place; services have none.
    pub(super) fn backend(&self, place: Place) -> Option<&Arc<Backend>> {
        match &self.all[place.service].servers[place.server].to {
            To::Backend(backend) => Some(backend),
            To::Service(_) => None,
        }
    }

    /// Whether a server counts as up.
    pub(super) fn is_up(&self, place: Place) -> bool {
        self.all[place.service].servers[place.server].up.load(Ordering::Relaxed)
    }

    /// Takes the word that a server is up or down. Whoever has the service as a server is told only when the first of its
    /// servers comes up or the last goes down.
    pub(super) fn turn(&self, place: Place, up: bool, why: Option<&dyn std::fmt::Display>) {
        let _held = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        self.set(place, up, why);
    }

    /// Takes new requests away from a server, or gives it its own back; those that run go on.
    pub(super) fn fence(&self, place: Place, fenced: bool) {
        let _held = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        let service = &self.all[place.service];
        let server = &service.servers[place.server];
        let before = service.is_up();
        if server.fenced.swap(fenced, Ordering::Relaxed) != fenced {
            let state = if fenced { "fenced" } else { "no longer fenced" };
            tracing::info!("service {}: server {} is {state}", service.tag, server.name);
        }
        let after = service.is_up();
        if before != after {
            self.tell_parents(place.service, after);
        }
    }

    fn set(&self, place: Place, up: bool, why: Option<&dyn std::fmt::Display>) {
        let service = &self.all[place.service];
        let server = &service.servers[place.server];
        server.learn(up, why);
        let before = service.is_up();
        if server.up.swap(up, Ordering::Relaxed) == up {
            return;
        }
        let (tag, name, state) = (&service.tag, &server.name, if up { "up" } else { "down" });
        match why {
            Some(error) => tracing::info!(%error, "service {tag}: server {name} is now {state}"),
            None => tracing::info!("service {tag}: server {name} is now {state}"),
        }
        let after = service.is_up();
        if before != after {
            self.tell_parents(place.service, after);
        }
    }

    fn tell_parents(&self, service: usize, up: bool) {
        for parent in &self.all[service].parents {
            self.set(*parent, up, None);
        }
    }
}

impl Service {
    /// Whether a request could go somewhere.
    fn is_up(&self) -> bool {
        self.servers.iter().any(Server::open)
    }

    fn best(&self, key: Key, open: impl Fn(usize) -> bool) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (at, server) in self.servers.iter().enumerate() {
            if !server.open() || !open(at) {
                continue;
            }
            let score = score(key.and(server.name.as_bytes()), server.weight);
            let beaten = best
                .is_none_or(|(high, rival)| score > high || (score == high && server.name < self.servers[rival].name));
            if beaten {
                best = Some((score, at));
            }
        }
        best.map(|(_, at)| at)
    }
}

impl Server {
    fn new(linked: &LinkedServer, all: &[LinkedService], tls: Option<&Client>) -> Self {
        let (to, name) = match &linked.to {
            ServerTo::Url(url) => {
                let tls = tls.filter(|_| url.tls).cloned();
                (To::Backend(Arc::new(Backend::new(url.clone(), tls))), url.as_str())
            }
            ServerTo::Service(at) => (To::Service(*at), all[*at].tag.as_str()),
        };
        let (weight, fenced) = (linked.weight, AtomicBool::new(linked.fenced));
        let (count, known) = (Count::default(), Mutex::default());
        let (up, written) = (AtomicBool::new(true), linked.fenced);
        Self { to, name: name.into(), weight, fenced, written, up, count, known }
    }

    /// Takes over what is known of its former self.
    fn go_on(&self, other: &Self) {
        self.up.store(other.up.load(Ordering::Relaxed), Ordering::Relaxed);
        self.count.picks.store(other.count.picks.load(Ordering::Relaxed), Ordering::Relaxed);
        let ordered = other.fenced.load(Ordering::Relaxed);
        if ordered != other.written {
            self.fenced.store(ordered, Ordering::Relaxed);
        }
        let known = other.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn learn(&self, up: bool, why: Option<&dyn std::fmt::Display>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Some(Instant::now());
        known.tried = now;
        match up {
            true => known.well = now,
            false => known.error = why.map(ToString::to_string),
        }
    }

    /// Whether it takes new requests.
    pub(super) fn open(&self) -> bool {
        self.up.load(Ordering::Relaxed) && !self.fenced.load(Ordering::Relaxed)
    }
}

/// A client for all servers with TLS; each is verified by the name in its address.
fn client(crypto: &Crypto) -> Result<Client, TlsError> {
    let common = Common { alpn: vec!["http/1.1".into()], resumption: true, ..Common::default() };
    Client::new(crypto, &ClientOptions { common, ..ClientOptions::default() })
}

fn parents(linked: &[LinkedService], at: usize) -> Box<[Place]> {
    let places = linked.iter().enumerate().flat_map(|(service, parent)| {
        let servers = parent.servers.iter().enumerate();
        servers.map(move |(server, linked)| (Place { service, server }, &linked.to))
    });
    places.filter(|(_, to)| **to == ServerTo::Service(at)).map(|(place, _)| place).collect()
}

fn ip(listen: &Listen) -> IpAddr {
    match listen {
        Listen::Ip(ip) => *ip,
        // Other sockets were refused when the configuration was read.
        Listen::Any | Listen::Unix { .. } | Listen::Abstract { .. } => Ipv4Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests;
