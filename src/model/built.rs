//! What the runtime has, so far. Everything else is read, kept and converted; it is reported here, by place, and never
//! passed over in silence.

use crate::addr::Tag;
use crate::shape::{Dialect, Kind, Problem, Severity, Spot};

use super::draft::Draft;
use super::inbound::{Inbound, InboundKind};
use super::outbound::{Outbound, OutboundKind};
use super::protocol::WireStrategy;
use super::routing::Rule;
use super::services::Services;
use super::sockopt::Tproxy;
use stream::{Part, refuse, skip};

mod hello;
mod level;
mod stream;
mod vless;

/// Warns of every part that cannot run yet. [`Kind::NotBuilt`] keeps `run` from starting, [`Kind::Skipped`] does not.
pub fn report(draft: &Draft, problems: &mut Vec<Problem>) {
    let mut say = |at: &Spot, kind: Kind, what: String| problems.push(Problem::at(at, Severity::Warning, kind, what));
    for inbound in &draft.inbounds {
        for (kind, part) in inbound_parts(inbound) {
            say(&inbound.at, kind, sentence(kind, "inbound", &inbound.tag, &part));
        }
    }
    for outbound in &draft.outbounds {
        for (kind, part) in outbound_parts(outbound).into_iter().chain(level::parts(draft, &outbound.kind)) {
            say(&outbound.at, kind, sentence(kind, "outbound", &outbound.tag, &part));
        }
    }
    for rule in &draft.routing.rules {
        for part in rule_parts(rule) {
            say(&rule.at, Kind::NotBuilt, format!("{part} cannot run yet"));
        }
        if rule.when.webhook.is_some() {
            say(&rule.at, Kind::Skipped, "its webhook is not called yet".to_owned());
        }
    }
    for part in sections(draft) {
        say(&Spot::default(), Kind::Skipped, format!("{part} is read but not run yet: it is skipped"));
    }
}

/// Whether a tag is that of a service inside the engine rather than of an outbound. An API with an address of its own is none:
/// its tag then leads nowhere.
#[must_use]
pub fn is_service(services: &Services, tag: &Tag) -> bool {
    let api = services.api.as_ref().is_some_and(|api| api.tag == *tag && api.listen.is_empty());
    let metrics = services.metrics.as_ref().is_some_and(|metrics| metrics.tag == *tag);
    let portal = services.reverse.as_ref().is_some_and(|r| r.portals.iter().any(|end| end.tag == *tag));
    !tag.is_empty() && (api || metrics || portal)
}

/// What is said of a part. One without a tag is known by its place, which is told too.
fn sentence(kind: Kind, what: &str, tag: &Tag, part: &str) -> String {
    let whose = if tag.is_empty() { String::new() } else { format!("{what} {tag}: ") };
    if kind == Kind::NotBuilt {
        format!("{whose}{part} is read but cannot run yet")
    } else {
        format!("{whose}{part} is read but has no effect yet")
    }
}

fn inbound_parts(inbound: &Inbound) -> Vec<Part> {
    let mut parts = vec![];
    match &inbound.kind {
        InboundKind::Socks(_) | InboundKind::Http(_) | InboundKind::Shadowsocks(_) | InboundKind::Hysteria(_) => {}
        InboundKind::Dokodemo(door) => {
            if door.network.udp && (door.follow_redirect || inbound.stream.sockopt.tproxy != Tproxy::Off) {
                parts.push(refuse("redirected UDP"));
            }
        }
        InboundKind::Trojan(trojan) => parts.extend(vless::fallbacks(&trojan.fallbacks)),
        InboundKind::Vmess(vmess) => {
            if vmess.clients.iter().any(|user| user.experiments.contains("NoTerminationSignal")) {
                parts.push(skip("NoTerminationSignal of a user (clients are always told of the end)"));
            }
        }
        InboundKind::Vless(vless) => parts.extend(vless::server(vless)),
        InboundKind::Wireguard(tunnel) => {
            if tunnel.no_kernel_tun {
                parts.push(skip("noKernelTun (a client's; packets never pass the kernel here)"));
            }
            if tunnel.domain_strategy != WireStrategy::default() {
                parts.push(skip("domainStrategy (a client's)"));
            }
            if tunnel.peers.iter().any(|peer| !peer.endpoint.is_empty()) {
                parts.push(skip("the endpoint of a peer (peers call from anywhere)"));
            }
        }
        other => parts.push(refuse(format!("the protocol {}", other.word(Dialect::Json)))),
    }
    // Neither carrier nor security means anything to a tunnel, but masks do.
    match &inbound.kind {
        InboundKind::Wireguard(_) => parts.extend(stream::packet_parts(&inbound.stream)),
        _ => parts.extend(stream::parts(&inbound.stream)),
    }
    parts.extend(stream::socket_parts(&inbound.stream.sockopt));
    if inbound
        .stream
        .mask
        .quic
        .as_ref()
        .is_some_and(|quic| quic.udp_hop.as_ref().is_some_and(|hop| hop.ports.is_some()))
    {
        parts.push(skip("udpHop of quicParams (a client's; a server takes several ports as `port`)"));
    }
    if inbound.stream.download.is_some() {
        parts.push(skip("downloadSettings (a client's)"));
    }
    parts
}

fn outbound_parts(outbound: &Outbound) -> Vec<Part> {
    let mut parts = vec![];
    match &outbound.kind {
        // Carrier and security mean nothing to kinds that have no server (Xray ignores them too).
        OutboundKind::Blackhole(_) | OutboundKind::Responder(_) => {}
        OutboundKind::Loopback(loopback) => {
            if loopback.sniffing.enabled {
                parts.push(skip("its own sniffing"));
            }
        }
        OutboundKind::Freedom(_) | OutboundKind::Dns(_) => {
            parts.extend(stream::dialing_parts(&outbound.stream.sockopt));
        }
        // Neither carrier nor security, but masks.
        OutboundKind::Wireguard(_) => {
            parts.extend(stream::packet_parts(&outbound.stream));
            parts.extend(stream::dialing_parts(&outbound.stream.sockopt));
        }
        kind => {
            match kind {
                OutboundKind::Http(_)
                | OutboundKind::Hysteria(_)
                | OutboundKind::Shadowsocks(_)
                | OutboundKind::Socks(_)
                | OutboundKind::Trojan(_)
                | OutboundKind::Vmess(_) => {}
                OutboundKind::Vless(served) => {
                    parts.extend(served.servers.iter().flat_map(|server| vless::client(&server.account)));
                }
                // Those above.
                _ => {}
            }
            let stream = outbound.carried();
            parts.extend(stream::parts(&stream));
            parts.extend(stream::dialing_parts(&stream.sockopt));
            parts.extend(stream::download_parts(&stream, outbound.chained().map(|chain| chain.tag)));
            parts.extend(hello::parts(&stream));
            parts.extend(stream.download.iter().flat_map(|download| hello::parts(&download.stream)));
        }
    }
    parts
}

fn rule_parts(rule: &Rule) -> Vec<&'static str> {
    let when = &rule.when;
    let mut parts = vec![];
    if !when.process.is_empty() {
        parts.push("a condition on the client's process");
    }
    parts
}

fn sections(draft: &Draft) -> Vec<&'static str> {
    let s = &draft.services;
    let buffers = draft.policy.levels.values().any(|level| level.buffer_size.is_some());
    [
        (buffers, "bufferSize of policy levels (the relay borrows buffers only while bytes wait)"),
        (s.api.is_some(), "api"),
        (s.stats, "stats"),
        (s.metrics.is_some(), "metrics"),
        (s.reverse.is_some(), "reverse"),
    ]
    .into_iter()
    .filter(|(there, _)| *there)
    .map(|(_, name)| name)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inbound::Listen;
    use crate::model::protocol::{VmessIn, VmessUser};

    #[test]
    fn one_without_a_tag_is_not_named_twice() {
        let said = |tag: &str| sentence(Kind::Skipped, "inbound", &tag.into(), "x");
        assert_eq!(
            [said(""), said("in")],
            ["", "inbound in: "].map(|whose| format!("{whose}x is read but has no effect yet"))
        );
    }

    #[test]
    fn clients_of_vmess_are_told_of_the_end_whatever_their_user_says() {
        let parts = |experiments: &str| {
            let user = VmessUser { experiments: experiments.into(), ..VmessUser::default() };
            inbound_parts(&Inbound {
                at: Spot::default(),
                tag: "in".into(),
                listen: Listen::Any,
                ports: None,
                kind: InboundKind::Vmess(VmessIn { clients: vec![user], ..VmessIn::default() }),
                stream: Default::default(),
                sniffing: Default::default(),
            })
        };
        assert!(parts("AuthenticatedLength").is_empty());
        assert!(matches!(&parts("AuthenticatedLength|NoTerminationSignal")[..], [(Kind::Skipped, _)]));
    }
}
