//! Whether the parts of one inbound or outbound fit together. What Xray finds out only when connections fail is a
//! warning here; what it does not load is an error.

use super::carrier::{RawKind, RawTcp};
use super::inbound::{Inbound, InboundKind};
use super::outbound::{Outbound, OutboundKind, SendThrough};
use super::private::is_private;
use super::protocol::VlessAccount;
use super::server::Server;
use super::stream::{Carrier, Security, Stream};
use super::user::VlessFlow;
use crate::shape::{Kind, Problem, Severity, Spot};

/// What is wrong with an outbound as a whole.
#[must_use]
pub fn outbound(outbound: &Outbound) -> Vec<Problem> {
    let mut out = Findings { at: &outbound.at, found: vec![] };
    out.chain(outbound);
    out.elsewhere(&outbound.stream.sockopt.for_listening(), "outbound");
    let stream = &*outbound.carried();
    let open = matches!(stream.security, Security::None);
    match &outbound.kind {
        OutboundKind::Vless(vless) => {
            for server in &vless.servers {
                if open && server.account.encryption.is_none() {
                    out.plain("VLESS", server);
                }
                out.vision(outbound, &server.account);
            }
        }
        OutboundKind::Trojan(trojan) if open => {
            for server in &trojan.servers {
                out.plain("Trojan", server);
            }
        }
        OutboundKind::Hysteria(_) => out.hysteria(stream),
        OutboundKind::Wireguard(wireguard) => {
            if wireguard.peers.is_empty() {
                out.warn(Kind::Missing, "empty peers: this outbound cannot start");
            }
            if wireguard.peers.iter().any(|peer| peer.endpoint.is_empty()) {
                out.warn(Kind::Missing, "peer without endpoint: this outbound cannot start");
            }
            out.no_transport(stream, "wireguard");
        }
        OutboundKind::Freedom(_) => out.no_transport(stream, "freedom"),
        OutboundKind::Blackhole(_) => out.no_transport(stream, "blackhole"),
        OutboundKind::Dns(_) => out.no_transport(stream, "dns"),
        OutboundKind::Loopback(_) => out.no_transport(stream, "loopback"),
        OutboundKind::Responder(_) => out.no_transport(stream, "responder"),
        _ => {}
    }
    if outbound.mux.enabled && outbound.kind.servers().is_empty() {
        out.warn(Kind::Ignored, "mux has no effect on an outbound without a server");
    }
    if !matches!(outbound.kind, OutboundKind::Hysteria(_)) && matches!(stream.carrier, Carrier::Hysteria(_)) {
        out.warn(Kind::Conflict, "network `hysteria` carries the protocol hysteria only");
    }
    out.found
}

/// What is wrong with an inbound as a whole.
#[must_use]
pub fn inbound(inbound: &Inbound) -> Vec<Problem> {
    let mut out = Findings { at: &inbound.at, found: vec![] };
    out.elsewhere(&inbound.stream.sockopt.for_dialing(), "inbound");
    let deaf = match &inbound.kind {
        InboundKind::Socks(_) => Some("socks"),
        InboundKind::Shadowsocks(_) => Some("shadowsocks"),
        InboundKind::Wireguard(_) => Some("wireguard"),
        InboundKind::Hysteria(_) => Some("hysteria"),
        _ => None,
    };
    if let (Some(kind), true) = (deaf, inbound.listen.is_unix()) {
        out.warn(Kind::Conflict, &format!("Xray's {kind} inbound opens nothing on a Unix socket"));
    }
    if let InboundKind::Hysteria(_) = inbound.kind {
        out.hysteria(&inbound.stream);
    }
    if let InboundKind::Wireguard(wireguard) = &inbound.kind {
        if wireguard.peers.is_empty() {
            out.warn(Kind::Missing, "empty peers: nobody can come in");
        }
        out.no_transport(&inbound.stream, "wireguard");
    }
    if let InboundKind::Vless(vless) = &inbound.kind
        && vless.has_vision()
        && vless.decryption.is_none()
        && !carries_vision(&inbound.stream)
    {
        out.warn(Kind::Conflict, VISION);
    }
    out.found
}

const VISION: &str =
    "XTLS only supports TLS and REALITY directly for now: connections with flow `xtls-rprx-vision` will fail";

fn carries_vision(stream: &Stream) -> bool {
    let raw = matches!(&stream.carrier, Carrier::Raw(RawTcp { header, .. }) if header.r#type == RawKind::None);
    raw && matches!(stream.security, Security::Tls(_) | Security::Reality(_))
}

struct Findings<'a> {
    at: &'a Spot,
    found: Vec<Problem>,
}

impl Findings<'_> {
    fn warn(&mut self, kind: Kind, message: &str) {
        self.found.push(Problem::at(self.at, Severity::Warning, kind, message));
    }

    /// Options of sockets that are for the other end.
    fn elsewhere(&mut self, keys: &[&str], end: &str) {
        if !keys.is_empty() {
            self.warn(Kind::Ignored, &format!("sockopt: no effect on an {end}: {}", keys.join(", ")));
        }
    }

    /// What means nothing, or less, to an outbound that dials through another.
    fn chain(&mut self, outbound: &Outbound) {
        if outbound.chained().is_some() && outbound.send_through != SendThrough::Any {
            self.warn(Kind::Ignored, "sendThrough has no effect on an outbound that dials through another");
        }
        let Some(via) = outbound.via.as_ref().filter(|via| !via.transport_layer) else { return };
        let stream = &outbound.stream;
        let more =
            stream.carrier != Carrier::default() || stream.download.is_some() || stream.mask != Default::default();
        let said = if !outbound.drops_transport() {
            "proxySettings without transportLayer: Xray would go on without this security, in the clear; it is kept here"
        } else if more && !outbound.kind.servers().is_empty() {
            "proxySettings without transportLayer keeps TLS alone: the network of streamSettings has no effect"
        } else {
            return;
        };
        let problem = Problem::at(&via.at, Severity::Warning, Kind::Ignored, said);
        self.found.push(problem.help("write `\"transportLayer\": true` to keep all of streamSettings"));
    }

    /// Plain VLESS and Trojan to a public address: Xray refuses some spellings of it, we warn of all.
    fn plain<A>(&mut self, name: &str, server: &Server<A>) {
        if is_private(&server.address) {
            return;
        }
        let message = format!("{name} without TLS to a public address: whoever is on the way can read it");
        let problem = Problem::at(&server.at, Severity::Warning, Kind::Conflict, message);
        self.found.push(problem.help("use TLS or REALITY; Xray refuses this unless the address is private"));
    }

    fn vision(&mut self, outbound: &Outbound, account: &VlessAccount) {
        if !matches!(account.flow, VlessFlow::Vision | VlessFlow::VisionUdp443) {
            return;
        }
        if account.encryption.is_none() && !carries_vision(&outbound.carried()) {
            self.warn(Kind::Conflict, VISION);
        }
        if outbound.mux.enabled && outbound.mux.concurrency >= 0 {
            self.warn(Kind::Conflict, "mux with flow `xtls-rprx-vision` carries no TCP, which servers refuse: TCP flows take connections of their own");
        }
    }

    fn hysteria(&mut self, stream: &Stream) {
        let faults = [
            (
                !matches!(stream.carrier, Carrier::Hysteria(_)),
                "not hysteria transport: this needs network `hysteria`",
                "write `\"network\": \"hysteria\"` into its streamSettings, with the password as \"auth\" in hysteriaSettings",
            ),
            (
                !matches!(stream.security, Security::Tls(_)),
                "tls config is nil: this needs security `tls`",
                "write `\"security\": \"tls\"` into its streamSettings",
            ),
        ];
        for (_, message, help) in faults.into_iter().filter(|(bad, ..)| *bad) {
            self.found.push(Problem::at(self.at, Severity::Warning, Kind::Conflict, message).help(help));
        }
    }

    fn no_transport(&mut self, stream: &Stream, kind: &str) {
        if stream.carrier != Carrier::default() || stream.security != Security::None {
            self.warn(Kind::Ignored, &format!("transport and security have no effect on {kind}"));
        }
    }
}
