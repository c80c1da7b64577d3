//! Balancers: who is a member, how one is chosen, and how members are measured.

use std::time::Duration;

use crate::addr::Tag;
use crate::shape::{GoTime, Kind, Millis, Reader, Spot, Table};
use crate::{record, words};

use super::hashkey::{HashKey, KeyPart};
use super::name::Name;

/// A named group of outbounds, one of which is chosen for each flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancer {
    /// Where it is written.
    pub at: Spot,
    /// Its name.
    pub tag: Tag,
    /// Who belongs to it, in order.
    pub members: Vec<Member>,
    /// How one is chosen.
    pub strategy: Strategy,
    /// The check of each member that the balancer runs itself, if any.
    pub probe: Option<TcpProbe>,
    /// Who takes flows when no member lives.
    pub fallback: Option<Name>,
    /// Whether a failed dial is tried again on other members, and real traffic may eject and return members.
    pub guards: bool,
}

/// One entry of a balancer's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// Exactly this outbound, or if there is none, this balancer.
    Exact(Name),
    /// Every outbound whose tag begins so, in the order of their tags.
    Prefix(Name),
}

words! {
    /// What a balancer's own check does.
    pub enum ProbeKind(exact) {
        /// Opens and closes a TCP connection to the member's server.
        Tcp = "tcp";
        /// Sends a small HTTP request through the member.
        Http = "http";
        /// What fits: an observatory that watches members, else TCP where the member has an address and port, else HTTP.
        Auto = "auto";
        /// Asks a name server by UDP through the member.
        Dns = "dns";
        /// There is none.
        None = "none";
    }
}

/// A check at a fixed pause, by the rules of `[[balancer]]`'s `probe_interval` and `probe_timeout`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpProbe {
    /// What it does.
    pub kind: ProbeKind,
    /// Seconds from the end of one check to the next; 0 is back to back.
    pub interval: u64,
    /// Seconds for a whole check, name resolution included.
    pub timeout: u64,
    /// What is asked for through the member, and by guards; empty: the usual address.
    pub url: String,
    /// Checks rest once no flow used the members for so long.
    pub idle: Option<Millis>,
}

impl Default for TcpProbe {
    fn default() -> Self {
        Self { kind: ProbeKind::Tcp, interval: 30, timeout: 5, url: String::new(), idle: None }
    }
}

impl TcpProbe {
    /// Nothing is checked; the address, if there is one, is for guards alone.
    #[must_use]
    pub fn none() -> Self {
        Self { kind: ProbeKind::None, ..Self::default() }
    }

    /// Whether it says anything.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.kind != ProbeKind::None || !self.url.is_empty()
    }
}

/// Whether a text is an address of light probes: a page, or a question to a name server (`dns://server/name`, RFC 4501).
#[must_use]
pub fn is_probe_url(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["http://", "https://", "dns://"].iter().any(|scheme| text.starts_with(scheme))
}

/// How a member is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// By chance.
    Random(Observed),
    /// In turn.
    RoundRobin(Observed),
    /// The first that is up.
    Failover(Failover),
    /// The one that answered fastest.
    LeastPing(Observed),
    /// One of the steadiest.
    LeastLoad(LeastLoad),
    /// By rendezvous hashing of the flow's key.
    Hrw(Hrw),
    /// The highest rate x weight of the last speed test.
    Optimal(Optimal),
    /// Speed, steadiness and availability over several tests.
    Adaptive(Adaptive),
}

impl Strategy {
    /// The TOML names, the seed's two first.
    pub const NAMES: [&'static str; 8] =
        ["failover", "round_robin", "random", "least_ping", "least_load", "optimal", "hrw", "adaptive"];

    /// The TOML name, which is also the name of its settings table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random(_) => "random",
            Self::RoundRobin(_) => "round_robin",
            Self::Failover(_) => "failover",
            Self::LeastPing(_) => "least_ping",
            Self::LeastLoad(_) => "least_load",
            Self::Hrw(_) => "hrw",
            Self::Optimal(_) => "optimal",
            Self::Adaptive(_) => "adaptive",
        }
    }
}

record! {
    /// Settings of strategies that only look at what an observatory reports.
    pub struct Observed {
        /// The observatory to look at, where there are several.
        observer: String => "observerTag";
        /// Whether members reported dead are left out even without a fallback.
        alive_only: bool => "aliveOnly";
        /// Weights of members; random and round robin go by them.
        weights: Vec<Weight> => "weights";
    }
}

record! {
    /// Settings of `failover`.
    pub struct Failover {
        /// Successes in a row before new flows return to a preferred member.
        return_after: u32 = 1 => "returnAfter";
    }
}

record! {
    /// Weight of one member.
    pub struct Weight {
        /// Its tag, exactly.
        tag: Tag => "tag", required;
        /// Its weight.
        weight: u32 = 100 => "weight";
    }
}

words! {
    /// Who serves before the first result of the first round.
    pub enum Startup(exact) {
        /// The first member of the list.
        First = "first";
        /// Nobody for up to `startup_wait`; flows are held.
        Wait = "wait";
    }
}

record! {
    /// Settings of `optimal`: every member fetches `url` through itself; rate x weight is its score; the highest serves
    /// until the next round.
    pub struct Optimal {
        /// Bound of one attempt.
        timeout: Millis = Millis(Duration::from_secs(5)) => "timeout";
        /// Pause from the end of a round to the start of the next.
        interval: Millis = Millis(Duration::from_secs(600)) => "interval";
        /// What is fetched.
        url: String = "https://www.google.com".into() => "url";
        /// Attempts a round, one after another.
        count: u32 = 1 => "count";
        /// Weights of members by tag; 100 where none is given.
        weights: Vec<Weight> => "weights";
        /// Bytes after which an attempt ends.
        max_bytes: u64 = 16 << 20 => "maxBytes";
        /// Statuses that count as success, `from-to`.
        accept_status: StatusRange => "acceptStatus";
        /// Who serves before the first result.
        startup: Startup => "startup";
        /// How long flows are held with `startup = "wait"`.
        startup_wait: Millis = Millis(Duration::from_secs(2)) => "startupWait";
        /// Address of light probes: guards ask it, and it tells a dead `url` from dead members. Empty: the origin of `url`.
        probe_url: String => "probeUrl";
        /// Most of the start of a round that is spread over its members; 0 = all start together.
        stagger: Millis => "stagger";
        /// Rounds rest once no flow used the members for so long; absent: never.
        idle: Option<Millis> => "idle";
        /// Whether servers that offer to answer tests themselves are asked instead of `url`.
        responder: bool => "responder";
    }
    hook Optimal::settle;
}

impl Optimal {
    /// Checks what the types cannot say.
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        settle_test(cx, table, (&self.url, &self.probe_url), self.count, self.timeout);
    }
}

/// What every kind of speed test must keep.
fn settle_test(cx: &mut Reader<'_>, table: &Table<'_>, urls: (&str, &str), count: u32, timeout: Millis) {
    let (url, probe_url) = urls;
    let lower = url.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        let message = format!("the test address {url:?} is not an http:// or https:// URL");
        cx.error(table.node(), Kind::Value, message);
    }
    if !probe_url.is_empty() && !is_probe_url(probe_url) {
        let message = format!("the probe address {probe_url:?} is not an http://, https:// or dns:// URL");
        cx.error(table.node(), Kind::Value, message);
    }
    if count == 0 {
        let problem = cx.error(table.node(), Kind::Value, "`count` must be at least 1");
        problem.help = Some("leave it out for one attempt a round".into());
    }
    if timeout.is_zero() {
        cx.error(table.node(), Kind::Value, "`timeout` must be above 0: no attempt could succeed");
    }
}

impl LeastLoad {
    /// Checks what the types cannot say.
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        if self.tolerance > 1.0 {
            let message = format!("`tolerance` is a share from 0 to 1: {} counts as 1", self.tolerance);
            cx.warn(table.node(), Kind::Value, message).help = Some("30 percent are 0.3".into());
        }
    }
}

/// Inclusive range of HTTP statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    /// Lowest.
    pub from: u16,
    /// Highest.
    pub to: u16,
}

impl Default for StatusRange {
    fn default() -> Self {
        Self { from: 200, to: 399 }
    }
}

impl crate::shape::Field for StatusRange {
    fn read(cx: &mut Reader<'_>, node: &crate::shape::Node) -> Option<Self> {
        let range = crate::shape::Ranged::read(cx, node)?;
        match (u16::try_from(range.from), u16::try_from(range.to)) {
            (Ok(from), Ok(to)) if from >= 100 && to <= 999 => Some(Self { from, to }),
            _ => cx.wrong_value(node, "a range of HTTP statuses such as \"200-399\""),
        }
    }

    fn write(&self, _: crate::shape::Dialect) -> crate::shape::Plain {
        format!("{}-{}", self.from, self.to).into()
    }

    fn shape(dialect: crate::shape::Dialect, defs: &mut crate::shape::Defs) -> serde_json::Value {
        crate::shape::Ranged::shape(dialect, defs)
    }
}

record! {
    /// Settings of `adaptive`.
    pub struct Adaptive {
        /// Bound of one attempt.
        timeout: Millis = Millis(Duration::from_secs(5)) => "timeout";
        /// Pause from the end of a round to the start of the next.
        interval: Millis = Millis(Duration::from_secs(600)) => "interval";
        /// What is fetched.
        url: String = "https://www.google.com".into() => "url";
        /// Weights of members by tag; 100 where none is given.
        weights: Vec<Weight> => "weights";
        /// Bytes after which an attempt ends.
        max_bytes: u64 = 16 << 20 => "maxBytes";
        /// Statuses that count as success, `from-to`.
        accept_status: StatusRange => "acceptStatus";
        /// Tests remembered.
        window: u32 = 8 => "window";
        /// Age at which a test counts half; absent: the longer of 300 s and 1.5 intervals.
        half_life: Option<Millis> => "halfLife";
        /// How much unsteadiness costs.
        kappa: f64 = 1.0 => "kappa";
        /// How much failures cost.
        gamma: f64 = 2.0 => "gamma";
        /// By how much another must be better before it serves.
        margin: f64 = 0.15 => "margin";
        /// Extra rounds after the start.
        warmup: Vec<Millis> = [20, 60, 180].map(|s| Millis(Duration::from_secs(s))).into() => "warmup";
        /// Whether trouble seen on real flows starts a round early.
        early_rounds: bool = true => "earlyRounds";
        /// Attempts a round, one after another.
        count: u32 = 1 => "count";
        /// Who serves before the first result.
        startup: Startup => "startup";
        /// How long flows are held with `startup = "wait"`.
        startup_wait: Millis = Millis(Duration::from_secs(2)) => "startupWait";
        /// Address of light probes: guards ask it, and it tells a dead `url` from dead members. Empty: the origin of `url`.
        probe_url: String => "probeUrl";
        /// Most of the start of a round that is spread over its members; 0 = all start together.
        stagger: Millis => "stagger";
        /// Rounds rest once no flow used the members for so long; absent: never.
        idle: Option<Millis> => "idle";
        /// Whether servers that offer to answer tests themselves are asked instead of `url`.
        responder: bool => "responder";
    }
    hook Adaptive::settle;
}

impl Adaptive {
    fn settle(&mut self, cx: &mut Reader<'_>, table: &mut Table<'_>) {
        settle_test(cx, table, (&self.url, &self.probe_url), self.count, self.timeout);
        if self.window == 0 {
            cx.error(table.node(), Kind::Value, "`window` must be at least 1").help =
                Some("leave it out for 8 tests".into());
        }
        for (name, value) in [("kappa", self.kappa), ("gamma", self.gamma), ("margin", self.margin)] {
            if value < 0.0 {
                cx.error(table.node(), Kind::Value, format!("`{name}` must not be below 0"));
            }
        }
        if self.margin > 1.0 {
            let message = format!("`margin` is a share, and {} means {} times as good", self.margin, 1.0 + self.margin);
            cx.warn(table.node(), Kind::Value, message).help = Some("15 percent are 0.15".into());
        }
    }
}

record! {
    /// Settings of `least_load`.
    pub struct LeastLoad {
        /// The observatory to look at, where there are several.
        observer: String => "observerTag";
        /// Multipliers of a member's cost, the first that matches counts.
        costs: Vec<Cost> => "costs";
        /// Costs under which members are taken together, in the written order.
        baselines: Vec<GoTime> => "baselines";
        /// How many members to take.
        expected: i32 => "expected";
        /// Average delay from which a member is left out; 0 is no limit.
        max_rtt: GoTime => "maxRTT";
        /// Share of failures from which a member is left out; 0 is off.
        tolerance: f64 => "tolerance";
    }
    hook LeastLoad::settle;
}

record! {
    /// One entry of `costs`.
    pub struct Cost {
        /// Whether `match` is an expression.
        regexp: bool => "regexp";
        /// Part of the tag, or an expression.
        r#match: String => "match";
        /// The weight; 0 or less: the first number in the matched text.
        value: f64 => "value";
    }
}

record! {
    /// Settings of `hrw`.
    pub struct Hrw {
        /// What is hashed: `source_ip`, `user`, `inbound_tag`, `dest_host`, `dest_site`, `dest_ip`, `dest_port`, or, where
        /// the flow is HTTP, one of nginx's variables such as `$http_x_user_id`, `$arg_NAME`, `$cookie_NAME`, `$host`.
        /// Several are joined; one that a flow does not have counts as empty.
        hash_key: HashKey = HashKey(vec![KeyPart::DestHost]) => "hashKey";
        /// Weights of members by tag; 1 where none is given, not positive = not a member.
        weights: Vec<HrwWeight> => "weights";
        /// Members that take no new flow.
        fenced: Vec<Tag> => "fenced";
        /// Only so many best members compete; 0 = all.
        top: u32 => "top";
        /// The observatory to look at, where there are several.
        observer: String => "observerTag";
    }
}

impl Hrw {
    /// The weight of a member; the first entry with its exact tag counts.
    #[must_use]
    pub fn weight(&self, tag: &Tag) -> i64 {
        self.weights.iter().find(|weight| weight.tag == *tag).map_or(1, |weight| weight.weight)
    }
}

record! {
    /// Weight of one member of `hrw`.
    pub struct HrwWeight {
        /// Its tag, exactly.
        tag: Tag => "tag", required;
        /// Its weight.
        weight: i64 = 1 => "weight";
    }
}
