//! A config of many rules, each with an outbound of its own, and flows to send through it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::words::{self, Dialect, Dice};

/// Rules, and flows for them.
pub struct Sample {
    strategy: &'static str,
    hosts: Map<String, Value>,
    rules: Vec<Value>,
    pub flows: Vec<Flow>,
}

/// Ports of what a config leads to.
#[derive(Debug, Clone, Copy)]
pub struct Around {
    /// A name server.
    pub dns: u16,
    /// Somebody who takes connections and ends them.
    pub sink: u16,
}

/// One flow of a client.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Where the client sits; no other flow of the sample comes from there.
    pub source: SocketAddr,
    pub door: Door,
    pub host: String,
    pub port: u16,
    /// Datagrams in place of a stream.
    pub udp: bool,
    /// Method and path of a request, where the client speaks HTTP.
    pub request: (&'static str, &'static str),
    /// The name that a request inside a tunnel is for.
    pub inner: String,
}

/// How a flow comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// SOCKS.
    Plain,
    /// SOCKS with a login: the name and its password.
    Login(&'static str, &'static str),
    /// An HTTP proxy.
    Web,
    /// SOCKS, and the first bytes are read.
    Listening,
}

impl Door {
    /// The tags of inbounds in their order.
    pub const TAGS: [&'static str; 4] = ["plain", "login", "web", "listening"];

    /// The place of its inbound.
    pub fn place(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Login(..) => 1,
            Self::Web => 2,
            Self::Listening => 3,
        }
    }
}

const USERS: [(&str, &str); 2] = [("love", "x"), ("hate", "y")];

impl Sample {
    pub fn new(seed: u64, dialect: Dialect, rules: usize, flows: usize) -> Self {
        let mut dice = Dice::new(seed);
        let strategy = ["AsIs", "IPIfNonMatch", "IPOnDemand"][dice.below(3)];
        let names: Vec<String> = (0..flows / 4).map(|_| words::name(&mut dice)).collect();
        let hosts = hosts(&mut dice, &names);
        let rules = (0..rules).map(|n| rule(&mut dice, dialect, n)).collect();
        let flows = (0..flows).map(|n| flow(&mut dice, &names, n)).collect();
        Self { strategy, hosts, rules, flows }
    }

    /// The config, with listeners at these ports and the access log in this file. `old` writes what v2ray 4.34 spells
    /// otherwise.
    pub fn config(&self, doors: &[u16; 4], around: Around, access: &str, old: bool) -> Value {
        let accounts: Vec<Value> = USERS.iter().map(|(user, pass)| json!({ "user": user, "pass": pass })).collect();
        let settings = [
            json!({ "udp": true, "ip": "127.0.0.1" }),
            json!({ "auth": "password", "accounts": accounts }),
            json!({}),
            json!({ "udp": true, "ip": "127.0.0.1" }),
        ];
        let sniffing = json!({ "enabled": true, "destOverride": ["http", "tls"] });
        let inbounds = Door::TAGS.iter().zip(settings).zip(doors).map(|((tag, settings), port)| {
            let protocol = if *tag == "web" { "http" } else { "socks" };
            let sniffing = if *tag == "listening" { sniffing.clone() } else { json!({ "enabled": false }) };
            json!({
                "tag": tag, "protocol": protocol, "listen": "127.0.0.1", "port": port, "settings": settings,
                "sniffing": sniffing,
            })
        });
        let mut outbounds = vec![json!({ "tag": "rest", "protocol": "blackhole" })];
        // Our balancers have no member that carries nothing.
        let sink = json!({ "redirect": format!("127.0.0.1:{}", around.sink) });
        outbounds.extend(self.rules.iter().enumerate().map(|(n, rule)| match rule.get("balancerTag") {
            Some(_) => json!({ "tag": out(n), "protocol": "freedom", "settings": sink }),
            None => json!({ "tag": out(n), "protocol": "blackhole" }),
        }));
        outbounds.push(json!({ "tag": "ask", "protocol": "freedom" }));
        let balancers: Vec<Value> = (0..self.rules.len()).map(balancer).collect();
        let mut rules = vec![json!({ "type": "field", "inboundTag": ["names"], "outboundTag": "ask" })];
        rules.extend(self.rules.iter().map(|rule| if old { in_old_words(rule) } else { rule.clone() }));
        json!({
            "log": { "access": access, "loglevel": "warning" },
            "dns": { "tag": "names", "hosts": self.hosts, "servers": [{ "address": "127.0.0.1", "port": around.dns }] },
            "inbounds": inbounds.collect::<Vec<_>>(),
            "outbounds": outbounds,
            "routing": { "domainStrategy": self.strategy, "balancers": balancers, "rules": rules },
        })
    }

    /// What a difference is about.
    pub fn rule_of(&self, tag: &str) -> String {
        let at = tag.strip_prefix('r').and_then(|n| n.parse::<usize>().ok());
        at.and_then(|at| self.rules.get(at)).map_or_else(|| "no rule".into(), Value::to_string)
    }

    pub fn strategy(&self) -> &'static str {
        self.strategy
    }

    /// What the config itself says of a name.
    pub fn host(&self, name: &str) -> Option<&Value> {
        self.hosts.iter().find(|(key, _)| key.trim_start_matches("full:") == name).map(|(_, value)| value)
    }
}

fn out(n: usize) -> String {
    format!("r{n:03}")
}

/// One member, which it finds by the beginning of its tag.
fn balancer(n: usize) -> Value {
    json!({ "tag": format!("b{n:03}"), "selector": [out(n)], "strategy": { "type": "random" } })
}

/// Addresses of some of the names; each is said once, since the order among several is nobody's promise.
fn hosts(dice: &mut Dice, names: &[String]) -> Map<String, Value> {
    let mut hosts = Map::new();
    for name in names {
        let known = hosts.contains_key(name) || hosts.contains_key(&format!("full:{name}"));
        if known || !dice.often(60) {
            continue;
        }
        let key = if dice.often(50) { format!("full:{name}") } else { name.clone() };
        let alias = dice.often(10);
        let value = if alias { words::name(dice) } else { words::address(dice) };
        if value != *name {
            hosts.insert(key, value.into());
        }
    }
    hosts
}

fn rule(dice: &mut Dice, dialect: Dialect, n: usize) -> Value {
    let mut rule = Map::new();
    rule.insert("type".into(), "field".into());
    while rule.len() == 1 {
        conditions(dice, dialect, &mut rule);
    }
    let (key, tag) = if dice.often(15) { ("balancerTag", format!("b{n:03}")) } else { ("outboundTag", out(n)) };
    rule.insert(key.into(), tag.into());
    rule.into()
}

fn conditions(dice: &mut Dice, dialect: Dialect, rule: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| rule.insert(key.into(), value);
    if dice.often(50) {
        put("domain", (0..=dice.below(3)).map(|_| words::domain_rule(dice, dialect)).collect());
    }
    if dice.often(30) {
        let all = (0..=dice.below(3)).map(|_| words::ip_rule(dice, dialect)).collect();
        put("ip", if dialect == Dialect::Common { apart(all) } else { all }.into());
    }
    if dice.often(20) {
        put("port", words::ports(dice));
    }
    if dice.often(15) {
        let forms = [json!("tcp"), json!("udp"), json!("tcp,udp"), json!(["udp"]), json!(["tcp", "udp"])];
        put("network", dice.one(&forms).clone());
    }
    if dice.often(10) {
        let nets = ["127.1.0.0/24", "127.1.1.0/25", "127.1.2.2", "127.1.0.0/16", "127.2.0.0/16"];
        let all = dice.some(&nets, 2).into_iter().map(str::to_owned).collect();
        put("source", if dialect == Dialect::Common { apart(all) } else { all }.into());
    }
    if dice.often(8) {
        let forms = [json!("2000-2040"), json!("2041,2043,2045-2099"), json!(2100), json!("1-1999")];
        put("sourcePort", dice.one(&forms).clone());
    }
    if dice.often(12) {
        put("inboundTag", dice.some(&Door::TAGS, 2).into());
    }
    if dice.often(8) {
        put("user", dice.some(&["love", "hate", "Love", "nobody"], 2).into());
    }
    if dice.often(8) {
        put("protocol", dice.some(&["http", "http1", "http/1.1", "tls", "bittorrent"], 2).into());
    }
    if dice.often(6) {
        let one = dice.one(&[(":method", "^POST$"), (":method", "^GET$"), (":path", "^/a"), ("x-kind", "^b$")]);
        put("attrs", json!({ one.0: one.1 }));
        if dialect == Dialect::Common {
            // v2ray hears no attributes in what it sniffs.
            put("inboundTag", json!(["plain", "login", "web"]));
        }
    }
    if dialect == Dialect::Xray {
        if dice.often(5) {
            put("localPort", dice.one(&[json!("1-1023"), json!("1024-65535")]).clone());
        }
        if dice.often(5) {
            put("localIP", dice.some(&["127.0.0.1", "!127.0.0.1", "10.0.0.0/8"], 1).into());
        }
        if dice.often(5) {
            put("user", dice.some(&["regexp:^l", "regexp:te$", "regexp:E"], 1).into());
        }
        if dice.often(5) {
            put("sourceIP", dice.some(&["!127.1.0.0/24", "127.1.1.1"], 2).into());
        }
        if dice.often(4) {
            put("localOS", dice.some(&["linux", "Windows"], 2).into());
        }
    }
}

/// Networks of which none lies in another: v2ray looks only at the last that begins before an address.
fn apart(all: Vec<String>) -> Vec<String> {
    let net = |text: &str| text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let mut kept: Vec<String> = vec![];
    for text in all {
        let meets = |other: &String| match (net(&text), net(other)) {
            (Some(one), Some(other)) => one.contains(&other) || other.contains(&one),
            _ => false,
        };
        if !kept.iter().any(meets) {
            kept.push(text);
        }
    }
    kept
}

/// The rule as v2ray 4.34 spells it: conditions on requests are a program there.
fn in_old_words(rule: &Value) -> Value {
    let mut rule = rule.clone();
    if let Some((name, pattern)) = rule["attrs"].as_object().and_then(|attrs| attrs.iter().next()) {
        let text = pattern.as_str().unwrap_or_default().trim_matches(['^', '$']);
        let exact = pattern.as_str().is_some_and(|pattern| pattern.ends_with('$'));
        let holds = if exact {
            format!("attrs['{name}'] == '{text}'")
        } else {
            format!("attrs['{name}'].startswith('{text}')")
        };
        rule["attrs"] = holds.into();
    }
    rule
}

fn flow(dice: &mut Dice, names: &[String], n: usize) -> Flow {
    let [a, b] = [[0, 1], [0, 200], [1, 1], [1, 130], [2, 2], [9, 9]][dice.below(6)];
    let port = 2000 + u16::try_from(n).expect("few flows");
    let user = *dice.one(&USERS);
    let door = match dice.below(10) {
        0 | 1 => Door::Login(user.0, user.1),
        2 => Door::Web,
        3 => Door::Listening,
        _ => Door::Plain,
    };
    let named = dice.often(65);
    let host = if named { dice.one(names).clone() } else { words::address(dice) };
    let request = (*dice.one(&["GET", "POST"]), *dice.one(&["/a/b", "/b", "/"]));
    Flow {
        source: SocketAddr::from((IpAddr::V4(Ipv4Addr::new(127, 1, a, b)), port)),
        door,
        host,
        port: *dice.one(words::PORTS),
        udp: door == Door::Plain && dice.often(30),
        request,
        // A name that no host can have is not taken from a payload here.
        inner: dice.one(names).replace("-odd-", "odd"),
    }
}
