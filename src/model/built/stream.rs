//! Which parts of a stream can run.

use crate::addr::Tag;
use crate::model::carrier::{UplinkPlacement, Xhttp};
use crate::model::mask::UdpMask;
use crate::model::quicparams::{BbrProfile, Congestion, QuicParams};
use crate::model::sockopt::{AddressPort, SockOpt};
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
        Carrier::Raw(_) | Carrier::Ws(_) | Carrier::HttpUpgrade(_) | Carrier::Grpc(_) | Carrier::Kcp(_) => {}
        Carrier::Xhttp(set) => parts.extend(xhttp_parts(stream, set)),
        Carrier::Hysteria(_) => parts.extend(stream.mask.quic.iter().flat_map(quic_parts)),
        other => parts.push(refuse(format!("the network {}", other.word(Dialect::Json)))),
    }
    match &stream.security {
        // That xtls cannot run, and never will, was said where it was read.
        Security::None | Security::Reality(_) | Security::Xtls(_) => {}
        Security::Tls(tls) => parts.extend(tls_parts(tls)),
    }
    parts.extend(mask_parts(stream));
    parts
}

/// The masks that cannot be put on. Those of UDP are put on the packets of QUIC and mKCP alone.
fn mask_parts(stream: &Stream) -> Vec<Part> {
    let bare = !matches!(stream.carrier, Carrier::Hysteria(_) | Carrier::Kcp(_)) && !is_http3(stream);
    masks_not_built(stream, bare)
}

/// The same of what sends packets of its own whatever the carrier is.
pub(super) fn packet_parts(stream: &Stream) -> Vec<Part> {
    masks_not_built(stream, false)
}

/// Those that nothing wears, or all where `bare` says that here none is worn.
fn masks_not_built(stream: &Stream, bare: bool) -> Vec<Part> {
    let named = |at: usize, of: &str, word: &str| refuse(format!("{word} (finalmask.{of}[{at}])"));
    let tcp = stream.mask.tcp.iter().enumerate().map(|(at, mask)| named(at, "tcp", mask.word(Dialect::Json)));
    let worn = |mask: &UdpMask| match mask {
        UdpMask::MkcpLegacy(_) => true,
        UdpMask::Salamander(set) => set.packet_size == Default::default(),
        _ => false,
    };
    let udp = stream.mask.udp.iter().enumerate().filter(|(_, mask)| bare || !worn(mask));
    let udp = udp.map(|(at, mask)| match mask {
        UdpMask::Salamander(set) if set.packet_size != Default::default() => {
            named(at, "udp", "packetSize of salamander")
        }
        mask => named(at, "udp", mask.word(Dialect::Json)),
    });
    tcp.chain(udp).collect()
}

/// The parts of an outbound's way of its own for what comes down. `by` is the outbound that it dials through, if any.
pub(super) fn download_parts(stream: &Stream, by: Option<&Tag>) -> Vec<Part> {
    let Some(download) = &stream.download else { return vec![] };
    let sockopt = download.sockopt(&stream.sockopt);
    let inner = Stream { sockopt: sockopt.clone(), download: None, ..download.stream.clone() };
    let mut parts = [parts(&inner), dialing_parts(sockopt)].concat();
    if !matches!(inner.carrier, Carrier::Xhttp(_)) {
        parts.push(refuse("a network other than xhttp"));
    }
    if !sockopt.dialer_proxy.is_empty() && by != Some(&sockopt.dialer_proxy) {
        parts.push(refuse("a dialerProxy that is not the outbound's own"));
    }
    if download.stream.download.is_some() {
        parts.push(skip("another downloadSettings"));
    }
    parts.into_iter().map(|(kind, what)| (kind, format!("{what} in downloadSettings"))).collect()
}

fn xhttp_parts(stream: &Stream, set: &Xhttp) -> Vec<Part> {
    let mut parts = vec![];
    if is_http3(stream) {
        parts.extend(stream.mask.quic.iter().flat_map(quic_parts));
        if stream.mask.quic.as_ref().is_some_and(|quic| quic.congestion == Congestion::Brutal) {
            parts.push(refuse(
                "congestion brutal without hysteria (nobody agrees on a rate; `force-brutal` needs none)",
            ));
        }
    }
    if matches!(set.uplink_data_placement, UplinkPlacement::Cookie | UplinkPlacement::Header) {
        parts.push(refuse("uplinkDataPlacement in cookies or headers"));
    }
    if !set.session_id_table.is_empty() {
        parts.push(skip("sessionIDTable (ids of sessions are UUIDs)"));
    }
    parts
}

/// Whether a stream goes by QUIC.
pub(super) fn is_http3(stream: &Stream) -> bool {
    let http3 = matches!(&stream.security, Security::Tls(tls) if tls.alpn.0 == ["h3"]);
    http3 && matches!(stream.carrier, Carrier::Xhttp(_))
}

fn quic_parts(quic: &QuicParams) -> Vec<Part> {
    let mut parts = vec![];
    if quic.congestion == Congestion::ForceBrutal && quic.brutal_up.0 == 0 {
        parts.push(refuse("congestion force-brutal without brutalUp"));
    }
    if quic.bbr_profile != BbrProfile::default() {
        parts.push(skip("bbrProfile of quicParams"));
    }
    if quic.debug {
        parts.push(skip("debug of quicParams"));
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

/// The options of sockets that cannot be set on one that dials.
pub(super) fn dialing_parts(sockopt: &SockOpt) -> Vec<Part> {
    let mut parts = socket_parts(sockopt);
    if sockopt.address_port_strategy != AddressPort::None {
        parts.push(refuse("addressPortStrategy"));
    }
    parts
}

/// The same of any socket.
pub(super) fn socket_parts(sockopt: &SockOpt) -> Vec<Part> {
    let unread = sockopt.custom.iter().filter(|option| option.numbers().is_none());
    unread.map(|option| skip(format!("customSockopt {} (its level, opt or value is no number)", option.opt))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Host;
    use crate::model::sockopt::CustomSockopt;
    use crate::model::stream::Download;
    use crate::shape::TextList;

    /// What is said of a stream whose download is this, of an outbound that dials through `front`.
    fn said(carrier: Carrier, security: Security, dialer_proxy: &str) -> Vec<String> {
        let sockopt = SockOpt { dialer_proxy: Tag::from(dialer_proxy), ..SockOpt::default() };
        let stream = Stream { carrier, security, sockopt, ..Stream::default() };
        let address = Host::Ip([192, 0, 2, 1].into());
        let download = Some(Box::new(Download { address, port: 443, stream }));
        let parts = download_parts(&Stream { download, ..Stream::default() }, Some(&Tag::from("front")));
        parts.into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn an_option_without_numbers_is_told() {
        let option =
            |opt: &str| CustomSockopt { opt: opt.to_owned(), value: "1".to_owned(), ..CustomSockopt::default() };
        let sockopt = SockOpt { custom: vec![option("7"), option("SO_SNDBUF")], ..SockOpt::default() };
        let said = socket_parts(&sockopt).into_iter().map(|(kind, what)| (kind == Kind::Skipped, what));
        let told = "customSockopt SO_SNDBUF (its level, opt or value is no number)";
        assert_eq!(said.collect::<Vec<_>>(), [(true, told.to_owned())]);
    }

    #[test]
    fn a_download_is_held_against_what_runs() {
        let xhttp = || Carrier::Xhttp(Xhttp::default());
        assert!(said(xhttp(), Security::None, "").is_empty());
        assert!(said(xhttp(), Security::None, "front").is_empty());
        let other = "a dialerProxy that is not the outbound's own in downloadSettings";
        assert_eq!(said(xhttp(), Security::None, "other"), [other]);
        assert_eq!(said(Carrier::default(), Security::None, ""), ["a network other than xhttp in downloadSettings"]);
        let http3 = Security::Tls(Box::new(Tls { alpn: TextList(vec!["h3".to_owned()]), ..Tls::default() }));
        assert!(said(xhttp(), http3, "").is_empty());
    }
}
