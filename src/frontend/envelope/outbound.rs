//! One outbound.

use serde_json::Value as Json;

use super::schema::by_protocol;
use super::written::{self, named};
use crate::addr::{Host, Tag, Target};
use crate::model::fields::{DomainStrategy, Port};
use crate::model::fit;
use crate::model::kinds::{Ends, find_word, or_empty};
use crate::model::mux::Mux;
use crate::model::outbound::{Outbound, OutboundKind, SendThrough, Via};
use crate::model::protocol::{
    HttpAccount, HysteriaAccount, SocksAccount, SsAccount, TrojanAccount, VlessAccount, VmessAccount,
};
use crate::model::server::server_schema;
use crate::model::stream::Stream;
use crate::shape::{Defs, Dialect, Kind, Node, Plain, PlainMap, Raw, Reader, Record, Table};

crate::words! {
    /// Which address family a server or target may have.
    pub enum AddressFamily(exact) {
        /// Either, as the name has it.
        Any = "any";
        /// IPv4 alone.
        Ipv4Only = "ipv4_only";
        /// IPv6 alone.
        Ipv6Only = "ipv6_only";
        /// IPv4; IPv6 only where there is none.
        PreferIpv4 = "prefer_ipv4";
        /// IPv6; IPv4 only where there is none.
        PreferIpv6 = "prefer_ipv6";
    }
}

impl AddressFamily {
    /// The same as a strategy of the socket options.
    fn strategy(self) -> DomainStrategy {
        match self {
            Self::Any => DomainStrategy::AsIs,
            Self::Ipv4Only => DomainStrategy::ForceIpv4,
            Self::Ipv6Only => DomainStrategy::ForceIpv6,
            Self::PreferIpv4 => DomainStrategy::ForceIpv4v6,
            Self::PreferIpv6 => DomainStrategy::ForceIpv6v4,
        }
    }

    fn of(strategy: DomainStrategy) -> Option<Self> {
        [Self::Ipv4Only, Self::Ipv6Only, Self::PreferIpv4, Self::PreferIpv6]
            .into_iter()
            .find(|f| f.strategy() == strategy)
    }
}

crate::record! {
    /// A way out.
    struct OutboundKeys {
        /// Its name.
        tag: Tag => "tag";
        /// What it speaks.
        protocol: Raw => "protocol", required;
        /// Address of its server. Kinds without a server do not use it; a balancer's TCP probe does.
        server: Option<Host>;
        /// Port of its server.
        port: Option<Port>;
        /// Which family the address it dials may have; the same as `domain_strategy` of the socket options.
        address_family: AddressFamily;
        /// The local address it dials from: an address, a network, `origin` or `srcip`.
        send_through: SendThrough => "sendThrough";
        /// How a target's name is resolved before the server sees it.
        target_strategy: DomainStrategy => "targetStrategy" | "domainStrategy";
        /// Settings of the protocol.
        settings: Raw => "settings";
        /// Several servers that take turns, each with `server`, `port` and the keys of its account.
        servers: Raw;
        /// How its bytes travel.
        stream: Stream => "streamSettings";
        /// Dials the server through another outbound.
        via: Option<Via> => "proxySettings";
        /// Many flows over one connection.
        mux: Mux => "mux";
    }
}

/// Reads an item of `outbounds`, or an `[[outbound]]`.
pub fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Outbound> {
    let mut table = Table::open(cx, node)?;
    let mut keys = OutboundKeys::read_from(cx, &mut table);
    table.finish(cx);
    family(cx, node, &mut keys);
    if keys.via.is_some() && !keys.stream.sockopt.dialer_proxy.is_empty() {
        cx.error(node, Kind::Conflict, "proxySettings.tag is conflicted with sockopt.dialerProxy");
    }
    let settings = or_empty(&keys.settings, node);
    let servers = Some(keys.servers.clone()).filter(|raw| !raw.0.is_null());
    let mut ends = Ends { server: keys.server, port: keys.port, servers };
    let kind = cx
        .key("protocol", |cx| {
            if keys.protocol.0.is_null() { None } else { find_word(cx, &keys.protocol.0, OutboundKind::WORDS) }
        })
        .and_then(|at| cx.key("settings", |cx| OutboundKind::read_nth(cx, at, &settings, &mut ends)));
    let kind = kind?;
    if let Some(list) = &ends.servers {
        cx.error(&list.0, Kind::Unknown, format!("`servers`: a {} outbound has no server", kind.word(cx.dialect)));
    }
    let endpoint = ends.server.zip(ends.port).map(|(host, port)| Target::new(host, port.0));
    if let OutboundKind::Shadowsocks(ss) = &kind {
        let whose = named("outbound", &keys.tag);
        for server in &ss.servers {
            cx.key("settings", |cx| server.account.check_keys(cx, &settings, &whose));
        }
    }
    let outbound = Outbound {
        at: cx.spot(node),
        tag: keys.tag,
        kind,
        stream: keys.stream,
        send_through: keys.send_through,
        via: keys.via,
        mux: keys.mux,
        target_strategy: keys.target_strategy,
        endpoint,
    };
    cx.problems.extend(fit::outbound(&outbound));
    Some(outbound)
}

/// Writes an outbound with the keys of the dialect.
#[must_use]
pub fn write(outbound: &Outbound, dialect: Dialect) -> PlainMap {
    let mut outer = PlainMap::default();
    let settings = outbound.kind.write_settings(dialect, &mut outer);
    let mut stream = outbound.stream.clone();
    let mut address_family = AddressFamily::Any;
    if dialect == Dialect::Toml
        && let Some(family) = AddressFamily::of(stream.sockopt.domain_strategy)
    {
        address_family = family;
        stream.sockopt.domain_strategy = DomainStrategy::AsIs;
    }
    let keys = OutboundKeys {
        tag: outbound.tag.clone(),
        server: outbound.endpoint.as_ref().map(|end| end.host.clone()),
        port: outbound.endpoint.as_ref().map(|end| Port(end.port)),
        address_family,
        send_through: outbound.send_through,
        target_strategy: outbound.target_strategy,
        stream,
        via: outbound.via.clone(),
        mux: outbound.mux.clone(),
        ..OutboundKeys::default()
    };
    let mut map = PlainMap::default();
    keys.write_to(dialect, &mut map);
    map.from = outbound.at.span();
    let protocol = map.entries.iter().position(|(key, _)| key == "protocol").map_or(0, |at| at + 1);
    let (scalars, tables): (Vec<_>, Vec<_>) =
        outer.entries.into_iter().partition(|(_, v)| !matches!(v, Plain::List(_)));
    map.entries.splice(protocol..protocol, scalars);
    written::fill(&mut map, outbound.kind.word(dialect), settings);
    let at = map.entries.iter().position(|(key, _)| key == "settings").map_or(map.entries.len(), |at| at + 1);
    map.entries.splice(at..at, tables);
    map
}

/// The JSON schema of an outbound.
#[must_use]
pub fn schema(dialect: Dialect, defs: &mut Defs) -> Json {
    let keys = OutboundKeys::keys(dialect, defs);
    let kinds = OutboundKind::shapes(dialect, defs);
    let mut schema = by_protocol(dialect, &OutboundKeys::doc(), &keys, kinds);
    if dialect == Dialect::Toml {
        let servers = servers(dialect, defs);
        for branch in schema["allOf"].as_array_mut().into_iter().flatten() {
            let words = &branch["if"]["properties"]["protocol"]["enum"];
            let list =
                servers.iter().find(|(word, _)| words.as_array().is_some_and(|all| all.contains(&(*word).into())));
            if let Some((_, server)) = list {
                branch["then"]["properties"]["servers"] = serde_json::json!({ "type": "array", "items": server });
            }
        }
    }
    schema
}

/// The servers of each protocol that has some.
fn servers(dialect: Dialect, defs: &mut Defs) -> [(&'static str, Json); 7] {
    [
        ("http", server_schema::<HttpAccount>(dialect, defs)),
        ("socks", server_schema::<SocksAccount>(dialect, defs)),
        ("shadowsocks", server_schema::<SsAccount>(dialect, defs)),
        ("trojan", server_schema::<TrojanAccount>(dialect, defs)),
        ("vless", server_schema::<VlessAccount>(dialect, defs)),
        ("vmess", server_schema::<VmessAccount>(dialect, defs)),
        ("hysteria2", server_schema::<HysteriaAccount>(dialect, defs)),
    ]
}

/// `address_family` is the seed's spelling of the socket options' strategy.
fn family(cx: &mut Reader<'_>, node: &Node, keys: &mut OutboundKeys) {
    if keys.address_family == AddressFamily::Any {
        return;
    }
    let slot = &mut keys.stream.sockopt.domain_strategy;
    if *slot == DomainStrategy::AsIs {
        *slot = keys.address_family.strategy();
    } else {
        cx.error(
            node,
            Kind::Conflict,
            "`address_family` and `domain_strategy` of the socket options exclude each other",
        );
    }
}
