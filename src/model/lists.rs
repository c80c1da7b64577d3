//! Where a draft names lists of geodata files.

use crate::shape::Spot;

use super::draft::Draft;
use super::inbound::Inbound;
use super::matcher::{DomainRule, DomainRules, IpRules, IpSet, ListRef};
use super::outbound::{Outbound, OutboundKind};
use super::sniffing::Sniffing;

/// What a list holds, which follows from the place that names it and not from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holds {
    /// Names.
    Names,
    /// Networks.
    Networks,
}

/// One mention of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention<'d> {
    /// The list.
    pub list: &'d ListRef,
    /// What it must hold.
    pub holds: Holds,
    /// The item that names it: a rule, a server, an inbound or an outbound; nowhere for `dns.hosts`.
    pub at: Spot,
}

/// Every mention, in the order of the sections; a list that is named twice comes twice.
#[must_use]
pub fn mentions(draft: &Draft) -> Vec<Mention<'_>> {
    let mut found = Finder { found: vec![] };
    draft.inbounds.iter().for_each(|inbound| found.inbound(inbound));
    draft.outbounds.iter().for_each(|outbound| found.outbound(outbound));
    for rule in &draft.routing.rules {
        found.names(&rule.when.domain, &rule.at);
        for rules in [&rule.when.ip, &rule.when.source, &rule.when.local] {
            found.networks(rules, &rule.at);
        }
    }
    if let Some(dns) = &draft.dns {
        for server in &dns.servers {
            found.names(&server.spec.domains, &server.at);
            found.networks(&server.spec.expected_ips.rules, &server.at);
            found.networks(&server.spec.unexpected_ips.rules, &server.at);
        }
        found.rules(dns.hosts.0.iter().map(|(rule, _)| rule), &Spot::default());
    }
    found.found
}

/// Whether an inbound names a list.
#[must_use]
pub fn inbound_names_any(inbound: &Inbound) -> bool {
    let mut found = Finder { found: vec![] };
    found.inbound(inbound);
    !found.found.is_empty()
}

/// Whether an outbound names a list.
#[must_use]
pub fn outbound_names_any(outbound: &Outbound) -> bool {
    let mut found = Finder { found: vec![] };
    found.outbound(outbound);
    !found.found.is_empty()
}

struct Finder<'d> {
    found: Vec<Mention<'d>>,
}

impl<'d> Finder<'d> {
    fn inbound(&mut self, inbound: &'d Inbound) {
        self.sniffing(&inbound.sniffing, &inbound.at);
    }

    fn outbound(&mut self, outbound: &'d Outbound) {
        match &outbound.kind {
            OutboundKind::Freedom(freedom) => {
                freedom.final_rules.iter().for_each(|rule| self.networks(&rule.ip, &outbound.at));
            }
            OutboundKind::Dns(dns) => dns.rules.iter().for_each(|rule| self.names(&rule.domain, &outbound.at)),
            OutboundKind::Loopback(loopback) => self.sniffing(&loopback.sniffing, &outbound.at),
            _ => {}
        }
    }

    fn sniffing(&mut self, sniffing: &'d Sniffing, at: &Spot) {
        self.names(&sniffing.domains_excluded, at);
        self.networks(&sniffing.ips_excluded, at);
    }

    fn names(&mut self, rules: &'d DomainRules, at: &Spot) {
        self.rules(&rules.0, at);
    }

    fn rules(&mut self, rules: impl IntoIterator<Item = &'d DomainRule>, at: &Spot) {
        for rule in rules {
            if let DomainRule::List(list) = rule {
                self.found.push(Mention { list, holds: Holds::Names, at: at.clone() });
            }
        }
    }

    fn networks(&mut self, rules: &'d IpRules, at: &Spot) {
        for rule in &rules.0 {
            if let IpSet::List(list) = &rule.set {
                self.found.push(Mention { list, holds: Holds::Networks, at: at.clone() });
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::{Format, Options, Source, load};

    #[test]
    fn every_place_that_can_name_a_list_is_looked_at() {
        let text = r#"{
            "inbounds": [{ "protocol": "socks", "port": 1, "sniffing":
                { "enabled": true, "domainsExcluded": ["geosite:a"], "ipsExcluded": ["geoip:b"] } }],
            "outbounds": [
                { "protocol": "freedom", "settings": { "finalRules": [{ "action": "block", "ip": ["geoip:c"] }] } },
                { "protocol": "dns", "settings": { "rules": [{ "action": "direct", "domain": ["geosite:d"] }] } },
                { "protocol": "loopback", "settings": { "inboundTag": "x", "sniffing":
                    { "enabled": true, "domainsExcluded": ["geosite:e"] } } }
            ],
            "routing": { "rules": [{ "domain": ["geosite:f@x"], "ip": ["geoip:!g"], "source": ["geoip:h"],
                "localIP": ["ext:own.dat:i"], "outboundTag": "o" }] },
            "dns": {
                "servers": [{ "address": "192.0.2.1", "domains": ["ext:own.dat:j"], "expectedIPs": ["geoip:k"],
                    "unexpectedIPs": ["geoip:l"] }],
                "hosts": { "geosite:m": "192.0.2.2" }
            }
        }"#;
        let source = Source { name: "c.json".into(), bytes: text.into(), format: Some(Format::Json) };
        let draft = load(vec![source], &Options { strict: true, env: &|_| None }).draft.unwrap();
        let found: String = mentions(&draft).iter().map(|mention| mention.list.code.to_lowercase()).collect();
        assert_eq!(found, "abcdefghijklm");
    }
}
