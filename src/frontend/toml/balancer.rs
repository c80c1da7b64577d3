//! `[[balancer]]` of our TOML: the first users' five keys, and what else a balancer can say.

use crate::addr::Tag;
use crate::model::balancer::{
    Adaptive, Balancer, Failover, Hrw, LeastLoad, Member, Observed, Optimal, ProbeKind, Strategy, TcpProbe,
    is_probe_url,
};
use crate::model::name::Name;
use crate::record;
use crate::shape::{Dialect, Kind, Millis, Plain, PlainMap, Reader, Record, Severity, Spot, Table};

record! {
    /// A named group of outbounds. It can stand wherever an outbound's tag can.
    pub struct TomlBalancer {
        /// Its name; shares one name space with outbounds and other balancers.
        tag: Tag, required;
        /// Members by exact tag, at least one here or by `selector`: outbounds, and other balancers unless `probe` is
        /// `tcp`. With `failover` the order is the preference.
        outbounds: Option<Vec<Name>>;
        /// How a member is chosen: `failover`, `round_robin`, `random`, `least_ping`, `least_load`, `optimal`, `hrw`,
        /// `adaptive`.
        strategy: Option<String>;
        /// Seconds from the end of a member's check to the next; 0 = back to back.
        probe_interval: u64 = 30;
        /// Seconds for a whole check, name resolution included.
        probe_timeout: u64 = 5;
        /// What a check does: `tcp` (default of failover and round_robin), `http`, `dns`, `auto`, `none` (default of the
        /// others).
        probe: Option<ProbeKind>;
        /// What checks by `http` and `dns` ask for, and what guards ask for: `http(s)://…`, or `dns://server/name`.
        probe_url: String;
        /// Checks rest once no flow used the members for so long; absent: never.
        probe_idle: Option<Millis>;
        /// Members by the beginning of their tags.
        selector: Vec<Name>;
        /// Who takes flows when no member lives: an outbound or another balancer.
        fallback: Option<Name>;
        /// Whether a failed dial is tried again on up to two other members, and real traffic may eject and return members;
        /// default: true for all but random and round_robin.
        guards: Option<bool>;
        /// Settings of the strategy `failover`.
        failover: Option<Failover>;
        /// Settings of the strategy `round_robin`.
        round_robin: Option<Observed>;
        /// Settings of the strategy `random`.
        random: Option<Observed>;
        /// Settings of the strategy `least_ping`.
        least_ping: Option<Observed>;
        /// Settings of the strategy `least_load`.
        least_load: Option<LeastLoad>;
        /// Settings of the strategy `optimal`.
        optimal: Option<Optimal>;
        /// Settings of the strategy `hrw`.
        hrw: Option<Hrw>;
        /// Settings of the strategy `adaptive`.
        adaptive: Option<Adaptive>;
        /// Where it stands.
        place: Spot, hidden;
    }
    hook TomlBalancer::settle;
}

impl TomlBalancer {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        if self.outbounds.is_none() && self.selector.is_empty() {
            cx.error(table.node(), Kind::Missing, "missing field `outbounds`");
        } else if self.outbounds.as_ref().is_some_and(Vec::is_empty) && self.selector.is_empty() {
            cx.error(table.node(), Kind::Missing, "a balancer needs at least one outbound");
        }
        let word = self.word().to_owned();
        if !Strategy::NAMES.contains(&word.as_str()) {
            let list = Strategy::NAMES.map(|name| format!("\"{name}\"")).join(" or ");
            let message = format!("unknown balancer strategy \"{word}\" (expected {list})");
            let problem = cx.error(table.node(), Kind::Value, message);
            problem.help =
                crate::shape::nearest(&word, Strategy::NAMES).map(|name| format!("did you mean \"{name}\"?"));
        }
        for name in self.tables().into_iter().filter(|name| *name != word) {
            let message = format!("[balancer.{name}] is not used: the strategy is \"{word}\"");
            cx.error(table.node(), Kind::Conflict, message).help = Some(format!("write strategy = \"{name}\""));
        }
    }

    fn word(&self) -> &str {
        self.strategy.as_deref().unwrap_or("failover")
    }

    fn tables(&self) -> Vec<&'static str> {
        let given = [
            (self.failover.is_some(), "failover"),
            (self.round_robin.is_some(), "round_robin"),
            (self.random.is_some(), "random"),
            (self.least_ping.is_some(), "least_ping"),
            (self.least_load.is_some(), "least_load"),
            (self.optimal.is_some(), "optimal"),
            (self.hrw.is_some(), "hrw"),
            (self.adaptive.is_some(), "adaptive"),
        ];
        given.into_iter().filter(|(there, _)| *there).map(|(_, name)| name).collect()
    }

    /// The balancer in the model; an unknown strategy was reported by then.
    pub fn into_balancer(self, cx: &mut Reader<'_>) -> Option<Balancer> {
        let strategy = match self.word() {
            "failover" => Strategy::Failover(self.failover.unwrap_or_default()),
            "round_robin" => Strategy::RoundRobin(self.round_robin.unwrap_or_default()),
            "random" => Strategy::Random(self.random.unwrap_or_default()),
            "least_ping" => Strategy::LeastPing(self.least_ping.unwrap_or_default()),
            "least_load" => Strategy::LeastLoad(self.least_load.unwrap_or_default()),
            "optimal" => Strategy::Optimal(self.optimal.unwrap_or_default()),
            "hrw" => Strategy::Hrw(self.hrw.unwrap_or_default()),
            "adaptive" => Strategy::Adaptive(self.adaptive.unwrap_or_default()),
            _ => return None,
        };
        let own = TcpProbe {
            kind: self.probe.unwrap_or_else(|| usual_probe(&strategy)),
            interval: self.probe_interval,
            timeout: self.probe_timeout,
            url: self.probe_url,
            idle: self.probe_idle,
        };
        let span = self.place.span().unwrap_or_default();
        let usual = TcpProbe { kind: own.kind, url: own.url.clone(), ..TcpProbe::default() };
        let rounds = matches!(strategy, Strategy::Optimal(_) | Strategy::Adaptive(_));
        if own.kind == ProbeKind::None && own != usual {
            let message =
                format!("probe_interval and probe_timeout have no effect: strategy {} runs no check", strategy.name());
            cx.report(Severity::Warning, Kind::Ignored, span, message).help = Some("add probe = \"tcp\"".into());
        } else if own.kind != ProbeKind::None && rounds {
            let message = format!("probe has no effect: strategy {} runs tests of its own", strategy.name());
            cx.report(Severity::Warning, Kind::Ignored, span, message).help = Some("take it out".into());
        }
        if !own.url.is_empty() && !is_probe_url(&own.url) {
            let message = format!("the probe address {:?} is not an http://, https:// or dns:// URL", own.url);
            cx.report(Severity::Error, Kind::Value, span, message);
        }
        let exact = self.outbounds.unwrap_or_default().into_iter().map(Member::Exact);
        Some(Balancer {
            at: self.place,
            tag: self.tag,
            members: exact.chain(self.selector.into_iter().map(Member::Prefix)).collect(),
            probe: Some(own).filter(TcpProbe::counts),
            guards: self.guards.unwrap_or_else(|| usual_guards(&strategy)),
            fallback: self.fallback,
            strategy,
        })
    }
}

/// The first two strategies check members by TCP unless told otherwise.
fn usual_probe(strategy: &Strategy) -> ProbeKind {
    match strategy {
        Strategy::Failover(_) | Strategy::RoundRobin(_) => ProbeKind::Tcp,
        _ => ProbeKind::None,
    }
}

fn usual_guards(strategy: &Strategy) -> bool {
    !matches!(strategy, Strategy::Random(_) | Strategy::RoundRobin(_))
}

/// Writes one `[[balancer]]`.
#[must_use]
pub fn write(balancer: &Balancer) -> PlainMap {
    let mut raw = TomlBalancer { tag: balancer.tag.clone(), ..TomlBalancer::default() };
    let mut exact = vec![];
    for member in &balancer.members {
        match member {
            Member::Exact(name) => exact.push(name.clone()),
            Member::Prefix(name) => raw.selector.push(name.clone()),
        }
    }
    raw.outbounds = Some(exact).filter(|exact| !exact.is_empty());
    let word = balancer.strategy.name();
    raw.strategy = Some(word.to_owned()).filter(|word| word != "failover");
    let probe = balancer.probe.clone().unwrap_or_else(TcpProbe::none);
    raw.probe = Some(probe.kind).filter(|kind| *kind != usual_probe(&balancer.strategy));
    (raw.probe_interval, raw.probe_timeout) = (probe.interval, probe.timeout);
    (raw.probe_url, raw.probe_idle) = (probe.url, probe.idle);
    raw.fallback.clone_from(&balancer.fallback);
    raw.guards = Some(balancer.guards).filter(|guards| *guards != usual_guards(&balancer.strategy));
    let mut out = PlainMap { from: balancer.at.span(), ..PlainMap::default() };
    raw.write_to(Dialect::Toml, &mut out);
    let mut settings = PlainMap::default();
    match &balancer.strategy {
        Strategy::Failover(s) => s.write_to(Dialect::Toml, &mut settings),
        Strategy::Random(s) | Strategy::RoundRobin(s) | Strategy::LeastPing(s) => {
            s.write_to(Dialect::Toml, &mut settings)
        }
        Strategy::LeastLoad(s) => s.write_to(Dialect::Toml, &mut settings),
        Strategy::Optimal(s) => s.write_to(Dialect::Toml, &mut settings),
        Strategy::Hrw(s) => s.write_to(Dialect::Toml, &mut settings),
        Strategy::Adaptive(s) => s.write_to(Dialect::Toml, &mut settings),
    }
    if !settings.is_empty() {
        out.put(word, Plain::Map(settings));
    }
    out
}

#[cfg(test)]
pub(in crate::frontend) mod tests;
