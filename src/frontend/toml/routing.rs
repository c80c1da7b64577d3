//! `[route]` of our TOML. Conditions on names and addresses stand apart by kind, as the first users know them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::addr::{PortSet, Tag};
use crate::model::balancer::Balancer;
use crate::model::fields::Networks;
use crate::model::matcher::{self, Bare, DomainRule, DomainRules, IpRule, IpRules, IpSet};
use crate::model::name::Name;
use crate::model::routing::{RouteStrategy, Routing, Rule, To, UnknownTags, Webhook, When};
use crate::record;
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, PlainMap, Reader, Record, Seg, Severity, Spot, Table};

record! {
    /// Which flow goes where.
    pub struct TomlRoute {
        /// The outbound or balancer for flows that meet no rule; the first outbound of the file if absent.
        default: Option<Name>;
        /// Rules; the first whose conditions all hold counts.
        rule: Vec<TomlRule>;
        /// When the name of a target is resolved for address conditions.
        domain_strategy: RouteStrategy;
        /// What a rule that names nothing does: `error` refuses the file, `close` closes the flows that meet it.
        unknown_tags: UnknownTags;
    }
}

record! {
    /// One rule. All conditions that are present must hold; within a list one is enough, and the lists that ask about the
    /// same thing (`cidr` and `geoip`, say) count as one list.
    pub struct TomlRule {
        /// The outbound or balancer that takes matching flows.
        outbound: Name, required;
        /// Address of the target: networks.
        cidr: Nets;
        /// Name of the target: these and the names below them.
        domain_suffix: Vec<String>;
        /// What the flow carries: `tcp`, `udp`, `unix`, one or a list.
        network: Option<Networks>;
        /// The rule's own name, for logs.
        name: String;
        /// Name of the target: exactly these.
        domain_full: Vec<String>;
        /// Name of the target: any that contains one of these texts.
        domain_keyword: Vec<String>;
        /// Name of the target: any in which one of these expressions is found.
        domain_regex: Vec<String>;
        /// Name of the target: any without a dot that contains one of these texts.
        domain_dotless: Vec<String>;
        /// Name of the target: lists of geosite.dat, `cn`, `cn@ads`, or `ext:FILE:LIST`.
        geosite: Vec<String>;
        /// Address of the target: any outside all of these networks.
        not_cidr: Nets;
        /// Address of the target: lists of geoip.dat, `cn`, or `ext:FILE:LIST`.
        geoip: Vec<String>;
        /// Address of the target: any outside all of these lists.
        not_geoip: Vec<String>;
        /// Port of the target, `53`, `"80,443,8000-8999"`.
        port: Option<PortSet>;
        /// Address of the client: networks.
        source_cidr: Nets;
        /// Address of the client: any outside all of these networks.
        source_not_cidr: Nets;
        /// Address of the client: lists of geoip.dat.
        source_geoip: Vec<String>;
        /// Address of the client: any outside all of these lists.
        source_not_geoip: Vec<String>;
        /// Port of the client.
        source_port: Option<PortSet>;
        /// Address on which the connection was accepted: networks.
        local_cidr: Nets;
        /// Address on which the connection was accepted: any outside all of these networks.
        local_not_cidr: Nets;
        /// Address on which the connection was accepted: lists of geoip.dat.
        local_geoip: Vec<String>;
        /// Address on which the connection was accepted: any outside all of these lists.
        local_not_geoip: Vec<String>;
        /// Port on which the connection was accepted.
        local_port: Option<PortSet>;
        /// Number that a VLESS client writes into bytes 7 and 8 of its id.
        vless_route: Option<PortSet>;
        /// Emails of users, exact, or `regexp:` and an expression.
        user: Vec<String>;
        /// Tags of inbounds.
        inbound: Vec<Tag>;
        /// Sniffed protocol, by prefix: `http`, `tls`, `quic`, `bittorrent`, …
        protocol: Vec<String>;
        /// HTTP attributes: every name must be there and its expression be found in the value.
        attrs: BTreeMap<String, String>;
        /// Programs that own the client's socket: a name, a path, a folder ending in `/`.
        process: Vec<String>;
        /// Systems on which the rule counts: `linux`, `windows`, …
        local_os: Vec<String>;
        /// Told of every flow that takes the rule.
        webhook: Option<Webhook>;
        /// Where the rule stands.
        place: Spot, hidden;
    }
    hook TomlRule::settle;
}

/// Networks, as texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nets(Vec<IpSet>);

impl Field for Nets {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let nets = Vec::<ipnet::IpNet>::read(cx, node)?;
        Some(Self(nets.into_iter().map(IpSet::Net).collect()))
    }

    fn write(&self, _: Dialect) -> Plain {
        let text = |set: &IpSet| Plain::Text(IpRule { negated: false, set: set.clone() }.to_string());
        Plain::List(self.0.iter().map(text).collect())
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> serde_json::Value {
        Vec::<ipnet::IpNet>::shape(dialect, defs)
    }
}

impl TomlRule {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        for (key, pattern) in &self.attrs {
            if let Err(why) = matcher::regex(pattern) {
                cx.error(table.node(), Kind::Value, format!("attrs.{key}: {why}"));
            }
        }
        for why in self.user.iter().filter_map(|text| matcher::user(text).err()) {
            cx.warn(table.node(), Kind::Value, format!("user: {why}")).help = Some("it matches nobody".into());
        }
    }

    fn into_rule(self, cx: &mut Reader<'_>, balancers: &[Balancer]) -> Option<Rule> {
        let at = self.place.clone();
        let to = to(self.outbound, balancers);
        let domain = [
            (self.domain_suffix, "domain:"),
            (self.domain_full, "full:"),
            (self.domain_keyword, "keyword:"),
            (self.domain_regex, "regexp:"),
            (self.domain_dotless, "dotless:"),
            (self.geosite, "geosite:"),
        ];
        let mut rules = vec![];
        for (texts, prefix) in domain {
            for text in texts {
                let text =
                    if prefix == "geosite:" && text.starts_with("ext:") { text } else { format!("{prefix}{text}") };
                rules.extend(parsed(cx, &at, DomainRule::parse(&text, Bare::Suffix)));
            }
        }
        let ip = |cx: &mut Reader<'_>, sets: [(Nets, bool); 2], lists: [(Vec<String>, bool); 2]| {
            let mut rules = vec![];
            for (nets, negated) in sets {
                rules.extend(nets.0.into_iter().map(|set| IpRule { negated, set }));
            }
            for (texts, negated) in lists {
                for text in texts {
                    let text = if text.starts_with("ext:") { text } else { format!("geoip:{text}") };
                    let rule = parsed(cx, &at, IpRule::parse(&text));
                    rules.extend(rule.map(|rule| IpRule { negated: rule.negated != negated, ..rule }));
                }
            }
            IpRules::of(rules)
        };
        let when = When {
            domain: DomainRules::of(rules),
            ip: ip(cx, [(self.cidr, false), (self.not_cidr, true)], [(self.geoip, false), (self.not_geoip, true)]),
            source: ip(
                cx,
                [(self.source_cidr, false), (self.source_not_cidr, true)],
                [(self.source_geoip, false), (self.source_not_geoip, true)],
            ),
            local: ip(
                cx,
                [(self.local_cidr, false), (self.local_not_cidr, true)],
                [(self.local_geoip, false), (self.local_not_geoip, true)],
            ),
            port: self.port,
            source_port: self.source_port,
            local_port: self.local_port,
            vless_route: self.vless_route,
            network: self.network,
            user: self.user,
            inbound: self.inbound,
            protocol: self.protocol,
            attrs: self.attrs,
            process: self.process,
            local_os: self.local_os.iter().map(|os| os.to_lowercase()).collect(),
            webhook: self.webhook,
        };
        if when.is_empty() {
            // A condition that could not be read was told already; that it is missing is not a second mistake.
            if cx.problems.iter().any(|p| p.severity == Severity::Error && p.path.starts_with(at.path())) {
                return None;
            }
            let span = at.span().unwrap_or_default();
            let problem = cx.report(Severity::Error, Kind::Missing, span, "this rule has no condition");
            problem.help = Some(
                "for all flows name the target in `[route]` as `default`, or write network = [\"tcp\", \"udp\"]".into(),
            );
            return None;
        }
        Some(Rule { at, name: self.name, to, when: Arc::new(when) })
    }
}

/// Reports a bad text at its rule.
fn parsed<T>(cx: &mut Reader<'_>, at: &Spot, result: Result<T, String>) -> Option<T> {
    result.map_err(|why| cx.report(Severity::Error, Kind::Value, at.span().unwrap_or_default(), why)).ok()
}

/// TOML names both kinds alike; a balancer of that name is meant before an outbound.
fn to(name: Name, balancers: &[Balancer]) -> To {
    if balancers.iter().any(|b| b.tag == name.tag) { To::Balancer(name) } else { To::Outbound(name) }
}

impl TomlRoute {
    /// Strategy, default and rules in the model.
    pub fn into_routing(self, cx: &mut Reader<'_>, balancers: &[Balancer]) -> Routing {
        let rules = self.rule.into_iter().enumerate();
        let rules = rules
            .filter_map(|(n, rule)| cx.key("rule", |cx| cx.within(Seg::Index(n), |cx| rule.into_rule(cx, balancers))));
        let rules = rules.collect();
        let default = self.default.map(|name| to(name, balancers));
        Routing { strategy: self.domain_strategy, default, unknown_tags: self.unknown_tags, rules }
    }
}

/// Writes `[route]`.
#[must_use]
pub fn write(routing: &Routing) -> PlainMap {
    let mut out = PlainMap::default();
    let route = TomlRoute {
        default: routing.default.clone().map(name_of),
        rule: vec![],
        domain_strategy: routing.strategy,
        unknown_tags: routing.unknown_tags,
    };
    route.write_to(Dialect::Toml, &mut out);
    let rules: Vec<Plain> = routing.rules.iter().map(|rule| Plain::Map(write_rule(rule))).collect();
    if !rules.is_empty() {
        out.put("rule", rules);
    }
    out
}

fn name_of(to: To) -> Name {
    match to {
        To::Outbound(name) | To::Balancer(name) => name,
    }
}

fn write_rule(rule: &Rule) -> PlainMap {
    let when = &rule.when;
    let mut raw = TomlRule {
        outbound: name_of(rule.to.clone()),
        network: when.network,
        name: rule.name.clone(),
        port: when.port.clone(),
        source_port: when.source_port.clone(),
        local_port: when.local_port.clone(),
        vless_route: when.vless_route.clone(),
        user: when.user.clone(),
        inbound: when.inbound.clone(),
        protocol: when.protocol.clone(),
        attrs: when.attrs.clone(),
        process: when.process.clone(),
        local_os: when.local_os.clone(),
        webhook: when.webhook.clone(),
        ..TomlRule::default()
    };
    for domain in &when.domain.0 {
        match domain {
            DomainRule::Suffix(text) => raw.domain_suffix.push(text.clone()),
            DomainRule::Full(text) => raw.domain_full.push(text.clone()),
            DomainRule::Keyword(text) => raw.domain_keyword.push(text.clone()),
            DomainRule::Regex(text) => raw.domain_regex.push(text.clone()),
            DomainRule::Dotless(text) => raw.domain_dotless.push(text.clone()),
            DomainRule::List(_) => raw.geosite.push(bare_list(&domain.to_string(), "geosite:")),
        }
    }
    for (rules, nets, not_nets, lists, not_lists) in [
        (&when.ip, &mut raw.cidr, &mut raw.not_cidr, &mut raw.geoip, &mut raw.not_geoip),
        (
            &when.source,
            &mut raw.source_cidr,
            &mut raw.source_not_cidr,
            &mut raw.source_geoip,
            &mut raw.source_not_geoip,
        ),
        (&when.local, &mut raw.local_cidr, &mut raw.local_not_cidr, &mut raw.local_geoip, &mut raw.local_not_geoip),
    ] {
        for rule in &rules.0 {
            match (&rule.set, rule.negated) {
                (IpSet::Net(_), false) => nets.0.push(rule.set.clone()),
                (IpSet::Net(_), true) => not_nets.0.push(rule.set.clone()),
                (IpSet::List(_), negated) => {
                    let text = IpRule { negated: false, set: rule.set.clone() }.to_string();
                    let list = if negated { &mut *not_lists } else { &mut *lists };
                    list.push(bare_list(&text, "geoip:"));
                }
            }
        }
    }
    let mut out = PlainMap { from: rule.at.span(), ..PlainMap::default() };
    raw.write_to(Dialect::Toml, &mut out);
    out
}

fn bare_list(text: &str, prefix: &str) -> String {
    text.strip_prefix(prefix).unwrap_or(text).to_owned()
}
