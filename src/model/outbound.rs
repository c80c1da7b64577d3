//! Ways out: where flows go.

use std::borrow::Cow;
use std::net::IpAddr;

use serde_json::{Value as Json, json};

use super::fields::DomainStrategy;
use super::kinds::kinds;
use super::mux::Mux;
use super::protocol::{
    Blackhole, DnsOut, Freedom, HttpAccount, HttpCommon, HysteriaAccount, HysteriaCommon, Loopback, Responder,
    SocksAccount, SocksCommon, SsAccount, TrojanAccount, VlessAccount, VmessAccount, Wireguard,
};
use super::server::Served;
use super::stream::{Carrier, Security, Stream};
use crate::addr::{Tag, Target};
use crate::shape::{Defs, Dialect, Field, Kind, Node, Plain, PlainMap, Reader, Record, Spot, Table};

/// A way out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outbound {
    /// Where it was written.
    pub at: Spot,
    /// Its name; may be empty.
    pub tag: Tag,
    /// What it speaks, to whom.
    pub kind: OutboundKind,
    /// How its bytes travel.
    pub stream: Stream,
    /// The local address it dials from.
    pub send_through: SendThrough,
    /// The outbound through which its server is dialled.
    pub via: Option<Via>,
    /// Many flows over one connection.
    pub mux: Mux,
    /// How a target's name is resolved before the server sees it.
    pub target_strategy: DomainStrategy,
    /// TOML's `server` and `port` of a kind that has no server: a TCP probe goes there, and nothing else.
    pub endpoint: Option<Target>,
}

impl Outbound {
    /// Where a TCP probe goes: the first server, or [`Outbound::endpoint`]. Hysteria and mKCP listen on UDP alone.
    #[must_use]
    pub fn probe_target(&self) -> Option<Target> {
        if matches!(self.kind, OutboundKind::Hysteria(_)) || matches!(self.carried().carrier, Carrier::Kcp(_)) {
            return None;
        }
        self.kind.servers().first().cloned().or_else(|| self.endpoint.clone())
    }
}

/// Another outbound through which a server is dialled, and where that is written.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a> {
    /// The other's tag.
    pub tag: &'a Tag,
    /// Where it is named.
    pub at: &'a Spot,
}

impl Outbound {
    /// How its bytes travel in truth. `proxySettings` without `transportLayer` keeps TLS of it alone, as in Xray: the server
    /// behind the other outbound is spoken to without a carrier. REALITY stays whole all the same, since Xray would go on in
    /// the clear there, which no such server answers.
    #[must_use]
    pub fn carried(&self) -> Cow<'_, Stream> {
        if !self.drops_transport() {
            return Cow::Borrowed(&self.stream);
        }
        Cow::Owned(Stream { security: self.stream.security.clone(), ..Stream::default() })
    }

    /// Whether what is around the bytes, except TLS, is left out on the way through another outbound.
    #[must_use]
    pub fn drops_transport(&self) -> bool {
        self.via.as_ref().is_some_and(|via| !via.transport_layer)
            && matches!(self.stream.security, Security::None | Security::Tls(_))
    }

    /// The outbound through which this one dials, by `proxySettings` or `dialerProxy`.
    #[must_use]
    pub fn chained(&self) -> Option<Chain<'_>> {
        let dialer = &self.stream.sockopt.dialer_proxy;
        match &self.via {
            Some(via) => Some(Chain { tag: &via.tag, at: &via.at }),
            None => (!dialer.is_empty()).then_some(Chain { tag: dialer, at: &self.at }),
        }
    }
}

kinds! {
    /// What an outbound speaks.
    pub enum OutboundKind {
        /// Dials targets itself.
        Freedom(Freedom) = "freedom" | "direct" => "freedom" | "direct";
        /// Swallows flows.
        Blackhole(Blackhole) = "blackhole" | "block" => "blackhole" | "block";
        /// Answers DNS questions.
        Dns(DnsOut) = "dns" => "dns";
        /// Routes flows again under another inbound's tag.
        Loopback(Loopback) = "loopback" => "loopback";
        /// Answers speed tests of our own clients.
        Responder(Responder) = "responder" => "responder";
        /// HTTP proxy.
        Http(Served<HttpAccount, HttpCommon>) = "http" => "http";
        /// SOCKS proxy.
        Socks(Served<SocksAccount, SocksCommon>) = "socks" => "socks";
        /// Shadowsocks.
        Shadowsocks(Served<SsAccount>) = "shadowsocks" => "shadowsocks";
        /// Trojan.
        Trojan(Served<TrojanAccount>) = "trojan" => "trojan";
        /// VLESS.
        Vless(Served<VlessAccount>) = "vless" => "vless";
        /// VMess.
        Vmess(Served<VmessAccount>) = "vmess" => "vmess";
        /// WireGuard.
        Wireguard(Wireguard) = "wireguard" => "wireguard";
        /// Hysteria 2.
        Hysteria(Served<HysteriaAccount, HysteriaCommon>) = "hysteria2" | "hysteria" | "hy2" => "hysteria" | "hysteria2" | "hy2";
    }
}

impl OutboundKind {
    /// Address and port of each server, in order; empty for kinds without servers.
    #[must_use]
    pub fn servers(&self) -> Vec<Target> {
        fn of<A, C>(served: &Served<A, C>) -> Vec<Target> {
            served.servers.iter().map(super::server::Server::target).collect()
        }
        match self {
            Self::Freedom(_)
            | Self::Blackhole(_)
            | Self::Dns(_)
            | Self::Loopback(_)
            | Self::Responder(_)
            | Self::Wireguard(_) => vec![],
            Self::Http(o) => of(o),
            Self::Socks(o) => of(o),
            Self::Shadowsocks(o) => of(o),
            Self::Trojan(o) => of(o),
            Self::Vless(o) => of(o),
            Self::Vmess(o) => of(o),
            Self::Hysteria(o) => of(o),
        }
    }
}

/// The local address an outbound dials from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SendThrough {
    /// Whichever the system takes.
    #[default]
    Any,
    /// This one.
    Ip(IpAddr),
    /// A random one of this network for each connection.
    Net(ipnet::IpNet),
    /// The one the client connected to.
    Origin,
    /// The client's own.
    Source,
}

impl Field for SendThrough {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let Some(text) = node.text() else {
            return cx.wrong_type(node, "an address in quotes");
        };
        let text = super::fields::from_env(cx, node, text)?;
        let text = text.trim();
        let parsed = match text {
            "" => Some(Self::Any),
            "origin" => Some(Self::Origin),
            "srcip" => Some(Self::Source),
            _ if text.contains('/') => text.parse().ok().map(Self::Net),
            _ => text.trim_matches(['[', ']']).parse::<IpAddr>().ok().map(|ip| Self::Ip(ip.to_canonical())),
        };
        if parsed.is_none() {
            cx.error(node, Kind::Value, format!("unable to send through: {text}")).help =
                Some("write an IP address, a network such as 10.0.0.0/24, `origin` or `srcip`".into());
        }
        parsed
    }

    fn write(&self, _: Dialect) -> Plain {
        Plain::Text(match self {
            Self::Any => String::new(),
            Self::Ip(ip) => ip.to_string(),
            Self::Net(net) => net.to_string(),
            Self::Origin => "origin".into(),
            Self::Source => "srcip".into(),
        })
    }

    fn shape(_: Dialect, _: &mut Defs) -> Json {
        json!({ "type": "string" })
    }
}

/// The outbound through which a server is dialled.
#[derive(Debug, Clone, PartialEq)]
pub struct Via {
    /// Where it was written.
    pub at: Spot,
    /// The outbound's tag.
    pub tag: Tag,
    /// Keep this outbound's whole transport (as `dialerProxy` does); else only its TLS.
    pub transport_layer: bool,
}

crate::record! {
    /// Dials the server through another outbound.
    pub struct ViaKeys {
        /// The outbound's tag.
        tag: Tag => "tag", required;
        /// Keep this outbound's whole transport; else only its TLS.
        transport_layer: bool => "transportLayer";
    }
}

impl Field for Via {
    fn read(cx: &mut Reader<'_>, node: &Node) -> Option<Self> {
        let mut table = Table::open(cx, node)?;
        let at = cx.spot(node);
        let ViaKeys { tag, transport_layer } = ViaKeys::read_from(cx, &mut table);
        table.finish(cx);
        (!tag.is_empty()).then_some(Self { at, tag, transport_layer })
    }

    fn write(&self, dialect: Dialect) -> Plain {
        let mut map = PlainMap::default();
        ViaKeys { tag: self.tag.clone(), transport_layer: self.transport_layer }.write_to(dialect, &mut map);
        map.into()
    }

    fn shape(dialect: Dialect, defs: &mut Defs) -> Json {
        ViaKeys::schema(dialect, defs)
    }
}
