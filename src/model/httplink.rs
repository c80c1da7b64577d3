//! HTTP services whose names are known: what [`link`](super::check::link) makes of them.

use std::collections::HashMap;

use super::balancer::Balancer;
use super::hashkey::HashKey;
use super::httpservice::{HttpHealth, HttpServer, HttpService, ServerUrl};
use super::inbound::Listen;
use crate::addr::Tag;
use crate::shape::{Kind, Problem, Severity, Spot, nearest};

/// A service that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedService {
    /// Its name.
    pub tag: Tag,
    /// Where it listens.
    pub listen: Listen,
    /// On which port; absent: it is a server of others only.
    pub port: Option<u16>,
    /// What requests are hashed by.
    pub hash_key: HashKey,
    /// How servers are checked.
    pub health: Option<HttpHealth>,
    /// Who serves: those whose weight is above 0.
    pub servers: Vec<LinkedServer>,
}

/// A server that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedServer {
    /// Where requests go.
    pub to: ServerTo,
    /// Its share, above 0.
    pub weight: u32,
    /// Whether it takes no new requests.
    pub fenced: bool,
}

/// Where a server's requests go.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerTo {
    /// To this address.
    Url(ServerUrl),
    /// To the service at this place of the list.
    Service(usize),
}

/// Resolves the names of services and tells what does not fit together.
pub(super) fn link(
    services: &[HttpService],
    balancers: &[Balancer],
    problems: &mut Vec<Problem>,
) -> Vec<LinkedService> {
    let mut linker = Linker { services, places: HashMap::new(), problems };
    for (at, service) in services.iter().enumerate() {
        if linker.places.insert(&service.tag, at).is_some() {
            let message = format!("existing tag found: {}: two services cannot share a tag", service.tag);
            linker.say(&service.place, Severity::Error, Kind::Conflict, message);
        }
        // Both are shown in one list, and told what to do by these names.
        if balancers.iter().any(|balancer| balancer.tag == service.tag) {
            let message = format!("service tag {} collides with a balancer tag", service.tag);
            linker.say(&service.place, Severity::Error, Kind::Conflict, message);
        }
    }
    let linked = services.iter().map(|service| linker.service(service)).collect::<Vec<_>>();
    linker.rings(&linked);
    linker.doors(&linked);
    linked
}

struct Linker<'s, 'p> {
    services: &'s [HttpService],
    places: HashMap<&'s Tag, usize>,
    problems: &'p mut Vec<Problem>,
}

impl<'s> Linker<'s, '_> {
    fn say(&mut self, at: &Spot, severity: Severity, kind: Kind, message: String) -> &mut Problem {
        self.problems.push(Problem::at(at, severity, kind, message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn service(&mut self, service: &'s HttpService) -> LinkedService {
        let mut servers = vec![];
        let mut names: Vec<&str> = vec![];
        for server in &service.server {
            let Some((name, to)) = self.server(service, server) else { continue };
            if names.contains(&name) {
                let message = format!("service {}: the server {name} is listed twice: it counts once", service.tag);
                self.say(&server.place, Severity::Warning, Kind::Conflict, message).help =
                    Some("a larger share is said by `weight`".into());
                continue;
            }
            if server.weight <= 0 {
                let message = format!(
                    "service {}: the server {name} has the weight {}: it is not added",
                    service.tag, server.weight
                );
                self.say(&server.place, Severity::Note, Kind::Value, message);
                continue;
            }
            let Ok(weight) = u32::try_from(server.weight) else {
                let message = format!("service {}: the weight of {name} is above {}", service.tag, u32::MAX);
                self.say(&server.place, Severity::Error, Kind::Value, message);
                continue;
            };
            names.push(name);
            servers.push(LinkedServer { to, weight, fenced: server.fenced });
        }
        if servers.is_empty() && !service.server.is_empty() {
            let message = format!("service {}: no server is left: every request is answered 503", service.tag);
            self.say(&service.place, Severity::Warning, Kind::Missing, message);
        }
        LinkedService {
            tag: service.tag.clone(),
            listen: service.listen.clone(),
            port: service.port.map(|port| port.0),
            hash_key: service.hash_key.clone(),
            health: service.health.clone(),
            servers,
        }
    }

    /// A server's name and where it leads; what is wrong with the record itself was told when it was read.
    fn server(&mut self, service: &HttpService, server: &'s HttpServer) -> Option<(&'s str, ServerTo)> {
        if let Some(url) = &server.url {
            return Some((url.as_str(), ServerTo::Url(url.clone())));
        }
        let name = server.service.as_ref()?;
        if let Some(at) = self.places.get(&name.tag) {
            return Some((name.tag.as_str(), ServerTo::Service(*at)));
        }
        let message = format!("service {} references unknown service tag: {}", service.tag, name.tag);
        let near = nearest(name.tag.as_str(), self.services.iter().map(|s| s.tag.as_str()));
        self.say(&name.at, Severity::Error, Kind::Reference, message).help =
            near.map(|near| format!("did you mean {near}?"));
        None
    }

    /// Services that serve through each other in a ring would pass a request round for ever.
    fn rings(&mut self, linked: &[LinkedService]) {
        let mut told = vec![false; linked.len()];
        for start in 0..linked.len() {
            let Some(ring) = ring(linked, start) else { continue };
            if !ring.iter().any(|at| told[*at]) {
                let tags: Vec<&str> = ring.iter().chain([&start]).map(|at| linked[*at].tag.as_str()).collect();
                let message = format!("services serve through each other in a ring: {}", tags.join(" -> "));
                self.say(&self.services[start].place, Severity::Error, Kind::Conflict, message);
            }
            ring.into_iter().for_each(|at| told[at] = true);
        }
    }

    /// A service without a port that is nobody's server is never asked.
    fn doors(&mut self, linked: &[LinkedService]) {
        let inner = |at: usize| linked.iter().flat_map(|s| &s.servers).any(|s| s.to == ServerTo::Service(at));
        for (at, service) in linked.iter().enumerate() {
            if service.port.is_none() && !inner(at) {
                let message = format!("service {}: it has no port and is no server of another service", service.tag);
                self.say(&self.services[at].place, Severity::Warning, Kind::Missing, message).help =
                    Some("add `port`".into());
            }
        }
    }
}

/// The way from a service back to itself, if there is one.
fn ring(linked: &[LinkedService], start: usize) -> Option<Vec<usize>> {
    let inner = |at: usize| {
        linked[at].servers.iter().filter_map(|server| match server.to {
            ServerTo::Service(to) => Some(to),
            ServerTo::Url(_) => None,
        })
    };
    let mut seen = vec![false; linked.len()];
    let mut paths = vec![vec![start]];
    while let Some(path) = paths.pop() {
        for to in path.last().into_iter().flat_map(|at| inner(*at)) {
            if to == start {
                return Some(path);
            }
            if !std::mem::replace(&mut seen[to], true) {
                paths.push([&path[..], &[to]].concat());
            }
        }
    }
    None
}
