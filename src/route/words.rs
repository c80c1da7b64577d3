//! Conditions in words: what held one, or why it does not hold.

use std::net::IpAddr;

use super::facts::Facts;
use super::rule::Test;
use crate::addr::PortSet;
use crate::geo::{Addresses, Names};
use crate::model::matcher::DomainRule;

/// The words of a condition that holds, or does not.
pub(super) fn told(test: &Test, facts: &Facts<'_>, holds: bool) -> String {
    match test {
        Test::Never => "localOS is another system".into(),
        Test::Inbound(tags) => among("inboundTag", facts.inbound, tags.iter().map(|tag| tag.as_str()), holds),
        Test::Network(networks) => {
            let all = [("tcp", networks.tcp), ("udp", networks.udp), ("unix", networks.unix)];
            among("network", facts.network.as_str(), all.iter().filter(|one| one.1).map(|one| one.0), holds)
        }
        Test::Protocol(prefixes) => {
            let Some(protocol) = facts.protocol else { return "protocol: nobody knows what it is".into() };
            among("protocol", protocol, prefixes.iter().map(|prefix| &**prefix), holds)
        }
        Test::Port(ports) => port("port", facts.port, ports, holds),
        Test::SourcePort(ports) => port("sourcePort", facts.source.port(), ports, holds),
        Test::LocalPort(ports) => port("localPort", facts.local.port(), ports, holds),
        Test::VlessRoute(ports) => port("vlessRoute", facts.vless_route, ports, holds),
        Test::User(_) => match facts.user.filter(|user| !user.is_empty()) {
            None => "user: the flow has none".into(),
            Some(user) if holds => format!("user {user}"),
            // The others are nobody's business.
            Some(user) => format!("user {user} is not among them"),
        },
        Test::Attrs(attrs) => match (holds, facts.attribute, attrs.lacking(facts)) {
            (true, ..) => format!("attrs {}", attrs.names().collect::<Vec<_>>().join(" and ")),
            (false, Some(_), Some(name)) => format!("attrs: {name} is missing or has another value"),
            (false, ..) => "attrs: the flow has none".into(),
        },
        Test::Ip(addresses) => {
            let found = facts.ips().iter().find_map(|ip| Some(format!("ip {ip}: {}", addresses.find(*ip)?)));
            found.unwrap_or_else(|| no_ip(facts))
        }
        Test::Source(addresses) => address("source", facts.source.ip(), addresses),
        Test::Local(addresses) => address("localIP", facts.local.ip(), addresses),
        // Whoever looks at a rule by what it is filed by knows more.
        Test::IpFiled => no_ip(facts),
        Test::DomainFiled => no_domain(facts),
    }
}

/// Which entry of a rule holds the name.
pub(super) fn domain(names: &Names, facts: &Facts<'_>, rule: u32) -> String {
    let found = facts.domain().and_then(|name| names.find_of(name, rule));
    let text = found.map(|met| match met.list {
        Some(list) => {
            let list = DomainRule::List(Box::new(list));
            format!("{list} \u{2192} {}", met.rule)
        }
        None => met.rule.to_string(),
    });
    format!("domain: {}", text.unwrap_or_default())
}

/// Why no entry holds it.
pub(super) fn no_domain(facts: &Facts<'_>) -> String {
    match facts.domain() {
        Some(name) => format!("domain: no entry holds {name}"),
        None => "domain: the target has no name".into(),
    }
}

/// Why no network holds an address of the target.
pub(super) fn no_ip(facts: &Facts<'_>) -> String {
    match (facts.ips(), facts.resolved) {
        ([], None) => "ip: the target is a name that is not resolved".into(),
        ([], Some(_)) => "ip: the name has no address".into(),
        ([ip], _) => format!("ip: no network holds {ip}"),
        ([ip, rest @ ..], _) => format!("ip: no network holds {ip} or the {} others of the name", rest.len()),
    }
}

fn address(what: &str, ip: IpAddr, addresses: &Addresses) -> String {
    match addresses.find(ip) {
        Some(by) => format!("{what} {ip}: {by}"),
        None => format!("{what}: no network holds {ip}"),
    }
}

fn port(what: &str, port: u16, ports: &PortSet, holds: bool) -> String {
    if holds {
        return format!("{what} {port}");
    }
    let all =
        ports.ranges().iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    let all: Vec<String> = all.collect();
    among(what, &port.to_string(), all.iter().map(String::as_str), false)
}

/// Items of a condition that are told of.
const TOLD: usize = 6;

fn among<'i>(what: &str, value: &str, items: impl Iterator<Item = &'i str>, holds: bool) -> String {
    if holds {
        return format!("{what} {value}");
    }
    let mut items: Vec<&str> = items.take(TOLD + 1).collect();
    if items.len() > TOLD {
        items[TOLD] = "\u{2026}";
    }
    let value = if value.is_empty() { "(none)" } else { value };
    if items.is_empty() {
        return format!("{what}: nothing meets an empty condition");
    }
    format!("{what}: {value} is not {}", items.join(", "))
}
