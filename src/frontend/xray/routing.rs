//! `routing` of Xray: strategy and rules. Balancers are read next door.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::addr::{PortSet, Tag};
use crate::model::fields::Networks;
use crate::model::matcher::{self, DomainRules, IpRules};
use crate::model::name::Name;
use crate::model::routing::{RouteStrategy, Routing, Rule, To, UnknownTags, Webhook, When};
use crate::record;
use crate::shape::{
    Class, Defs, Dialect, Field, Key, Kind, Node, Plain, PlainMap, Raw, Reader, Record, Seg, Severity, Spot, Table,
    TextList, Value,
};

use super::balancer::RawBalancer;

record! {
    /// Which flow goes where.
    pub struct RawRouting {
        /// When names are resolved for address conditions.
        strategy: Option<RouteStrategy> => "domainStrategy";
        /// The rules; the first whose conditions all hold counts.
        rules: Vec<RawRule> => "rules";
        /// Groups of outbounds, one of which is chosen for each flow.
        balancers: Vec<RawBalancer> => "balancers";
        /// V2Ray 3: strategy and rules one level deeper.
        settings: Option<OldRouting> => "settings";
    }
    ignored {
        "domainMatcher" => "every matcher here gives the same answers, and one set serves them all",
        "strategy" => "a word of very old files; it never had another value than `rules`",
    }
}

record! {
    /// V2Ray 3's `routing.settings`.
    pub struct OldRouting {
        /// As outside.
        strategy: Option<RouteStrategy> => "domainStrategy";
        /// Appended to those outside.
        rules: Vec<RawRule> => "rules";
    }
    ignored {
        "domainMatcher" => "every matcher here gives the same answers, and one set serves them all",
    }
}

record! {
    /// One rule.
    pub struct RawRule {
        /// Always `field`.
        kind: Option<Raw> => "type";
        /// Its own name, for logs and the API.
        name: String => "ruleTag";
        /// The outbound that takes matching flows.
        outbound: Option<Name> => "outboundTag";
        /// The balancer that takes matching flows.
        balancer: Option<Name> => "balancerTag";
        /// Name of the target: `domain:`, `full:`, `keyword:`, `regexp:`, `dotless:`, `geosite:`, `ext:`; a text without
        /// prefix is part of a name.
        domain: DomainRules => "domains" | "domain";
        /// Address of the target: an address, a network, `geoip:`, `ext:`; `!` negates.
        ip: IpRules => "ip";
        /// Port of the target.
        port: Option<PortSet> => "port";
        /// `tcp`, `udp`, `unix`.
        network: Option<Networks> => "network";
        /// Address of the client.
        source: IpRules => "sourceIP" | "source";
        /// Port of the client.
        source_port: Option<PortSet> => "sourcePort";
        /// Address on which the connection was accepted.
        local: IpRules => "localIP";
        /// Port on which the connection was accepted.
        local_port: Option<PortSet> => "localPort";
        /// Email of the user, exact, or `regexp:` and an expression.
        user: TextList => "user";
        /// Number in bytes 7 and 8 of a VLESS client's id.
        vless_route: Option<PortSet> => "vlessRoute";
        /// Tag of the inbound.
        inbound: TextList => "inboundTag";
        /// Sniffed protocol, by prefix.
        protocol: TextList => "protocol";
        /// HTTP attributes: name to expression.
        attrs: Attrs => "attrs";
        /// Program that owns the client's socket.
        process: TextList => "process";
        /// System on which the rule counts.
        local_os: TextList => "localOS";
        /// Told of every flow that takes the rule.
        webhook: Option<Webhook> => "webhook";
        /// Where the rule stands.
        place: Spot, hidden;
    }
    ignored {
        "domainMatcher" => "every matcher here gives the same answers, and one set serves them all",
    }
    hook RawRule::settle;
}

/// `attrs`: an object, or V2Ray's text of Starlark, which cannot be carried.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attrs(pub BTreeMap<String, String>);

impl Field for Attrs {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        if node.text().is_some() {
            let problem = cx.error(node, Kind::Value, "a Starlark expression in `attrs` is not supported");
            problem.help = Some("write an object of attribute and expression, such as {\":method\": \"GET\"}".into());
            return None;
        }
        let attrs = BTreeMap::<String, String>::read(cx, node)?;
        if let Value::Map(entries) = &node.value {
            for entry in entries {
                if let Some(pattern) = entry.node.text()
                    && let Err(why) = matcher::regex(pattern)
                {
                    cx.key(&entry.key, |cx| {
                        cx.error(&entry.node, Kind::Value, why);
                    });
                }
            }
        }
        Some(Self(attrs))
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> serde_json::Value {
        BTreeMap::<String, String>::shape(dialect, defs)
    }
}

impl RawRule {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        if let Some(kind) = &self.kind {
            cx.key("type", |cx| cx.mark(kind.0.span, Class::Default, "every rule is a field rule"));
        }
        // Xray takes an empty tag for none.
        for name in [&mut self.outbound, &mut self.balancer] {
            *name = name.take().filter(|name| !name.tag.is_empty());
        }
        if self.outbound.is_none() && self.balancer.is_none() {
            let problem = cx.error(
                table.node(),
                Kind::Missing,
                "neither outboundTag nor balancerTag is specified in routing rule",
            );
            problem.help = Some("add \"outboundTag\": \"TAG\" or \"balancerTag\": \"TAG\"".into());
        }
        self.never(cx, table);
        if let (Some(_), Some(balancer)) = (&self.outbound, &self.balancer) {
            cx.report(
                Severity::Warning,
                Kind::Ignored,
                balancer.at.span().unwrap_or_default(),
                "`balancerTag` is not used: `outboundTag` is given too and wins",
            );
            cx.mark(balancer.at.span().unwrap_or_default(), Class::Dropped, "`outboundTag` is given too and wins");
        }
    }

    /// Conditions that hold for no flow: Xray takes them in silence, and the rule does nothing.
    fn never(&self, cx: &mut Reader<'_>, table: &Table<'_>) {
        let ports: [(&'static [&'static str], _); 3] =
            [(&["port"], &self.port), (&["sourcePort"], &self.source_port), (&["localPort"], &self.local_port)];
        for (names, set) in ports {
            let nothing = set.as_ref().is_some_and(|set| set.ranges().iter().all(|range| *range == (0, 0)));
            let Some(entry) = table.peek(cx.dialect, Key::json(names)).filter(|_| nothing) else { continue };
            cx.key(&entry.key, |cx| {
                let what = format!("`{}` names no port, so the rule matches nothing, as in Xray", entry.key);
                cx.warn(&entry.node, Kind::Value, what).help = Some("leave it out to mean every port".into());
            });
        }
        let Some(entry) = table.peek(cx.dialect, Key::json(&["user"])) else { return };
        for (n, text) in self.user.0.iter().enumerate() {
            if let Err(why) = matcher::user(text) {
                let node = entry.node.list().and_then(|items| items.get(n)).unwrap_or(&entry.node);
                cx.key(&entry.key, |cx| {
                    cx.within(Seg::Index(n), |cx| {
                        cx.warn(node, Kind::Value, why).help = Some("it matches nobody, as in Xray".into());
                    });
                });
            }
        }
    }

    /// The rule in the model; one without any condition is reported.
    fn into_rule(self, cx: &mut Reader<'_>) -> Option<Rule> {
        let at = self.place.clone();
        let to = match (self.outbound, self.balancer) {
            (Some(name), _) => To::Outbound(name),
            (None, Some(name)) => To::Balancer(name),
            (None, None) => return None,
        };
        let tags = self.inbound.0.iter().filter(|t| !t.is_empty()).map(|t| Tag::new(t)).collect();
        let when = When {
            domain: self.domain,
            ip: self.ip,
            source: self.source,
            local: self.local,
            port: self.port,
            source_port: self.source_port,
            local_port: self.local_port,
            vless_route: self.vless_route,
            network: self.network,
            user: self.user.0.into_iter().filter(|t| !t.is_empty()).collect(),
            inbound: tags,
            protocol: self.protocol.0.into_iter().filter(|t| !t.is_empty()).collect(),
            attrs: self.attrs.0,
            process: self.process.0.into_iter().filter(|t| !t.is_empty()).collect(),
            local_os: self.local_os.0.into_iter().map(|t| t.to_lowercase()).filter(|t| !t.is_empty()).collect(),
            webhook: self.webhook.filter(|hook| !hook.url.is_empty()),
        };
        if when.is_empty() {
            // A condition that could not be read was told already; that it is missing is not a second mistake.
            if cx.problems.iter().any(|p| p.severity == Severity::Error && p.path.starts_with(at.path())) {
                return None;
            }
            let span = at.span().unwrap_or_default();
            let help = "name at least one condition; for all flows write \"network\": \"tcp,udp\"";
            let problem = cx.report(Severity::Error, Kind::Missing, span, "this rule has no effective fields");
            problem.path = at.path().to_owned();
            problem.help = Some(help.into());
            return None;
        }
        Some(Rule { at, name: self.name, to, when: Arc::new(when) })
    }
}

impl RawRouting {
    /// Strategy and rules in the model. The balancers are taken by whoever reads the root.
    pub fn into_routing(self, cx: &mut Reader<'_>) -> Routing {
        let old = self.settings.unwrap_or_default();
        let strategy = self.strategy.or(old.strategy).unwrap_or_default();
        let rules = self.rules.into_iter().chain(old.rules).filter_map(|rule| rule.into_rule(cx)).collect();
        Routing { strategy, default: None, unknown_tags: UnknownTags::Refuse, rules }
    }
}

/// Writes the rules as Xray reads them.
#[must_use]
pub fn write(routing: &Routing) -> PlainMap {
    let mut out = PlainMap::default();
    if routing.strategy != RouteStrategy::default() {
        out.put("domainStrategy", routing.strategy.write(Dialect::Json));
    }
    let rules: Vec<Plain> = routing.rules.iter().map(|rule| Plain::Map(write_rule(rule))).collect();
    if !rules.is_empty() {
        out.put("rules", rules);
    }
    out
}

fn write_rule(rule: &Rule) -> PlainMap {
    let when = &rule.when;
    let (outbound, balancer) = match &rule.to {
        To::Outbound(name) => (Some(name.clone()), None),
        To::Balancer(name) => (None, Some(name.clone())),
    };
    let raw = RawRule {
        name: rule.name.clone(),
        outbound,
        balancer,
        domain: when.domain.clone(),
        ip: when.ip.clone(),
        port: when.port.clone(),
        network: when.network,
        source: when.source.clone(),
        source_port: when.source_port.clone(),
        local: when.local.clone(),
        local_port: when.local_port.clone(),
        user: TextList(when.user.clone()),
        vless_route: when.vless_route.clone(),
        inbound: TextList(when.inbound.iter().map(|t| t.to_string()).collect()),
        protocol: TextList(when.protocol.clone()),
        attrs: Attrs(when.attrs.clone()),
        process: TextList(when.process.clone()),
        local_os: TextList(when.local_os.clone()),
        webhook: when.webhook.clone(),
        ..RawRule::default()
    };
    let mut out = PlainMap { from: rule.at.span(), ..PlainMap::default() };
    raw.write_to(Dialect::Json, &mut out);
    // Read first because it wins, written last because V2Ray and every guide say `domain`.
    if let Some((key, _)) = out.entries.iter_mut().find(|(key, _)| key == "domains") {
        *key = "domain".into();
    }
    out
}

#[cfg(test)]
mod tests;
