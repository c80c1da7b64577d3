//! Field types of Xray's vocabulary: addresses, ports, networks, tags, strategies.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde_json::{Value as Json, json};

use crate::addr::{Host, Network, PortSet, Tag, Target};
use crate::shape::{Class, Defs, Dialect, Field, Kind, Node, Plain, PlainMap, Reader, Secret, Value};

/// Replaces `env:NAME` by the variable; a variable that is unset or empty is an error that names it.
pub fn from_env(cx: &mut Reader<'_>, node: &Node, text: &str) -> Option<String> {
    let Some(name) = text.trim().strip_prefix("env:") else {
        return Some(text.to_owned());
    };
    match cx.env(name) {
        Some(value) if !value.trim().is_empty() => {
            cx.mark(node.span, Class::Rewritten, format!("the value of the environment variable {name}"));
            Some(value)
        }
        found => {
            let state = if found.is_some() { "is empty" } else { "is not set" };
            cx.error(node, Kind::Value, format!("the environment variable `{name}` {state}"));
            None
        }
    }
}

/// An address or a name; brackets and blanks around it are removed, and the empty text is the same as no key.
impl Field for Host {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "an address in quotes");
        };
        if text.trim().is_empty() {
            return None;
        }
        let text = from_env(cx, node, text)?;
        match Self::loose(&text) {
            Ok(host) => Some(host),
            Err(why) => {
                cx.error(node, Kind::Value, format!("invalid address: {text:?}: {why}"));
                None
            }
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

/// `host:port`.
impl Field for Target {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "a string such as \"host:port\"");
        };
        let parsed = text
            .rsplit_once(':')
            .and_then(|(host, port)| Some(Self::new(Host::loose(host).ok()?, port.trim().parse().ok()?)));
        parsed.or_else(|| cx.wrong_value(node, "host:port"))
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

impl Field for Tag {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        String::read(cx, node).map(Self::from)
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.as_str().to_owned())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

/// A number, or a text of numbers, ranges and `env:NAME` with commas between.
impl Field for PortSet {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let text = match &node.value {
            Value::Int(n) => {
                return match u16::try_from(*n) {
                    Ok(port) => Some(Self::one(port)),
                    Err(_) => cx.wrong_value(node, "a port from 0 to 65535"),
                };
            }
            Value::Text(text) => text,
            _ => return cx.wrong_type(node, "a port, or a string such as \"53,1000-2000\""),
        };
        let mut ranges = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let item = from_env(cx, node, item)?;
            match Self::item(item.trim()) {
                Ok(range) => ranges.push(range),
                Err(why) => {
                    cx.error(node, Kind::Value, why.to_string());
                    return None;
                }
            }
        }
        Some(Self::of(ranges))
    }

    fn write(&self, _: Dialect) -> Plain {
        match self.ranges() {
            [(a, b)] if a == b => Plain::Int((*a).into()),
            _ => Plain::Text(self.to_string()),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["integer", "string"], "minimum": 0, "maximum": 65535 })
    }
}

/// One port. JSON may have it as text, which Xray refuses and many files have; that is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Port(pub u16);

impl Deref for Port {
    type Target = u16;
    fn deref(&self) -> &u16 {
        &self.0
    }
}

impl Field for Port {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return u16::read(cx, node).map(Self);
        };
        let value = from_env(cx, node, text)?;
        match value.trim().parse() {
            Ok(port) => {
                if cx.json() && !text.trim().starts_with("env:") {
                    let span = node.span;
                    let note = format!("the port stands in quotes, which Xray refuses; read as {port}");
                    cx.report(crate::shape::Severity::Note, Kind::Legacy, span, note).help =
                        Some(format!("write it without quotes: {port}"));
                }
                Some(Self(port))
            }
            Err(_) => cx.wrong_value(node, "a port from 0 to 65535"),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Int(self.0.into())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": ["integer", "string"], "minimum": 0, "maximum": 65535 })
    }
}

/// Which networks are meant: `tcp`, `udp`, `unix`. May be none of them, which matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Networks {
    /// Byte streams.
    pub tcp: bool,
    /// Datagrams.
    pub udp: bool,
    /// Streams of Unix sockets.
    pub unix: bool,
}

impl Networks {
    /// TCP alone, the default of several inbounds.
    pub const TCP: Self = Self { tcp: true, udp: false, unix: false };
    /// UDP alone.
    pub const UDP: Self = Self { tcp: false, udp: true, unix: false };
    /// TCP and UDP.
    pub const BOTH: Self = Self { tcp: true, udp: true, unix: false };

    /// Whether the network is among them.
    #[must_use]
    pub fn contains(self, network: Network) -> bool {
        match network {
            Network::Tcp => self.tcp,
            Network::Udp => self.udp,
            Network::Unix => self.unix,
        }
    }

    /// Whether it is none at all.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn words(self) -> Vec<&'static str> {
        [(self.tcp, "tcp"), (self.udp, "udp"), (self.unix, "unix")].iter().filter(|w| w.0).map(|w| w.1).collect()
    }

    fn add(&mut self, cx: &mut Reader<'_>, node: &Node, word: &str) {
        let slot = match word.to_ascii_lowercase().as_str() {
            "tcp" => &mut self.tcp,
            "udp" => &mut self.udp,
            "unix" => &mut self.unix,
            _ => {
                let message = format!("unknown network {word:?}, expected one of `tcp`, `udp`, `unix`");
                if cx.json() {
                    cx.warn(node, Kind::Value, message).help = Some("it matches nothing, as in Xray".into());
                } else {
                    cx.error(node, Kind::Value, message);
                }
                return;
            }
        };
        *slot = true;
    }
}

impl Field for Networks {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let mut out = Self::default();
        match &node.value {
            Value::Text(text) => {
                for word in text.split(',') {
                    out.add(cx, node, word);
                }
            }
            Value::List(items) => {
                cx.each(items, |cx, item| match item.text() {
                    Some(word) => out.add(cx, item, word),
                    None if item.is_null() => {}
                    None => {
                        cx.wrong_type::<()>(item, "a string");
                    }
                });
            }
            _ => return cx.wrong_type(node, "a network or a list of networks"),
        }
        Some(out)
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let words = self.words();
        match (words.as_slice(), dialect) {
            ([one], _) => Plain::from(*one),
            (many, Dialect::Json) if !many.is_empty() => Plain::Text(many.join(",")),
            (many, _) => Plain::List(many.iter().map(|w| Plain::from(*w)).collect()),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": ["string", "null"] } }] })
    }
}

crate::words! {
    /// How a name becomes an address before something is dialled.
    pub enum DomainStrategy(fold) {
        /// It does not; whoever dials resolves it.
        AsIs = "as_is" => "AsIs" | "";
        /// Either family; the name is kept if that fails.
        UseIp = "use_ip" => "UseIP";
        /// IPv4; the name is kept if that fails.
        UseIpv4 = "use_ipv4" => "UseIPv4" | "UseIP4";
        /// IPv6; the name is kept if that fails.
        UseIpv6 = "use_ipv6" => "UseIPv6" | "UseIP6";
        /// IPv4, else IPv6; the name is kept if that fails.
        UseIpv4v6 = "use_ipv4v6" => "UseIPv4v6" | "UseIP46";
        /// IPv6, else IPv4; the name is kept if that fails.
        UseIpv6v4 = "use_ipv6v4" => "UseIPv6v4" | "UseIP64";
        /// Either family, or nothing is dialled.
        ForceIp = "force_ip" => "ForceIP";
        /// IPv4, or nothing is dialled.
        ForceIpv4 = "force_ipv4" => "ForceIPv4" | "ForceIP4";
        /// IPv6, or nothing is dialled.
        ForceIpv6 = "force_ipv6" => "ForceIPv6" | "ForceIP6";
        /// IPv4, else IPv6, or nothing is dialled.
        ForceIpv4v6 = "force_ipv4v6" => "ForceIPv4v6" | "ForceIP46";
        /// IPv6, else IPv4, or nothing is dialled.
        ForceIpv6v4 = "force_ipv6v4" => "ForceIPv6v4" | "ForceIP64";
    }
}

impl DomainStrategy {
    /// Whether a name that cannot be resolved must not be dialled.
    #[must_use]
    pub fn forces(self) -> bool {
        self >= Self::ForceIp
    }

    /// Which families are asked for, the first preferred; nothing for [`DomainStrategy::AsIs`].
    #[must_use]
    pub fn families(self) -> Option<Families> {
        Some(match self {
            Self::AsIs => return None,
            Self::UseIp | Self::ForceIp => Families::Either,
            Self::UseIpv4 | Self::ForceIpv4 => Families::V4,
            Self::UseIpv6 | Self::ForceIpv6 => Families::V6,
            Self::UseIpv4v6 | Self::ForceIpv4v6 => Families::V4First,
            Self::UseIpv6v4 | Self::ForceIpv6v4 => Families::V6First,
        })
    }
}

/// Address families by preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Families {
    /// Both, none preferred.
    Either,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
    /// IPv4; IPv6 only where there is none.
    V4First,
    /// IPv6; IPv4 only where there is none.
    V6First,
}

/// A list of `T`; in JSON also one text that is split at commas.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListOf<T>(pub Vec<T>);

impl<T> Default for ListOf<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for ListOf<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Field> Field for ListOf<T> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.text() {
            Some("") if cx.json() => Some(Self::default()),
            Some(text) if cx.json() => {
                let part = |t: &str| Node { value: Value::Text(t.to_owned()), span: node.span };
                Some(Self(text.split(',').filter_map(|t| T::read(cx, &part(t))).collect()))
            }
            _ => Vec::read(cx, node).map(Self),
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.0.write(dialect)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        let list = Vec::<T>::shape(dialect, defs);
        if dialect == Dialect::Json { json!({ "anyOf": [{ "type": "string" }, list] }) } else { list }
    }
}

/// Lines of a text that is not shown.
impl Field for Secret<Vec<String>> {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        cx.secrets.push(node.span);
        let lines = node.list().map(|items| items.iter().map(|l| l.text().map(str::to_owned)).collect());
        match lines {
            Some(Some(lines)) => Some(Self::new(lines)),
            _ => {
                cx.error(node, Kind::Type, "invalid type: expected a list of lines");
                None
            }
        }
    }

    fn write(&self, dialect: Dialect) -> Plain {
        self.expose().write(dialect)
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "array", "items": { "type": "string" }, "x-secret": true })
    }
}

/// Where traffic is sent instead: either part may keep what it was.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Redirect {
    /// The new host; none keeps the old one.
    pub host: Option<Host>,
    /// The new port; none keeps the old one.
    pub port: Option<u16>,
}

impl fmt::Display for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(Host::Ip(ip)) if ip.is_ipv6() => write!(f, "[{ip}]:")?,
            Some(host) => write!(f, "{host}:")?,
            None => f.write_str(":")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, "{port}"))
    }
}

impl fmt::Debug for Redirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Redirect {
    /// Reads `host:port`, `:port` or `host:`; port 0 keeps the port.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.trim().rsplit_once(':')?;
        let host = if host.is_empty() { None } else { Some(Host::loose(host).ok()?) };
        let port = if port.is_empty() { None } else { Some(port.parse().ok()?).filter(|p| *p != 0) };
        Some(Self { host, port })
    }

    /// The target with what is replaced here.
    #[must_use]
    pub fn apply(&self, target: &Target) -> Target {
        Target::new(self.host.clone().unwrap_or_else(|| target.host.clone()), self.port.unwrap_or(target.port))
    }
}

impl Field for Redirect {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        match node.text().map(Self::parse) {
            Some(Some(redirect)) => Some(redirect),
            Some(None) if node.text() == Some("") => None,
            Some(None) => cx.wrong_value(node, "host:port, either side of which may be empty"),
            None => cx.wrong_type(node, "a string such as \"host:port\""),
        }
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(self.to_string())
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

/// Local ports and where each leads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortMap(pub BTreeMap<u16, Redirect>);

impl Field for PortMap {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let map = BTreeMap::<String, Redirect>::read(cx, node)?;
        let mut out = BTreeMap::new();
        for (key, value) in map {
            match key.trim().parse() {
                Ok(port) => {
                    out.insert(port, value);
                }
                Err(_) => {
                    cx.error(node, Kind::Value, format!("invalid port {key:?}"));
                }
            }
        }
        Some(Self(out))
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut map = PlainMap::default();
        for (port, to) in &self.0 {
            map.put(&port.to_string(), to.write(dialect));
        }
        map.into()
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "object", "additionalProperties": { "type": "string" } })
    }
}
