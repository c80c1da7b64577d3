//! Names: servers, fixed answers, fake addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::addr::Tag;
use crate::shape::{Defs, Dialect, Field, Kind, Millis, Node, Plain, Reader, Seconds, Spot, Value};
use crate::{record, words};

use super::fake::ServerFakes;
use super::matcher::{Bare, DomainRule, DomainRules, IpRules};
use super::serverform::{BadServer, ServerForm};

words! {
    /// Which families are asked for.
    pub enum QueryStrategy(fold, else UseIp) {
        /// Both.
        UseIp = "use_ip" => "UseIP" | "use_ip" | "use-ip";
        /// IPv4.
        UseIpv4 = "use_ipv4" => "UseIPv4" | "UseIP4" | "use_ip_v4" | "use_ipv4" | "use_ip4" | "use-ip-v4" | "use-ipv4" | "use-ip4";
        /// IPv6.
        UseIpv6 = "use_ipv6" => "UseIPv6" | "UseIP6" | "use_ip_v6" | "use_ipv6" | "use_ip6" | "use-ip-v6" | "use-ipv6" | "use-ip6";
        /// Those that the machine has a default route for.
        UseSystem = "use_system" => "UseSystem" | "UseSys" | "use_sys" | "use-sys" | "use_system" | "use-system";
    }
}

record! {
    /// Name resolution.
    pub struct Dns {
        /// Who is asked, in order; none: the operating system.
        servers: Vec<DnsServer> => "servers";
        /// Fixed answers by name: `full:`, `domain:`, `keyword:`, `regexp:`, `geosite:`; a text without prefix is a whole
        /// name.
        hosts: Hosts => "hosts";
        /// Address told to servers as the client's (EDNS client subnet).
        client_ip: Option<IpAddr> => "clientIp";
        /// Inbound tag of the module's own queries.
        tag: Tag => "tag";
        /// Which families are asked for.
        query_strategy: QueryStrategy => "queryStrategy";
        /// Whether answers are not kept.
        disable_cache: bool => "disableCache";
        /// Whether an answer past its time is given while a new one is fetched.
        serve_stale: bool => "serveStale";
        /// How long past its time; 0 is no limit.
        serve_expired_ttl: Seconds => "serveExpiredTTL";
        /// Whether only servers that matched by name are asked.
        disable_fallback: bool => "disableFallback";
        /// The same, only where one matched.
        disable_fallback_if_match: bool => "disableFallbackIfMatch";
        /// Whether servers are asked at once.
        enable_parallel_query: bool => "enableParallelQuery";
        /// Whether the hosts file of the system counts.
        use_system_hosts: bool => "useSystemHosts";
    }
}

/// One server: a text is its address alone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DnsServer {
    /// Where it is written.
    pub at: Spot,
    /// Its settings.
    pub spec: DnsServerSpec,
}

record! {
    /// One DNS server.
    pub struct DnsServerSpec {
        /// IP address or name (UDP), `localhost`, `fakedns`, or a URL: `udp://`, `tcp://`, `tcp+local://`, `tls://`,
        /// `tls+local://`, `https://`, `https+local://`, `h2c://`, `h2c+local://`, `quic+local://`.
        address: String => "address", required;
        /// Port of the plain form.
        port: u16 = 53 => "port";
        /// Names for which it is asked first.
        domains: DomainRules => "domains";
        /// Only answers with these addresses count; `*` makes it a preference.
        expected_ips: ExpectedIps => "expectedIPs" | "expectIPs";
        /// Answers with these addresses do not count; `*` makes it a preference.
        unexpected_ips: ExpectedIps => "unexpectedIPs";
        /// Whether it is asked for its own names only.
        skip_fallback: bool => "skipFallback";
        /// Whether nobody is asked after it.
        final_query: bool => "finalQuery";
        /// Which families are asked for; the section's if absent.
        query_strategy: Option<QueryStrategy> => "queryStrategy";
        /// Address told as the client's; the section's if absent.
        client_ip: Option<IpAddr> => "clientIp";
        /// Inbound tag of its queries; the section's if absent.
        tag: Tag => "tag";
        /// How long it may take.
        timeout: Millis = Millis(Duration::from_secs(4)) => "timeoutMs";
        /// Whether its answers are not kept; the section's if absent.
        disable_cache: Option<bool> => "disableCache";
        /// Whether its old answers serve; the section's if absent.
        serve_stale: Option<bool> => "serveStale";
        /// How long past their time; the section's if absent.
        serve_expired_ttl: Option<Seconds> => "serveExpiredTTL";
        /// Whether clients are given fake addresses in place of its answers, and of which pools if not those of all (V2Ray).
        fake_dns: ServerFakes => "fakedns";
    }
}

impl DnsServerSpec {
    /// How the server is asked.
    ///
    /// # Errors
    /// [`BadServer`] for an address that is none.
    pub fn form(&self) -> Result<ServerForm, BadServer> {
        ServerForm::of(&self.address, self.port)
    }
}

impl Field for DnsServer {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let at = cx.spot(node);
        let spec = match node.text() {
            Some(text) => DnsServerSpec { address: text.trim().to_owned(), ..DnsServerSpec::default() },
            None => DnsServerSpec::read(cx, node)?,
        };
        if spec.address.is_empty() && node.text().is_some() {
            cx.error(node, Kind::Value, "a DNS server needs an address");
            return None;
        }
        // One without an address was told of by the record.
        if let Err(why) = spec.form()
            && !spec.address.is_empty()
        {
            let say = |cx: &mut Reader<'_>, node| {
                cx.error(node, Kind::Value, why.to_string()).help = Some(why.help());
            };
            match &node.value {
                Value::Map(entries) => match entries.iter().find(|entry| entry.key == "address") {
                    Some(entry) => cx.key(&entry.key, |cx| say(cx, &entry.node)),
                    None => say(cx, node),
                },
                _ => say(cx, node),
            }
            return None;
        }
        Some(Self { at, spec })
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let simple = DnsServerSpec { address: self.spec.address.clone(), ..DnsServerSpec::default() };
        if self.spec == simple { Plain::Text(self.spec.address.clone()) } else { self.spec.write(dialect) }
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "string" }, DnsServerSpec::shape(dialect, defs)] })
    }
}

/// Addresses that are expected or not; `*` among them makes it a preference.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedIps {
    /// The addresses.
    pub rules: IpRules,
    /// Whether other answers count when none fits.
    pub preference: bool,
}

impl Field for ExpectedIps {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let list = match &node.value {
            Value::Text(text) if cx.json() => {
                text.split(',').map(|t| Node { value: Value::Text(t.to_owned()), span: node.span }).collect()
            }
            Value::List(items) => items.clone(),
            _ => return cx.wrong_type(node, "an array of strings"),
        };
        let star = |item: &Node| item.text() == Some("*");
        let preference = list.iter().any(star);
        let rest = list.into_iter().filter(|item| !star(item)).collect();
        let rules = IpRules::read(cx, &Node { value: Value::List(rest), span: node.span })?;
        Some(Self { rules, preference })
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut list = match self.rules.write(dialect) {
            Plain::List(list) => list,
            other => vec![other],
        };
        if self.preference {
            list.push("*".into());
        }
        Plain::List(list)
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        IpRules::shape(dialect, defs)
    }
}

/// Fixed answers, by condition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hosts(pub Vec<(DomainRule, HostAnswer)>);

/// What is answered for a name.
#[derive(Debug, Clone, PartialEq)]
pub enum HostAnswer {
    /// These addresses; none is an empty answer.
    Ips(Vec<IpAddr>),
    /// Whatever this name has.
    Alias(String),
    /// A response code; 0 is an empty answer.
    Code(u16),
}

impl Field for Hosts {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            return cx.wrong_type(node, if cx.json() { "an object" } else { "a table" });
        };
        let mut hosts: BTreeMap<DomainRule, HostAnswer> = BTreeMap::new();
        for entry in entries.iter().filter(|e| !e.node.is_null()) {
            let read = cx.key(&entry.key, |cx| {
                let rule = match DomainRule::parse(&entry.key, Bare::Full) {
                    Ok(rule) => rule,
                    Err(why) => {
                        cx.report(crate::shape::Severity::Error, Kind::Value, entry.key_span, why);
                        return None;
                    }
                };
                HostAnswer::read(cx, &entry.node).map(|answer| (rule, answer))
            });
            hosts.extend(read);
        }
        Some(Self(hosts.into_iter().collect()))
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut out = crate::shape::PlainMap::default();
        for (rule, answer) in &self.0 {
            let key = match rule {
                DomainRule::Full(name) if !name.contains(':') => name.clone(),
                other => other.to_string(),
            };
            out.put(&key, answer.write(dialect));
        }
        out.into()
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        json!({ "type": "object", "additionalProperties": HostAnswer::shape(dialect, defs) })
    }
}

impl Field for HostAnswer {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let texts = match &node.value {
            Value::Text(text) => vec![text.clone()],
            Value::List(_) => Vec::<String>::read(cx, node)?,
            _ => return cx.wrong_type(node, "an address, a name, or an array of addresses"),
        };
        let mut ips = vec![];
        for text in &texts {
            let text = text.trim();
            if let Some(code) = text.strip_prefix('#') {
                match code.parse() {
                    Ok(code) => return Some(Self::Code(code)),
                    Err(_) => return cx.wrong_value(node, "a response code such as \"#3\""),
                }
            }
            match text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
                Ok(ip) => ips.push(ip.to_canonical()),
                Err(_) if text.is_empty() => return cx.wrong_value(node, "an address or a name"),
                Err(_) => {
                    if texts.len() > 1 {
                        cx.warn(
                            node,
                            Kind::Ignored,
                            format!("only the name `{text}` counts: names and addresses do not mix"),
                        );
                    }
                    return Some(Self::Alias(text.trim_end_matches('.').to_lowercase()));
                }
            }
        }
        Some(Self::Ips(ips))
    }

    fn write(&self, _: Dialect) -> Plain {
        match self {
            Self::Ips(ips) => match ips.as_slice() {
                [one] => Plain::Text(one.to_string()),
                many => Plain::List(many.iter().map(|ip| Plain::Text(ip.to_string())).collect()),
            },
            Self::Alias(name) => Plain::Text(name.clone()),
            Self::Code(code) => Plain::Text(format!("#{code}")),
        }
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}
