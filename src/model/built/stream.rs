//! Which parts of a stream can run.

use crate::model::carrier::{UplinkPlacement, Xhttp};
use crate::model::sockopt::{AddressPort, FastOpen, SockOpt};
use crate::model::stream::{Carrier, Security, Stream};
use crate::model::tls::{CertUsage, Tls};
use crate::shape::{Dialect, Kind};

/// A part that cannot run, and whether that keeps the rest from running.
pub(super) type Part = (Kind, String);

pub(super) fn refuse(what: impl Into<String>) -> Part {
    (Kind::NotBuilt, what.into())
}

pub(super) fn skip(what: impl Into<String>) -> Part {
    (Kind::Skipped, what.into())
}

/// The parts of a stream that cannot run. A part that changes what a stranger sees or reads keeps the rest from running;
/// a socket option that only tunes does not.
pub(super) fn parts(stream: &Stream) -> Vec<Part> {
    let mut parts = vec![];
    match &stream.carrier {
        Carrier::Raw(_) | Carrier::Ws(_) | Carrier::HttpUpgrade(_) | Carrier::Grpc(_) => {}
        Carrier::Xhttp(set) => parts.extend(xhttp_parts(stream, set)),
        other => parts.push(refuse(format!("the network {}", other.word(Dialect::Json)))),
    }
    match &stream.security {
        Security::None | Security::Reality(_) => {}
        Security::Tls(tls) => parts.extend(tls_parts(tls)),
        Security::Xtls(_) => parts.push(refuse("the security xtls")),
    }
    if !stream.mask.tcp.is_empty() || !stream.mask.udp.is_empty() {
        parts.push(refuse("finalmask"));
    }
    parts.extend(socket_parts(&stream.sockopt));
    parts
}

fn xhttp_parts(stream: &Stream, set: &Xhttp) -> Vec<Part> {
    let mut parts = vec![];
    if stream.download.is_some() {
        parts.push(refuse("downloadSettings"));
    }
    if matches!(&stream.security, Security::Tls(tls) if tls.alpn.0 == ["h3"]) {
        parts.push(refuse("XHTTP over HTTP/3 (alpn h3)"));
    }
    if matches!(set.uplink_data_placement, UplinkPlacement::Cookie | UplinkPlacement::Header) {
        parts.push(refuse("uplinkDataPlacement in cookies or headers"));
    }
    if !set.session_id_table.is_empty() {
        parts.push(skip("sessionIDTable (ids of sessions are UUIDs)"));
    }
    parts
}

fn tls_parts(tls: &Tls) -> Vec<Part> {
    let from_mitm = |text: &str| text.eq_ignore_ascii_case("frommitm");
    let mut parts = vec![];
    if !tls.ech_config_list.is_empty() || !tls.ech_server_keys.expose().is_empty() {
        parts.push(refuse("ECH"));
    }
    if tls.certificates.iter().any(|c| c.usage == CertUsage::Issue) {
        parts.push(refuse("a certificate of usage issue"));
    }
    if from_mitm(&tls.server_name) || tls.alpn.0.iter().any(|alpn| from_mitm(alpn)) {
        parts.push(refuse("fromMitm"));
    }
    if tls.certificates.iter().any(|c| !c.ocsp_stapling.is_zero()) {
        parts.push(skip("ocspStapling (its time only says how often the files are read anew)"));
    }
    parts
}

pub(super) fn socket_parts(sockopt: &SockOpt) -> Vec<Part> {
    let mut parts = vec![];
    if sockopt.address_port_strategy != AddressPort::None {
        parts.push(refuse("addressPortStrategy"));
    }
    if sockopt.tcp_fast_open != FastOpen::Unset {
        parts.push(skip("tcpFastOpen"));
    }
    if sockopt.tcp_window_clamp != 0 {
        parts.push(skip("tcpWindowClamp"));
    }
    if !sockopt.custom.is_empty() {
        parts.push(skip("customSockopt"));
    }
    if sockopt.happy_eyeballs.as_ref().is_some_and(|eyes| eyes.interleave != 1 || eyes.max_concurrent_try != 4) {
        parts.push(skip("interleave and maxConcurrentTry of happyEyeballs"));
    }
    parts
}
