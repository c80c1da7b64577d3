//! From the outbounds of a config to those that run.

mod mux;
mod shadowsocks;
mod trojan;
mod vless;
mod vmess;
mod wireguard;

use std::sync::Arc;

use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::snapshot::Levels;
use crate::addr::{Network, OutboundId};
use crate::dns::Handling;
use crate::geo::{Addresses, Lists};
use crate::model::fields::DomainStrategy;
use crate::model::keys;
use crate::model::outbound::{Outbound as Written, OutboundKind};
use crate::model::protocol::{
    Answer as WrittenAnswer, ApplyTo, DnsNetwork, DnsOut, FinalAction, FinalRule as WrittenRule,
    Fragment as WrittenFragment, Freedom as WrittenFreedom, Noise as WrittenNoise, NoiseKind, Packets, SocksVersion,
};
use crate::model::server::Server as WrittenServer;
use crate::model::sockopt::SockOpt;
use crate::model::stream::Stream;
use crate::net::{Families, SocketOptions};
use crate::outbound::{
    Answer, Blackhole, FinalRule, FinalRules, Freedom, Hijack, Http, Hysteria, Lookup, Loopback, Mux, Noise,
    NoiseBytes, Outbound, Redirect, Responder, Server, Socks, Source, Version, Way, Within,
};
use crate::proto::fragment::{Fragment, Writes};
use crate::shape::Ranged;
use crate::tls::{Crypto, Inner};
use crate::transport::{Dialer, masks};

/// What all outbounds are made with.
pub(super) struct Maker<'a> {
    /// All outbounds of the config, to find those through which others dial.
    pub(super) all: &'a [Written],
    pub(super) crypto: &'a Crypto,
    pub(super) lists: &'a Lists,
    pub(super) levels: &'a Levels,
}

impl Maker<'_> {
    /// Makes an outbound.
    ///
    /// # Errors
    /// A sentence on what cannot run yet.
    pub(super) fn exit(&self, written: &Written) -> Result<Outbound, String> {
        let alone = self.alone(written)?;
        Ok(match mux::sharing(written) {
            Some(sharing) => Outbound::Mux(Mux::new(Arc::new(alone), sharing)),
            None => alone,
        })
    }

    /// Makes an outbound that takes a connection for each flow.
    fn alone(&self, written: &Written) -> Result<Outbound, String> {
        Ok(match &written.kind {
            OutboundKind::Freedom(freedom) => {
                Outbound::Freedom(direct(freedom, written, self.behind(written), self.lists)?)
            }
            OutboundKind::Blackhole(hole) => Outbound::Blackhole(Blackhole::new(match hole.response.r#type {
                WrittenAnswer::None => Answer::None,
                WrittenAnswer::Http => Answer::Http,
            })),
            OutboundKind::Dns(dns) => Outbound::Dns(self.hijack(dns, written)?),
            OutboundKind::Responder(responder) => Outbound::Responder(Responder::new(&responder.host)),
            OutboundKind::Loopback(back) => Outbound::Loopback(Loopback::new(back.inbound_tag.clone())),
            OutboundKind::Shadowsocks(served) => {
                Outbound::Shadowsocks(shadowsocks::shadowsocks(self.way(written, Inner::Opaque)?, served)?)
            }
            OutboundKind::Socks(socks) => {
                let servers = socks.servers.iter().map(|server| asked(server, server.account.login())).collect();
                let version = match socks.common.version {
                    SocksVersion::V4 => Version::V4,
                    SocksVersion::V4a => Version::V4a,
                    SocksVersion::V5 => Version::V5,
                };
                Outbound::Socks(Socks::new(self.way(written, Inner::Opaque)?, servers).speaking(version))
            }
            OutboundKind::Http(http) => {
                let servers = http.servers.iter().map(|server| asked(server, server.account.login())).collect();
                let headers = http.common.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                Outbound::Http(Http::new(self.way(written, Inner::Http1)?, servers, headers))
            }
            OutboundKind::Trojan(served) => Outbound::Trojan(trojan::trojan(self.way(written, Inner::Opaque)?, served)),
            OutboundKind::Hysteria(served) => {
                let way = self.way(written, Inner::Http3)?;
                if !way.is_hysteria() {
                    return Err(
                        "a hysteria outbound needs `\"network\": \"hysteria\"` in its streamSettings".to_owned()
                    );
                }
                Outbound::Hysteria(Hysteria::new(way, served.servers.iter().map(WrittenServer::target).collect()))
            }
            OutboundKind::Vless(served) => {
                let inner = if vless::wants_vision(served) { Inner::Vision } else { Inner::Opaque };
                Outbound::Vless(vless::vless(self.way(written, inner)?, served)?)
            }
            OutboundKind::Vmess(served) => Outbound::Vmess(vmess::vmess(self.way(written, Inner::Opaque)?, served)),
            OutboundKind::Wireguard(tunnel) => {
                // Carrier and security mean nothing to it, as in Xray.
                let stream = Stream { sockopt: written.stream.sockopt.clone(), ..Stream::default() };
                let way = self.way_by(written, &stream, Inner::Opaque)?;
                let masks = masks(&written.stream.mask.udp).map_err(|error| error.to_string())?;
                Outbound::Wireguard(wireguard::wireguard(way, tunnel, masks)?)
            }
        })
    }

    /// Questions are passed on as a direct flow would leave by this outbound.
    fn hijack(&self, dns: &DnsOut, written: &Written) -> Result<Hijack, String> {
        let mut direct = direct(&WrittenFreedom::default(), written, self.behind(written), self.lists)?;
        direct.redirect = Redirect { host: dns.address.clone(), port: Some(dns.port.0).filter(|port| *port != 0) };
        Ok(Hijack {
            handling: Arc::new(Handling::compile(dns, self.lists).map_err(|error| format!("rules: {error}"))?),
            direct: Arc::new(direct),
            network: match dns.network {
                DnsNetwork::Keep => None,
                DnsNetwork::Tcp => Some(Network::Tcp),
                DnsNetwork::Udp => Some(Network::Udp),
            },
            idle: self.levels.of(dns.user_level).idle,
        })
    }

    /// The way to a proxy server.
    fn way(&self, written: &Written, inner: Inner) -> Result<Way, String> {
        self.way_by(written, &written.carried(), inner)
    }

    fn way_by(&self, written: &Written, stream: &Stream, inner: Inner) -> Result<Way, String> {
        let dialer = Dialer::new(stream, inner, self.crypto).map_err(|error| error.to_string())?;
        Ok(match self.behind(written) {
            Some(outbound) if goes_along(written) => Way::through(dialer, outbound),
            Some(outbound) => Way::through(dialer, outbound).with_direct_download(),
            None => Way::from_local(dialer, written.send_through),
        })
    }

    /// The outbound through which this one dials.
    fn behind(&self, written: &Written) -> Option<OutboundId> {
        let chain = written.chained()?;
        let at = self.all.iter().position(|other| other.tag == *chain.tag);
        // One that does not exist was warned of; its flows fail when they are dialed, and never go out directly.
        Some(OutboundId(at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)))
    }
}

/// Whether what comes down goes through the same outbound as what goes up: by `proxySettings` always, and by `dialerProxy`
/// if that stands in its own socket options too, or penetrates.
fn goes_along(written: &Written) -> bool {
    let download = written.stream.download.as_deref();
    let own = download.is_none_or(|download| !download.sockopt(&written.stream.sockopt).dialer_proxy.is_empty());
    written.via.is_some() || own
}

fn asked<A>(server: &WrittenServer<A>, login: Option<(&str, &str)>) -> Server {
    Server { address: server.target(), login: login.map(|(user, pass)| (user.to_owned(), pass.to_owned())) }
}

fn direct(
    freedom: &WrittenFreedom,
    written: &Written,
    behind: Option<OutboundId>,
    lists: &Lists,
) -> Result<Freedom, String> {
    let redirect = freedom
        .redirect
        .as_ref()
        .map_or_else(Redirect::default, |to| Redirect { host: to.host.clone(), port: to.port });
    Ok(Freedom {
        socket: SocketOptions::from(&written.stream.sockopt),
        lookup: lookup(freedom.target_strategy, &written.stream.sockopt),
        redirect,
        through: written.send_through,
        header: header(freedom.proxy_protocol),
        rules: FinalRules::new(
            freedom.final_rules.iter().map(|rule| last_word(rule, lists)).collect::<Result<_, _>>()?,
        ),
        fragment: freedom.fragment.as_ref().map(fragment),
        noises: freedom.noises.iter().map(noise).collect::<Option<_>>().ok_or("a noise cannot be read")?,
        behind,
    })
}

fn last_word(written: &WrittenRule, lists: &Lists) -> Result<FinalRule, String> {
    let addresses = if written.ip.0.is_empty() {
        None
    } else {
        let set = Addresses::compile(&written.ip.0, lists).map_err(|error| format!("finalRules: {error}"))?;
        Some(Box::new(set) as Box<dyn Within>)
    };
    Ok(FinalRule {
        allows: written.action == FinalAction::Allow,
        networks: written.network,
        ports: written.port.clone(),
        addresses,
        delay: range(written.block_delay),
    })
}

impl Within for Addresses {
    fn contains(&self, ip: IpAddr) -> bool {
        Self::contains(self, ip)
    }
}

fn fragment(written: &WrittenFragment) -> Fragment {
    Fragment {
        writes: match written.packets {
            Packets::All => Writes::All,
            Packets::TlsHello => Writes::TlsHello,
            Packets::Writes(from, to) => Writes::Between(from, to),
        },
        length: range(written.length),
        interval: range(written.interval),
        most: range(written.max_split),
    }
}

fn noise(written: &WrittenNoise) -> Option<Noise> {
    let bytes = match written.r#type {
        NoiseKind::Rand => NoiseBytes::Random(range(Ranged::parse(&written.packet)?)),
        NoiseKind::Str => NoiseBytes::Fixed(written.packet.clone().into_bytes()),
        NoiseKind::Hex => NoiseBytes::Fixed(keys::hex(&written.packet)?),
        NoiseKind::Base64 => NoiseBytes::Fixed(keys::base64(&written.packet)?),
    };
    let families = (written.apply_to != ApplyTo::Ipv6, written.apply_to != ApplyTo::Ipv4);
    Some(Noise { bytes, delay: range(written.delay), families })
}

/// A range without what is below 0.
fn range<T: TryFrom<i32> + Default>(written: Ranged) -> RangeInclusive<T> {
    let bound = |number: i32| T::try_from(number).unwrap_or_default();
    bound(written.from)..=bound(written.to)
}

fn header(version: u32) -> Option<crate::proto::haproxy::Form> {
    match version {
        1 => Some(crate::proto::haproxy::Form::V1),
        2 => Some(crate::proto::haproxy::Form::V2),
        _ => None,
    }
}

/// How a direct outbound finds addresses: by its own strategy, and without one by that of its sockets.
fn lookup(own: DomainStrategy, sockopt: &SockOpt) -> Lookup {
    let (strategy, families) = match own {
        DomainStrategy::AsIs => (sockopt.domain_strategy, Families::from(sockopt)),
        own => (own, Families::from(own)),
    };
    let source = match strategy {
        DomainStrategy::AsIs => Source::System,
        forced if forced.forces() => Source::Dns,
        _ => Source::DnsFirst,
    };
    Lookup { source, families }
}
