//! `routing.balancers` of Xray, of the `optimal` proposal, and of ours.

use crate::addr::Tag;
use crate::model::balancer::{
    Adaptive, Balancer, Failover, Hrw, LeastLoad, Member, Observed, Optimal, ProbeKind, Strategy, TcpProbe,
    is_probe_url,
};
use crate::model::name::Name;
use crate::record;
use crate::shape::{
    Defs, Dialect, Field, Kind, Millis, Node, Plain, PlainMap, Raw, Reader, Record, Seg, Severity, Spot, Table, Value,
    nearest,
};

record! {
    /// A named group of outbounds, one of which is chosen for each flow.
    pub struct RawBalancer {
        /// Its name.
        tag: Tag => "tag";
        /// Outbounds whose tags begin with one of these texts.
        selector: Names => "selector";
        /// Outbounds and other balancers by exact tag.
        members: Names => "members";
        /// How one is chosen: a word, or an object of `type` and `settings`.
        strategy: RawStrategy => "strategy";
        /// Settings of `optimal` beside the word.
        optimal: Option<Raw> => "optimalSettings";
        /// Who takes flows when no member lives: an outbound or another balancer.
        fallback: Option<Name> => "fallbackTag";
        /// Whether a failed dial is tried again on up to two other members, and real traffic may eject and return members;
        /// default: true for all but random and round robin.
        guards: Option<bool> => "guards";
        /// Where it stands.
        place: Spot, hidden;
    }
    hook RawBalancer::settle;
}

/// Tags, each with its place; a text is split at commas as Xray splits it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Names(pub Vec<Name>);

impl Field for Names {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match &node.value {
            Value::Text(text) => {
                let at = cx.spot(node);
                Some(Self(text.split(',').map(|t| Name { tag: t.into(), at: at.clone() }).collect()))
            }
            Value::List(items) => Some(Self(cx.each(items, Name::read).into_iter().flatten().collect())),
            _ => cx.wrong_type(node, "an array of strings, or one string with commas"),
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> serde_json::Value {
        crate::shape::TextList::shape(dialect, defs)
    }
}

/// `strategy`: `"optimal"`, or `{"type": "leastLoad", "settings": {…}}`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawStrategy {
    word: String,
    settings: Option<Raw>,
    spot: Spot,
}

record! {
    /// Strategy in Xray's form.
    pub struct StrategyObject {
        /// `random`, `roundRobin`, `leastPing`, `leastLoad`, `optimal`, `failover`, `hrw`, `adaptive`; any letter case.
        kind: String => "type";
        /// Settings of the strategy.
        settings: Option<Raw> => "settings";
    }
}

impl Field for RawStrategy {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let spot = cx.spot(node);
        match &node.value {
            Value::Text(word) => Some(Self { word: word.clone(), settings: None, spot }),
            Value::Map(_) => {
                let object = StrategyObject::read(cx, node)?;
                Some(Self { word: object.kind, settings: object.settings, spot })
            }
            _ => cx.wrong_type(node, "a word such as \"optimal\", or an object of `type` and `settings`"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.word.clone())
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> serde_json::Value {
        serde_json::json!({ "anyOf": [{ "type": "string" }, StrategyObject::shape(dialect, defs)] })
    }
}

/// The JSON words, for messages.
const WORDS: [&str; 8] = ["random", "roundRobin", "leastPing", "leastLoad", "optimal", "failover", "hrw", "adaptive"];

impl RawBalancer {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        self.place = cx.spot(table.node());
        if self.tag.is_empty() {
            cx.error(table.node(), Kind::Missing, "empty balancer tag").help = Some("add \"tag\": \"NAME\"".into());
        }
        if self.selector.0.is_empty() && self.members.0.is_empty() {
            let problem = cx.error(table.node(), Kind::Missing, format!("balancer {}: empty selector list", self.tag));
            problem.help = Some("add \"selector\": [\"PREFIX\"] with the beginnings of outbound tags".into());
        }
    }

    /// The balancer in the model. `path` of the reader must be that of the balancer.
    pub fn into_balancer(self, cx: &mut Reader<'_>) -> Option<Balancer> {
        let at = self.place.clone();
        if let (Some(_), Some(beside)) = (&self.strategy.settings, &self.optimal) {
            let problem =
                cx.error(&beside.0, Kind::Conflict, "both `strategy.settings` and `optimalSettings` are given");
            problem.help = Some("keep one of the two: they have the same keys".into());
        }
        let word = self.strategy.word.trim().to_lowercase();
        let inside = self.strategy.settings.as_ref().map(|raw| &raw.0);
        let beside = self.optimal.as_ref().map(|raw| &raw.0);
        let settings = inside.or(beside);
        if beside.is_some() && !matches!(word.as_str(), "optimal" | "adaptive") {
            let shown = if word.is_empty() { "random" } else { &word };
            let message = format!("`optimalSettings` is not used: the strategy is `{shown}`");
            if let Some(node) = beside {
                cx.warn(node, Kind::Ignored, message).help = Some("write \"strategy\": \"optimal\"".into());
            }
        }
        let settings = if matches!(word.as_str(), "optimal" | "adaptive") { settings } else { inside };
        let seg = if inside.is_some() { "strategy.settings" } else { "optimalSettings" };
        let (strategy, probe) = cx
            .within(Seg::Key(seg.into()), |cx| match word.as_str() {
                "" | "random" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::None)?;
                    Some((Strategy::Random(settings), probe))
                }
                "roundrobin" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::None)?;
                    Some((Strategy::RoundRobin(settings), probe))
                }
                "leastping" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::None)?;
                    Some((Strategy::LeastPing(settings), probe))
                }
                "leastload" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::None)?;
                    Some((Strategy::LeastLoad(settings), probe))
                }
                "optimal" => Some((Strategy::Optimal(get(cx, settings)?), None)),
                "adaptive" => Some((Strategy::Adaptive(get(cx, settings)?), None)),
                "hrw" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::None)?;
                    Some((Strategy::Hrw(settings), probe))
                }
                "failover" => {
                    let (settings, probe) = probed(cx, settings, ProbeKind::Auto)?;
                    Some((Strategy::Failover(settings), probe))
                }
                _ => None,
            })
            .or_else(|| {
                if !WORDS.iter().any(|w| w.eq_ignore_ascii_case(&word)) && !word.is_empty() {
                    let list = WORDS.map(|w| format!("`{w}`")).join(", ");
                    let message =
                        format!("balancer {}: unknown balancing strategy: {word}, expected one of {list}", self.tag);
                    let mut problem =
                        crate::shape::Problem::at(&self.strategy.spot, Severity::Error, Kind::Value, message);
                    problem.help = nearest(&word, WORDS).map(|w| format!("did you mean `{w}`?"));
                    cx.problems.push(problem);
                }
                None
            })?;
        let guards = self.guards.unwrap_or(!matches!(strategy, Strategy::Random(_) | Strategy::RoundRobin(_)));
        let exact = self.members.0.into_iter().map(Member::Exact);
        let members = exact.chain(self.selector.0.into_iter().map(Member::Prefix)).collect();
        let fallback = self.fallback.filter(|name| !name.tag.is_empty());
        Some(Balancer { at, tag: self.tag, members, strategy, probe, fallback, guards })
    }
}

/// Reads the settings, or takes the defaults. The node is a clone of the user's tree, so places stay right.
fn get<T: Field + Default>(cx: &mut Reader<'_>, node: Option<&Node>) -> Option<T> {
    match node {
        Some(node) => T::read(cx, node),
        None => Some(T::default()),
    }
}

record! {
    /// The check that a balancer runs itself; of ours, beside the settings of all strategies without speed tests.
    pub struct OwnProbe {
        /// `none`, `tcp`, `http`, `dns`, or `auto`: an observatory that watches members, else TCP where the member has an
        /// address and port, else HTTP.
        probe: Option<ProbeKind> => "probe";
        /// Seconds from the end of one check to the next.
        probe_interval: u64 = 30 => "probeInterval";
        /// Seconds for a whole check.
        probe_timeout: u64 = 5 => "probeTimeout";
        /// What checks by `http` and `dns` ask for, and what guards ask for: `http(s)://…`, or `dns://server/name`.
        probe_url: String => "probeUrl";
        /// Checks rest once no flow used the members for so long; absent: never.
        probe_idle: Option<Millis> => "probeIdle";
    }
    hook OwnProbe::settle;
}

impl OwnProbe {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if !self.probe_url.is_empty() && !is_probe_url(&self.probe_url) {
            let message = format!("the probe address {:?} is not an http://, https:// or dns:// URL", self.probe_url);
            cx.error(table.node(), Kind::Value, message);
        }
    }
}

/// Reads a strategy's settings with the keys of [`OwnProbe`] among them.
fn probed<T: Record>(cx: &mut Reader<'_>, node: Option<&Node>, usual: ProbeKind) -> Option<(T, Option<TcpProbe>)> {
    let (settings, own) = match node {
        Some(node) => {
            let mut table = Table::open(cx, node)?;
            let both = (T::read_from(cx, &mut table), OwnProbe::read_from(cx, &mut table));
            table.finish(cx);
            both
        }
        None => Default::default(),
    };
    let probe = TcpProbe {
        kind: own.probe.unwrap_or(usual),
        interval: own.probe_interval,
        timeout: own.probe_timeout,
        url: own.probe_url,
        idle: own.probe_idle,
    };
    Some((settings, Some(probe).filter(TcpProbe::counts)))
}

/// Writes them back, the probe only where it is not the usual one.
fn write_probed(settings: &impl Record, probe: Option<&TcpProbe>, usual: ProbeKind, out: &mut PlainMap) {
    settings.write_to(Dialect::Json, out);
    let probe = probe.cloned().unwrap_or_else(TcpProbe::none);
    let own = OwnProbe {
        probe: Some(probe.kind).filter(|kind| *kind != usual),
        probe_interval: probe.interval,
        probe_timeout: probe.timeout,
        probe_url: probe.url,
        probe_idle: probe.idle,
    };
    own.write_to(Dialect::Json, out);
}

/// The settings records, so that schemas know them although they are read late.
pub fn settings_schemas(dialect: Dialect, defs: &mut Defs) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("random", Observed::schema(dialect, defs)),
        ("roundRobin", Observed::schema(dialect, defs)),
        ("leastPing", Observed::schema(dialect, defs)),
        ("leastLoad", LeastLoad::schema(dialect, defs)),
        ("optimal", Optimal::schema(dialect, defs)),
        ("failover", Failover::schema(dialect, defs)),
        ("hrw", Hrw::schema(dialect, defs)),
        ("adaptive", Adaptive::schema(dialect, defs)),
    ]
}

/// Writes a balancer as Xray reads it, with our strategies in Xray's object form.
#[must_use]
pub fn write(balancer: &Balancer) -> PlainMap {
    let mut out = PlainMap { from: balancer.at.span(), ..PlainMap::default() };
    out.put("tag", balancer.tag.as_str());
    let (mut selector, mut exact) = (vec![], vec![]);
    for member in &balancer.members {
        match member {
            Member::Prefix(name) => selector.push(Plain::Text(name.tag.to_string())),
            Member::Exact(name) => exact.push(Plain::Text(name.tag.to_string())),
        }
    }
    if !selector.is_empty() {
        out.put("selector", selector);
    }
    if !exact.is_empty() {
        out.put("members", exact);
    }
    let mut settings = PlainMap::default();
    let (plain_probe, auto) = (ProbeKind::None, ProbeKind::Auto);
    let word = match &balancer.strategy {
        Strategy::Random(s) => {
            write_probed(s, balancer.probe.as_ref(), plain_probe, &mut settings);
            "random"
        }
        Strategy::RoundRobin(s) => {
            write_probed(s, balancer.probe.as_ref(), plain_probe, &mut settings);
            "roundRobin"
        }
        Strategy::Failover(s) => {
            write_probed(s, balancer.probe.as_ref(), auto, &mut settings);
            "failover"
        }
        Strategy::LeastPing(s) => {
            write_probed(s, balancer.probe.as_ref(), plain_probe, &mut settings);
            "leastPing"
        }
        Strategy::LeastLoad(s) => {
            write_probed(s, balancer.probe.as_ref(), plain_probe, &mut settings);
            "leastLoad"
        }
        Strategy::Optimal(s) => written(s, &mut settings, "optimal"),
        Strategy::Adaptive(s) => written(s, &mut settings, "adaptive"),
        Strategy::Hrw(s) => {
            write_probed(s, balancer.probe.as_ref(), plain_probe, &mut settings);
            "hrw"
        }
    };
    let plain = matches!(balancer.strategy, Strategy::Random(_)) && settings.is_empty();
    if !plain {
        let mut strategy = PlainMap::default();
        strategy.put("type", word);
        strategy.put_table("settings", settings);
        out.put_table("strategy", strategy);
    }
    if let Some(name) = &balancer.fallback {
        out.put("fallbackTag", name.tag.as_str());
    }
    let usual = !matches!(balancer.strategy, Strategy::Random(_) | Strategy::RoundRobin(_));
    if balancer.guards != usual {
        out.put("guards", balancer.guards);
    }
    out
}

fn written(settings: &impl Record, out: &mut PlainMap, word: &'static str) -> &'static str {
    settings.write_to(Dialect::Json, out);
    word
}

#[cfg(test)]
mod tests;
