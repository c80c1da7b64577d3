//! From the inbounds of a config to those that run.

mod fallback;
mod hysteria;
mod shadowsocks;
mod trojan;
mod vless;
mod vmess;
mod wireguard;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::addr::{Host, Network};
use crate::inbound::{
    Common, Dokodemo, Http, Inbound, Kind, Mixed, Original, Place, Relay, Roaming, Socks, UnixPlace, Users,
};
use crate::model::fields::Networks;
use crate::model::inbound::{Inbound as Written, InboundKind, Listen};
use crate::model::policy::{LevelPolicy, Policy};
use crate::model::protocol::{Dokodemo as WrittenDoor, Login, SocksIn};
use crate::model::sockopt::Tproxy;
use crate::net::SocketOptions;
use crate::proto::login::Logins;
use crate::shape::Dialect;
use crate::tls::{Crypto, Inner};
use crate::transport::Acceptor;

/// Makes an inbound.
///
/// # Errors
/// A sentence on what cannot be used.
pub(super) fn door(written: &Written, policy: &Policy, crypto: &Crypto) -> Result<Inbound, String> {
    let inner = match &written.kind {
        InboundKind::Http(_) => Inner::Http1,
        InboundKind::Vless(vless) if vless.has_vision() && vless.decryption.is_none() => Inner::Vision,
        _ => Inner::Opaque,
    };
    let acceptor = match &written.kind {
        // Carrier and security mean nothing to it, as in Xray.
        InboundKind::Wireguard(_) => Acceptor::raw(),
        _ => Acceptor::new(&written.stream, inner, crypto).map_err(|error| error.to_string())?,
    };
    let (kind, networks) = match &written.kind {
        InboundKind::Socks(socks) => (Kind::Mixed(mixed(socks)?), Networks::TCP),
        InboundKind::Http(http) => {
            let users = (!http.accounts.is_empty()).then(|| users(&http.accounts));
            (Kind::Http(Http::new(users, http.allow_transparent)), Networks::TCP)
        }
        InboundKind::Dokodemo(door) => (Kind::Dokodemo(fixed(door)), door.network),
        InboundKind::Shadowsocks(ss) => (Kind::Shadowsocks(shadowsocks::shadowsocks(ss)?), ss.network),
        InboundKind::Trojan(written) => (Kind::Trojan(trojan::trojan(written)?), Networks::TCP),
        InboundKind::Hysteria(kind) => (Kind::Hysteria(hysteria::hysteria(kind, &written.stream)?), Networks::TCP),
        InboundKind::Vless(written) => (Kind::Vless(vless::vless(written)?), Networks::TCP),
        InboundKind::Vmess(kind) => (Kind::Vmess(vmess::vmess(kind, &written.stream)), Networks::TCP),
        InboundKind::Wireguard(kind) => (Kind::Wireguard(wireguard::wireguard(kind, &written.stream)?), Networks::UDP),
        #[allow(unreachable_patterns, reason = "kinds are read before they are built")]
        other => return Err(format!("the protocol {} is not built yet", other.word(Dialect::Json))),
    };
    Ok(Inbound {
        common: common(written, policy),
        kind,
        places: places(written, networks, &acceptor)?,
        options: SocketOptions::from(&written.stream.sockopt),
        original: original(written),
        acceptor,
        roaming: Roaming::default(),
    })
}

/// What an inbound has in common with all others; a change of policy may change that alone.
pub(super) fn common(written: &Written, policy: &Policy) -> Common {
    let (tag, level) = (written.tag.clone(), level(&written.kind));
    let limits = policy.level(level);
    // With 0 Xray ends everything at once. Whoever writes it means no limit; but a visitor that never says what it wants
    // must not stay.
    let or = |written: Duration, else_: Duration| if written.is_zero() { else_ } else { written };
    let usual = LevelPolicy::default().handshake.0;
    Common {
        tag,
        level,
        remote: is_remote(&written.kind),
        handshake: or(limits.handshake.0, usual),
        idle: or(limits.conn_idle.0, Duration::MAX),
        uplink_only: limits.uplink_only.0,
        downlink_only: limits.downlink_only.0,
    }
}

/// Whether who comes in is another machine's, by the protocol (Xray's list for the default of `finalRules`).
fn is_remote(kind: &InboundKind) -> bool {
    matches!(
        kind,
        InboundKind::Vless(_)
            | InboundKind::Vmess(_)
            | InboundKind::Trojan(_)
            | InboundKind::Shadowsocks(_)
            | InboundKind::Hysteria(_)
            | InboundKind::Wireguard(_)
    )
}

/// The policy level of its users.
fn level(kind: &InboundKind) -> u32 {
    match kind {
        InboundKind::Socks(socks) => socks.user_level,
        InboundKind::Http(http) => http.user_level,
        InboundKind::Dokodemo(door) => door.user_level,
        InboundKind::Shadowsocks(ss) => ss.level.into(),
        _ => 0,
    }
}

fn mixed(socks: &SocksIn) -> Result<Mixed, String> {
    let relay = match (&socks.ip, socks.udp) {
        (_, false) => Relay::Off,
        (None, true) => Relay::Here,
        (Some(Host::Ip(ip)), true) => Relay::At(*ip),
        (Some(Host::Domain(name)), true) => return Err(format!("`ip` must be an address, not the name {name}")),
    };
    let who = || socks.logins().map(users);
    Ok(Mixed::new(Socks::new(who(), relay), Http::new(who(), false)))
}

fn users(logins: &[Login]) -> Users {
    Users::new(Logins::new(logins.iter().map(|login| (login.user.as_str(), login.pass.expose().as_str()))))
}

fn fixed(door: &WrittenDoor) -> Dokodemo {
    Dokodemo {
        host: door.address.clone(),
        port: Some(door.port.0).filter(|port| *port != 0),
        by_port: door.port_map.0.iter().map(|(port, to)| (*port, (to.host.clone(), to.port))).collect(),
        follow: door.follow_redirect,
    }
}

/// Xray takes `followRedirect` without a `tproxy` mode for the REDIRECT target (`app/proxyman/inbound`).
fn original(written: &Written) -> Original {
    let follows = matches!(&written.kind, InboundKind::Dokodemo(door) if door.follow_redirect);
    match written.stream.sockopt.tproxy {
        Tproxy::Tproxy => Original::Transparent,
        Tproxy::Redirect => Original::Redirect,
        Tproxy::Off if follows => Original::Redirect,
        Tproxy::Off => Original::Unknown,
    }
}

/// Ports that are as one: each is a socket, and all of them are looked at for each packet.
const PORTS: usize = 1024;

/// What is spoken at a UDP port in place of TCP, in the words of a refusal.
#[derive(Clone, Copy)]
enum Spoken {
    Quic,
    Mkcp,
}

impl Spoken {
    fn as_str(self) -> &'static str {
        match self {
            Self::Quic => "QUIC (HTTP/3, hysteria)",
            Self::Mkcp => "mKCP",
        }
    }
}

fn places(written: &Written, networks: Networks, acceptor: &Acceptor) -> Result<Vec<Place>, String> {
    let mkcp = acceptor.mkcp().map(|_| Spoken::Mkcp);
    let spoken = acceptor.quic().map(|_| Spoken::Quic).or(mkcp);
    let tunnel = matches!(written.kind, InboundKind::Wireguard(_));
    let ip = match (&written.listen, spoken) {
        (Listen::Any, _) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        (Listen::Ip(ip), _) => *ip,
        (Listen::Unix { .. } | Listen::Abstract { .. }, Some(spoken)) => {
            return Err(format!("{} cannot be spoken at a Unix socket", spoken.as_str()));
        }
        (Listen::Unix { .. } | Listen::Abstract { .. }, None) if tunnel => {
            return Err("a tunnel of packets cannot end at a Unix socket".into());
        }
        (Listen::Unix { path, mode }, None) => {
            return Ok(vec![Place::Unix(UnixPlace::File { path: path.into(), mode: *mode })]);
        }
        (Listen::Abstract { name, padded }, None) => {
            return Ok(vec![Place::Unix(UnixPlace::Abstract { name: name.clone(), padded: *padded })]);
        }
    };
    let ports = written.ports.as_ref().ok_or("it has no port to listen on")?;
    if let Some(spoken) = spoken.filter(|_| networks.contains(Network::Udp)) {
        return Err(format!("its own UDP and {} would need the same port", spoken.as_str()));
    }
    if acceptor.is_hysteria() && ports.len() > 1 {
        if ports.len() > PORTS {
            return Err(format!("more than {PORTS} ports: have the firewall send them all to one (REDIRECT)"));
        }
        return Ok(vec![Place::Quics(ports.iter().map(|port| SocketAddr::new(ip, port)).collect())]);
    }
    if tunnel {
        return Ok(ports.iter().map(|port| Place::Tunnel(SocketAddr::new(ip, port))).collect());
    }
    let each = |port| {
        let at = SocketAddr::new(ip, port);
        let place = match spoken {
            Some(Spoken::Quic) => Place::Quic(at),
            Some(Spoken::Mkcp) => Place::Mkcp(at),
            None => Place::Tcp(at),
        };
        let tcp = networks.contains(Network::Tcp).then_some(place);
        tcp.into_iter().chain(networks.contains(Network::Udp).then_some(Place::Udp(at)))
    };
    Ok(ports.iter().flat_map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Seconds, Spot};

    #[test]
    fn a_limit_of_0_ends_nothing_at_once() {
        let none = Seconds(Duration::ZERO);
        let level = LevelPolicy { handshake: none, conn_idle: none, ..LevelPolicy::default() };
        let policy = Policy { levels: [("0".to_owned(), level)].into(), ..Policy::default() };
        let written = Written {
            at: Spot::default(),
            tag: "in".into(),
            listen: Listen::Any,
            ports: None,
            kind: InboundKind::Dokodemo(WrittenDoor::default()),
            stream: Default::default(),
            sniffing: Default::default(),
        };
        let common = common(&written, &policy);
        assert_eq!((common.handshake, common.idle), (Duration::from_secs(60), Duration::MAX));
    }
}
