//! From a draft to a config: names become places, and everything that does not fit together is told at once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::addr::{Hop, Network, OutboundId, PortSet, Tag};
use crate::shape::{Dialect, Kind, Problem, Severity, Spot, nearest};

use super::balancer::{Balancer, Member, ProbeKind, Strategy};
use super::built;
use super::config::{BalancerId, Config, Dest, Linked, LinkedBalancer, LinkedMember, LinkedRule};
use super::draft::Draft;
use super::faking;
use super::fields::Networks;
use super::hrw;
use super::httplink;
use super::inbound::{Inbound, InboundKind, Listen};
use super::name::Name;
use super::observing;
use super::outbound::{Outbound, OutboundKind};
use super::rings;
use super::routing::{To, UnknownTags};
use super::stream::Carrier;

/// What linking gave: a config unless a problem is an error, and every finding.
#[derive(Debug)]
pub struct Checked {
    /// The config, if it can be one.
    pub config: Option<Config>,
    /// Every finding, in the order of the sections.
    pub problems: Vec<Problem>,
}

/// Resolves names and gathers every problem. `dialect` is the one the draft was read in: the same slip is a warning in
/// Xray's JSON, where files in the field carry it, and an error in our TOML (DECISIONS 5 and 6).
#[must_use]
pub fn link(draft: &Draft, dialect: Dialect) -> Checked {
    let mut linker = Linker { draft, dialect, problems: vec![], outbounds: HashMap::new(), balancers: HashMap::new() };
    linker.outbound_tags();
    linker.inbound_tags();
    linker.balancer_tags();
    linker.ports();
    linker.chains();
    let balancers = linker.linked_balancers();
    let rules = linker.rules();
    let default = linker.default();
    linker.problems.extend(rings::report(draft, &balancers, &rules, default.as_ref()));
    let http_services = httplink::link(&draft.http_services, &draft.balancers, &mut linker.problems);
    let severity = linker.slip();
    observing::report((&draft.balancers, &balancers), &draft.services, (dialect, severity), &mut linker.problems);
    faking::report(draft, &mut linker.problems);
    built::report(draft, &mut linker.problems);
    let problems = linker.problems;
    let failed = problems.iter().any(|p| p.severity == Severity::Error);
    let config = (!failed).then(|| Config {
        log: draft.log.clone(),
        inbounds: draft.inbounds.clone(),
        outbounds: draft.outbounds.clone(),
        balancers,
        strategy: draft.routing.strategy,
        rules,
        default,
        dns: draft.dns.clone(),
        fake_dns: faking::running(draft),
        policy: draft.policy.clone(),
        services: draft.services.clone(),
        http_services,
        linked: Linked(()),
    });
    Checked { config, problems }
}

struct Linker<'d> {
    draft: &'d Draft,
    dialect: Dialect,
    problems: Vec<Problem>,
    outbounds: HashMap<Tag, OutboundId>,
    balancers: HashMap<Tag, BalancerId>,
}

impl Linker<'_> {
    fn say(&mut self, at: &Spot, severity: Severity, kind: Kind, message: String) -> &mut Problem {
        self.problems.push(Problem::at(at, severity, kind, message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// An error in TOML, a warning in JSON and wherever the draft asks for it.
    fn slip(&self) -> Severity {
        let lenient = self.dialect == Dialect::Json || self.draft.routing.unknown_tags == UnknownTags::Close;
        if lenient { Severity::Warning } else { Severity::Error }
    }

    fn outbound_tags(&mut self) {
        for (n, outbound) in self.draft.outbounds.iter().enumerate() {
            if outbound.tag.is_empty() {
                continue;
            }
            let id = OutboundId(u32::try_from(n).unwrap_or(u32::MAX));
            if self.outbounds.insert(outbound.tag.clone(), id).is_some() {
                let message = format!("existing tag found: {}: two outbounds cannot share a tag", outbound.tag);
                self.say(&outbound.at, Severity::Error, Kind::Conflict, message);
            }
        }
        // Services dial by themselves; a configuration of nothing else is whole.
        let only_services = self.draft.inbounds.is_empty() && !self.draft.http_services.is_empty();
        if self.draft.outbounds.is_empty() && !only_services {
            let message = "there is no outbound: every flow will be closed".to_owned();
            self.say(&Spot::default(), Severity::Warning, Kind::Missing, message);
        }
    }

    fn inbound_tags(&mut self) {
        let mut seen = HashMap::new();
        for inbound in &self.draft.inbounds {
            if !inbound.tag.is_empty() && seen.insert(inbound.tag.clone(), ()).is_some() {
                let message = format!("existing tag found: {}: two inbounds cannot share a tag", inbound.tag);
                self.say(&inbound.at, Severity::Error, Kind::Conflict, message);
            }
        }
    }

    fn balancer_tags(&mut self) {
        for (n, balancer) in self.draft.balancers.iter().enumerate() {
            let id = BalancerId(u32::try_from(n).unwrap_or(u32::MAX));
            let twin = self.balancers.insert(balancer.tag.clone(), id).is_some();
            let collides = twin || self.outbounds.contains_key(&balancer.tag);
            if collides && self.dialect == Dialect::Toml {
                let message = format!("balancer tag {} collides with an outbound tag", balancer.tag);
                self.say(&balancer.at, Severity::Error, Kind::Conflict, message).help =
                    Some("give it a name that no outbound and no other balancer has".into());
            } else if twin {
                let message = format!("two balancers are called {}: the last one counts", balancer.tag);
                self.say(&balancer.at, Severity::Warning, Kind::Conflict, message);
            }
        }
    }

    /// Two doors on one address, port and network would share it by chance (DECISIONS 15). Port 0 is a port of one's own.
    fn ports(&mut self) {
        let mut taken: HashMap<(String, Network), Vec<(PortSet, String)>> = HashMap::new();
        for door in doors(self.draft) {
            let Some(address) = address(door.listen) else { continue };
            for network in [Network::Tcp, Network::Udp].into_iter().filter(|net| door.networks.contains(*net)) {
                let others = taken.entry((address.clone(), network)).or_default();
                let clash = others.iter().find_map(|(other, first)| {
                    door.ports.iter().find(|p| *p != 0 && other.contains(*p)).map(|p| (p, first.clone()))
                });
                others.push((door.ports.clone(), door.name.clone()));
                let Some((port, first)) = clash else { continue };
                let message = format!("{} and {first} both listen on {address} {network} port {port}", door.name);
                self.say(door.at, Severity::Error, Kind::Conflict, message).help =
                    Some("give one of them another port".into());
            }
        }
    }

    /// Outbounds that dial through each other in a ring could never dial.
    fn chains(&mut self) {
        for outbound in &self.draft.outbounds {
            let mut path = vec![outbound.tag.clone()];
            let mut next = outbound.chained();
            while let Some(via) = next {
                let Some(id) = self.outbounds.get(via.tag) else {
                    if path.len() == 1 {
                        let message = format!(
                            "outbound {} dials through {}, which does not exist: it will fail",
                            outbound.tag, via.tag
                        );
                        let severity = self.slip();
                        self.say(via.at, severity, Kind::Reference, message);
                    }
                    break;
                };
                if *via.tag == path[0] {
                    path.push(via.tag.clone());
                    let ring = path.iter().map(Tag::as_str).collect::<Vec<_>>().join(" -> ");
                    self.say(
                        &outbound.at,
                        Severity::Error,
                        Kind::Conflict,
                        format!("outbounds dial through each other in a ring: {ring}"),
                    );
                    break;
                }
                if path.contains(via.tag) {
                    break;
                }
                path.push(via.tag.clone());
                next = self.draft.outbounds[id.index()].chained();
            }
        }
    }

    fn linked_balancers(&mut self) -> Vec<LinkedBalancer> {
        let draft = self.draft;
        draft.balancers.iter().map(|balancer| self.linked_balancer(balancer)).collect()
    }

    fn linked_balancer(&mut self, balancer: &Balancer) -> LinkedBalancer {
        let mut members = vec![];
        for member in &balancer.members {
            match member {
                Member::Exact(name) => self.exact(balancer, name, &mut members),
                Member::Prefix(name) => self.prefix(balancer, name, &mut members),
            }
        }
        // Selectors overlap; an exact member may stand twice and then counts twice.
        let prefixed = balancer.members.iter().all(|m| matches!(m, Member::Prefix(_)));
        if prefixed {
            members.sort_by(|a, b| a.tag.cmp(&b.tag));
            members.dedup_by(|a, b| a.tag == b.tag);
        }
        // What an exact member is not was told at its own place.
        if members.is_empty() && !balancer.members.is_empty() && prefixed && !self.failed_here(balancer) {
            let message = format!(
                "balancer {}: nothing it selects exists: its flows go to its fallback, else they are closed",
                balancer.tag
            );
            let severity = self.slip();
            self.say(&balancer.at, severity, Kind::Reference, message).help =
                Some(format!("outbound tags are {}", self.tags()));
        }
        self.tcp_members(balancer, &members);
        self.weights(balancer, &members);
        if let Strategy::Hrw(settings) = &balancer.strategy {
            hrw::settle(balancer, settings, &mut members, &mut self.problems);
        }
        let fallback = balancer.fallback.as_ref().map(|name| {
            // An outbound of that name is meant before a balancer; only TOML keeps the two apart.
            let group = !self.outbounds.contains_key(&name.tag) && self.balancers.contains_key(&name.tag);
            self.reference(name, group, "balancer", &balancer.tag)
        });
        LinkedBalancer {
            tag: balancer.tag.clone(),
            members,
            strategy: balancer.strategy.clone(),
            probe: balancer.probe.clone(),
            fallback,
            guards: balancer.guards,
        }
    }

    fn failed_here(&self, balancer: &Balancer) -> bool {
        self.problems.iter().any(|p| p.severity == Severity::Error && p.path == balancer.at.path())
    }

    fn exact(&mut self, balancer: &Balancer, name: &Name, members: &mut Vec<LinkedMember>) {
        if let Some(id) = self.outbounds.get(&name.tag) {
            return self.join(balancer, *id, name, true, members);
        }
        let inner = self.balancers.get(&name.tag);
        // Nothing listens at a balancer, so nothing can connect to it (DECISIONS 26).
        let by_tcp = balancer.probe.as_ref().is_some_and(|probe| probe.kind == ProbeKind::Tcp);
        if let (Some(id), false) = (inner, by_tcp) {
            return members.push(LinkedMember { tag: name.tag.clone(), hop: Hop::Balancer(*id) });
        }
        let message = format!("balancer {} references unknown outbound tag: {}", balancer.tag, name.tag);
        let help = match inner {
            Some(_) => Some(format!(
                "{} is a balancer, which has no server that a TCP probe can reach: set probe = \"http\" or \"none\"",
                name.tag
            )),
            None => self.near(&name.tag),
        };
        let severity = self.slip();
        self.say(&name.at, severity, Kind::Reference, message).help = help;
    }

    fn prefix(&mut self, balancer: &Balancer, name: &Name, members: &mut Vec<LinkedMember>) {
        let draft = self.draft;
        let hits: Vec<(usize, &Outbound)> = draft
            .outbounds
            .iter()
            .enumerate()
            .filter(|(_, o)| !o.tag.is_empty() && o.tag.as_str().starts_with(name.tag.as_str()))
            .collect();
        if hits.len() > 1 && !name.tag.is_empty() && hits.iter().any(|(_, o)| o.tag == name.tag) {
            let list = hits.iter().map(|(_, o)| o.tag.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!(
                "balancer {}: the selector \"{}\" is the tag of one outbound and the beginning of others; it selects {list}",
                balancer.tag, name.tag
            );
            let help =
                "selectors are beginnings of tags; to mean one outbound only, list it under \"members\"".to_owned();
            self.say(&name.at, Severity::Warning, Kind::Value, message).help = Some(help);
        }
        for (n, _) in hits {
            self.join(balancer, OutboundId(u32::try_from(n).unwrap_or(u32::MAX)), name, false, members);
        }
    }

    /// Adds a member, unless it can carry nothing. One that a prefix caught was not meant, so it is no error.
    fn join(&mut self, balancer: &Balancer, id: OutboundId, name: &Name, exact: bool, members: &mut Vec<LinkedMember>) {
        let outbound = &self.draft.outbounds[id.index()];
        if matches!(outbound.kind, OutboundKind::Blackhole(_)) && outbound.probe_target().is_none() {
            let (severity, what) = if self.dialect == Dialect::Toml && exact {
                (Severity::Error, "so it cannot be balanced")
            } else {
                (Severity::Warning, "so it is left out")
            };
            // In TOML the first users' words, which say the same of every member without a server.
            let why = match self.dialect {
                Dialect::Toml => "has no upstream a TCP health probe can reach",
                Dialect::Json => "is a blackhole, which carries nothing",
            };
            let message = format!("balancer {}: outbound {} {why}, {what}", balancer.tag, outbound.tag);
            self.say(&name.at, severity, Kind::Conflict, message);
            return;
        }
        members.push(LinkedMember { tag: outbound.tag.clone(), hop: id.into() });
    }

    /// Members of a balancer that checks by TCP need something to connect to (toml-frontend contract).
    fn tcp_members(&mut self, balancer: &Balancer, members: &[LinkedMember]) {
        if balancer.probe.as_ref().is_none_or(|probe| probe.kind != ProbeKind::Tcp) {
            return;
        }
        for member in members {
            let Some(id) = member.outbound() else { continue };
            let outbound = &self.draft.outbounds[id.index()];
            if outbound.probe_target().is_none() {
                let message = format!(
                    "balancer {}: outbound {} has no upstream a TCP health probe can reach, so it cannot be balanced",
                    balancer.tag, member.tag
                );
                let at = balancer.members.iter().find_map(|m| match m {
                    Member::Exact(name) | Member::Prefix(name) if name.tag == member.tag => Some(&name.at),
                    _ => None,
                });
                self.say(at.unwrap_or(&balancer.at), Severity::Error, Kind::Conflict, message).help = Some(
                    "take it out, or choose a strategy that tests through the outbound, such as \"optimal\"".into(),
                );
            }
        }
    }

    fn weights(&mut self, balancer: &Balancer, members: &[LinkedMember]) {
        let weights: Vec<&Tag> = match &balancer.strategy {
            Strategy::Optimal(s) => s.weights.iter().map(|w| &w.tag).collect(),
            Strategy::Adaptive(s) => s.weights.iter().map(|w| &w.tag).collect(),
            Strategy::Random(s) | Strategy::RoundRobin(s) | Strategy::LeastPing(s) => {
                s.weights.iter().map(|w| &w.tag).collect()
            }
            Strategy::Hrw(s) => s.weights.iter().map(|w| &w.tag).collect(),
            Strategy::Failover(_) | Strategy::LeastLoad(_) => vec![],
        };
        for tag in weights {
            if !members.iter().any(|m| m.tag == *tag) {
                let message = format!("balancer {}: a weight is given for {tag}, which is not a member", balancer.tag);
                let help =
                    nearest(tag.as_str(), members.iter().map(|m| m.tag.as_str())).map(|t| format!("did you mean {t}?"));
                self.say(&balancer.at, Severity::Warning, Kind::Reference, message).help = help;
            }
        }
    }

    fn rules(&mut self) -> Vec<LinkedRule> {
        let draft = self.draft;
        let rules = draft.routing.rules.iter().enumerate();
        rules
            .map(|(n, rule)| {
                let label = if rule.name.is_empty() { format!("rules[{n}]") } else { rule.name.clone() };
                let (name, balancer) = match &rule.to {
                    To::Outbound(name) => (name, false),
                    To::Balancer(name) => (name, true),
                };
                let to = self.reference(name, balancer, "route", &Tag::new(&label));
                LinkedRule { name: label, to, when: Arc::clone(&rule.when) }
            })
            .collect()
    }

    fn default(&mut self) -> Option<Dest> {
        match &self.draft.routing.default {
            Some(To::Outbound(name)) => Some(self.reference(name, false, "route", &Tag::new("default"))),
            Some(To::Balancer(name)) => Some(self.reference(name, true, "route", &Tag::new("default"))),
            None => (!self.draft.outbounds.is_empty()).then_some(Dest::Outbound(OutboundId(0))),
        }
    }

    /// Resolves a reference; one to nothing is told and closes its flows.
    fn reference(&mut self, name: &Name, balancer: bool, whose: &str, by: &Tag) -> Dest {
        let found = if balancer {
            self.balancers.get(&name.tag).map(|id| Dest::Balancer(*id))
        } else {
            self.outbounds.get(&name.tag).map(|id| Dest::Outbound(*id))
        };
        if let Some(dest) = found {
            return dest;
        }
        // A name that was required and not given was told by the reader.
        if name.tag.is_empty() && name.at.span().is_none() {
            return Dest::Closed(name.tag.clone());
        }
        if !balancer && built::is_service(&self.draft.services, &name.tag) {
            return Dest::Closed(name.tag.clone());
        }
        let closes = "flows that meet it will be closed";
        let message = match (whose, self.dialect) {
            ("balancer", _) => format!("balancer {by}: the fallback {} does not exist", name.tag),
            (_, Dialect::Toml) => format!("route references unknown outbound tag: {}", name.tag),
            _ if balancer => format!("balancer {} not found: {closes}", name.tag),
            _ => format!("there is no outbound {}: {closes}", name.tag),
        };
        let help = self.near(&name.tag);
        let severity = self.slip();
        self.say(&name.at, severity, Kind::Reference, message).help = help;
        Dest::Closed(name.tag.clone())
    }

    fn near(&self, tag: &Tag) -> Option<String> {
        let tags = self.outbounds.keys().chain(self.balancers.keys());
        nearest(tag.as_str(), tags.map(Tag::as_str)).map(|near| format!("did you mean {near}?"))
    }

    fn tags(&self) -> String {
        let tags: Vec<&str> =
            self.draft.outbounds.iter().map(|o| o.tag.as_str()).filter(|t| !t.is_empty()).take(12).collect();
        if tags.is_empty() { "none".into() } else { tags.join(", ") }
    }
}

/// Whatever listens.
struct Door<'d> {
    name: String,
    at: &'d Spot,
    listen: &'d Listen,
    ports: PortSet,
    networks: Networks,
}

fn doors(draft: &Draft) -> impl Iterator<Item = Door<'_>> {
    let inbounds = draft.inbounds.iter().enumerate().filter_map(|(n, inbound)| {
        let (name, networks) = (name(inbound, n), networks(inbound));
        let ports = inbound.ports.clone()?;
        Some(Door { name, at: &inbound.at, listen: &inbound.listen, ports, networks })
    });
    let services = draft.http_services.iter().filter_map(|service| {
        let (name, ports) = (format!("service {}", service.tag), PortSet::one(service.port?.0));
        Some(Door { name, at: &service.place, listen: &service.listen, ports, networks: Networks::TCP })
    });
    inbounds.chain(services)
}

fn address(listen: &Listen) -> Option<String> {
    match listen {
        Listen::Any => Some("0.0.0.0".into()),
        Listen::Ip(ip) => Some(ip.to_string()),
        _ => None,
    }
}

/// Which sockets an inbound opens.
fn networks(inbound: &Inbound) -> Networks {
    match &inbound.kind {
        InboundKind::Dokodemo(settings) => settings.network,
        InboundKind::Shadowsocks(settings) => settings.network,
        InboundKind::Wireguard(_) | InboundKind::Hysteria(_) => Networks::UDP,
        _ if matches!(inbound.stream.carrier, Carrier::Kcp(_) | Carrier::Quic(_) | Carrier::Hysteria(_)) => {
            Networks::UDP
        }
        _ => Networks::TCP,
    }
}

fn name(inbound: &Inbound, n: usize) -> String {
    if inbound.tag.is_empty() { format!("inbounds[{n}]") } else { format!("inbound {}", inbound.tag) }
}
