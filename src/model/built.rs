//! What the runtime has, so far. Everything else is read, kept and converted; it is reported here, by place, and never
//! passed over in silence.

use crate::addr::Tag;
use crate::shape::{Dialect, Kind, Problem, Severity, Spot};

use super::balancer::{ProbeKind, Strategy};
use super::carrier::RawKind;
use super::draft::Draft;
use super::inbound::{Inbound, InboundKind};
use super::matcher::{DomainRule, IpRules, IpSet};
use super::outbound::{Outbound, OutboundKind};
use super::routing::Rule;
use super::services::Services;
use super::stream::{Carrier, Security, Stream};

/// Warns of every part that cannot run yet. [`Kind::NotBuilt`] keeps `run` from starting, [`Kind::Skipped`] does not.
pub fn report(draft: &Draft, problems: &mut Vec<Problem>) {
    let mut say = |at: &Spot, kind: Kind, what: String| problems.push(Problem::at(at, Severity::Warning, kind, what));
    for inbound in &draft.inbounds {
        for part in inbound_parts(inbound) {
            say(&inbound.at, Kind::NotBuilt, format!("inbound {}: {part} is read but cannot run yet", inbound.tag));
        }
    }
    for outbound in &draft.outbounds {
        for part in outbound_parts(outbound) {
            say(&outbound.at, Kind::NotBuilt, format!("outbound {}: {part} is read but cannot run yet", outbound.tag));
        }
    }
    for balancer in &draft.balancers {
        let name = balancer.strategy.name();
        if matches!(
            balancer.strategy,
            Strategy::LeastPing(_) | Strategy::LeastLoad(_) | Strategy::Hrw(_) | Strategy::Adaptive(_)
        ) {
            let what = format!("balancer {}: the strategy {name} is read but cannot run yet", balancer.tag);
            say(&balancer.at, Kind::NotBuilt, what);
        }
        if balancer.probe.is_some_and(|probe| probe.kind == ProbeKind::Http) {
            let what = format!("balancer {}: probes by HTTP are read but cannot run yet", balancer.tag);
            say(&balancer.at, Kind::NotBuilt, what);
        }
    }
    for (n, rule) in draft.routing.rules.iter().enumerate() {
        for part in rule_parts(rule) {
            say(&rule.at, Kind::NotBuilt, format!("rules[{n}]: {part} cannot run yet"));
        }
        if rule.when.webhook.is_some() {
            say(&rule.at, Kind::Skipped, format!("rules[{n}]: its webhook is not called yet"));
        }
    }
    for part in sections(draft) {
        say(&Spot::default(), Kind::Skipped, format!("{part} is read but not run yet: it is skipped"));
    }
}

/// Whether a tag is that of a service inside the engine rather than of an outbound.
#[must_use]
pub fn is_service(services: &Services, tag: &Tag) -> bool {
    let api = services.api.as_ref().is_some_and(|api| api.tag == *tag);
    let metrics = services.metrics.as_ref().is_some_and(|metrics| metrics.tag == *tag);
    let portal = services.reverse.as_ref().is_some_and(|r| r.portals.iter().any(|end| end.tag == *tag));
    !tag.is_empty() && (api || metrics || portal)
}

fn inbound_parts(inbound: &Inbound) -> Vec<String> {
    let mut parts = vec![];
    if !matches!(inbound.kind, InboundKind::Socks(_) | InboundKind::Http(_) | InboundKind::Dokodemo(_)) {
        parts.push(format!("the protocol {}", inbound.kind.word(Dialect::Json)));
    }
    stream_parts(&inbound.stream, &mut parts);
    parts
}

/// Layers of a stream beyond a plain socket. Leaving one out would send in the open what was to be sealed.
fn stream_parts(stream: &Stream, parts: &mut Vec<String>) {
    let plain = matches!(&stream.carrier, Carrier::Raw(raw) if raw.header.r#type == RawKind::None);
    if !plain {
        parts.push(format!("the transport {}", stream.carrier.word(Dialect::Json)));
    }
    match stream.security {
        Security::None => {}
        Security::Tls(_) => parts.push("security tls".into()),
        Security::Reality(_) => parts.push("security reality".into()),
        Security::Xtls(_) => parts.push("security xtls".into()),
    }
    if !stream.mask.tcp.is_empty() || !stream.mask.udp.is_empty() {
        parts.push("finalmask".into());
    }
}

fn outbound_parts(outbound: &Outbound) -> Vec<String> {
    let mut parts = vec![];
    let built = matches!(
        outbound.kind,
        OutboundKind::Freedom(_)
            | OutboundKind::Blackhole(_)
            | OutboundKind::Loopback(_)
            | OutboundKind::Socks(_)
            | OutboundKind::Http(_)
    );
    if !built {
        parts.push(format!("the protocol {}", outbound.kind.word(Dialect::Json)));
    }
    let bare =
        matches!(outbound.kind, OutboundKind::Freedom(_) | OutboundKind::Blackhole(_) | OutboundKind::Loopback(_));
    if !bare {
        stream_parts(&outbound.stream, &mut parts);
    }
    if outbound.mux.enabled {
        parts.push("mux".into());
    }
    if outbound.chained().is_some() {
        parts.push("dialling through another outbound".into());
    }
    parts
}

fn rule_parts(rule: &Rule) -> Vec<&'static str> {
    let when = &rule.when;
    let lists = |rules: &IpRules| rules.0.iter().any(|r| matches!(r.set, IpSet::List(_)));
    let mut parts = vec![];
    if when.domain.0.iter().any(|d| matches!(d, DomainRule::List(_))) {
        parts.push("a list of domains from a geodata file");
    }
    if lists(&when.ip) || lists(&when.source) || lists(&when.local) {
        parts.push("a list of addresses from a geodata file");
    }
    if !when.process.is_empty() {
        parts.push("a condition on the client's process");
    }
    parts
}

fn sections(draft: &Draft) -> Vec<&'static str> {
    let s = &draft.services;
    let dns = draft.dns.as_ref();
    [
        (dns.is_some_and(|dns| !dns.servers.is_empty()), "dns.servers (names are resolved by the operating system)"),
        (!draft.fake_dns.0.is_empty(), "fakedns"),
        (s.api.is_some(), "api"),
        (s.stats, "stats"),
        (s.metrics.is_some(), "metrics"),
        (!s.observatories.is_empty(), "observatory"),
        (!s.burst_observatories.is_empty(), "burstObservatory"),
        (s.geodata.is_some(), "geodata"),
        (s.reverse.is_some(), "reverse"),
    ]
    .into_iter()
    .filter(|(there, _)| *there)
    .map(|(_, name)| name)
    .collect()
}
