//! Every combination that is run, in the order of the table.

use super::link::{Auth, Carrier, Flow, Guise, Lengths, Link, Mode, Mux, Proto, Secure, Users, Version};

const PLAIN: Proto = Proto::Vless(Flow::Plain);
const VMESS: Proto = Proto::Vmess("auto", Lengths::Usual);
const VISION: Proto = Proto::Vless(Flow::Vision);

/// The rows of the table.
pub fn links() -> Vec<Link> {
    let mut links = vec![
        Link::new(Proto::Socks, Carrier::Raw, Secure::None),
        Link::new(Proto::Socks, Carrier::Raw, Secure::Tls),
        Link::new(Proto::Http, Carrier::Raw, Secure::None),
        Link::new(Proto::Http, Carrier::Raw, Secure::Tls),
    ];
    links.extend(vless());
    links.extend(encrypted());
    links.extend(carried(Proto::Trojan));
    links.extend([
        Link::new(Proto::Trojan, Carrier::Raw, Secure::Reality),
        Link::new(Proto::Trojan, Carrier::Grpc, Secure::Reality),
        Link::new(Proto::Trojan, Carrier::Raw, Secure::Tls).with(Mux::Cool),
    ]);
    links.extend(vmess());
    links.extend(shadowsocks());
    let hysteria = |guise| Link::new(Proto::Hysteria, Carrier::Hysteria(guise), Secure::Tls);
    links.extend([Guise::Plain, Guise::Salamander, Guise::Rates].map(hysteria));
    links
}

/// A protocol over what all protocols are used over.
fn carried(proto: Proto) -> Vec<Link> {
    vec![
        Link::new(proto, Carrier::Raw, Secure::None),
        Link::new(proto, Carrier::Raw, Secure::Tls),
        Link::new(proto, Carrier::Ws, Secure::None),
        Link::new(proto, Carrier::Ws, Secure::Tls),
        Link::new(proto, Carrier::Grpc, Secure::Tls),
        Link::new(proto, Carrier::Upgrade, Secure::None),
        Link::new(proto, Carrier::Upgrade, Secure::Tls),
    ]
}

fn vless() -> Vec<Link> {
    let mut links = carried(PLAIN);
    links.extend([
        Link::new(PLAIN, Carrier::RawHttp, Secure::None),
        Link::new(PLAIN, Carrier::WsEarly, Secure::Tls),
        Link::new(PLAIN, Carrier::GrpcMulti, Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::PacketUp, Version::One), Secure::None),
        Link::new(PLAIN, Carrier::Xhttp(Mode::PacketUp, Version::One), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::PacketUp, Version::Two), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamUp, Version::Two), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamOne, Version::Two), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::PacketUp, Version::Three), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamUp, Version::Three), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamOne, Version::Three), Secure::Tls),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamOne, Version::Two), Secure::Reality),
        Link::new(PLAIN, Carrier::Raw, Secure::Reality),
        Link::new(PLAIN, Carrier::Grpc, Secure::Reality),
        Link::new(VISION, Carrier::Raw, Secure::Tls),
        Link::new(VISION, Carrier::Raw, Secure::Reality),
        Link::new(PLAIN, Carrier::Raw, Secure::Tls).with(Mux::Xudp),
        Link::new(PLAIN, Carrier::Ws, Secure::Tls).with(Mux::Xudp),
        Link::new(PLAIN, Carrier::Raw, Secure::Tls).with(Mux::Cool),
        Link::new(PLAIN, Carrier::Ws, Secure::Tls).with(Mux::Cool),
    ]);
    links
}

/// VLESS with encryption of its own.
fn encrypted() -> Vec<Link> {
    let raw = |proto, secure| Link::new(proto, Carrier::Raw, secure);
    vec![
        raw(PLAIN, Secure::None).sealed("native", "1rtt", Auth::X25519),
        raw(PLAIN, Secure::None).sealed("native", "0rtt", Auth::MlKem),
        raw(PLAIN, Secure::None).sealed("xorpub", "1rtt", Auth::MlKem),
        raw(PLAIN, Secure::None).sealed("xorpub", "0rtt", Auth::X25519),
        raw(PLAIN, Secure::None).sealed("random", "1rtt", Auth::X25519),
        raw(PLAIN, Secure::None).sealed("random", "0rtt", Auth::Both),
        raw(PLAIN, Secure::Tls).sealed("random", "0rtt", Auth::MlKem),
        Link::new(PLAIN, Carrier::Xhttp(Mode::StreamOne, Version::Two), Secure::Tls).sealed(
            "native",
            "0rtt",
            Auth::MlKem,
        ),
        raw(VISION, Secure::None).sealed("native", "0rtt", Auth::X25519),
        raw(VISION, Secure::None).sealed("xorpub", "1rtt", Auth::MlKem),
        raw(VISION, Secure::None).sealed("random", "0rtt", Auth::X25519),
        raw(VISION, Secure::Tls).sealed("random", "1rtt", Auth::X25519),
        raw(VISION, Secure::Reality).sealed("native", "0rtt", Auth::MlKem),
        Link::new(VISION, Carrier::Ws, Secure::Tls).sealed("native", "0rtt", Auth::MlKem),
    ]
}

fn vmess() -> Vec<Link> {
    let mut links = carried(VMESS);
    let raw = |security| Link::new(Proto::Vmess(security, Lengths::Usual), Carrier::Raw, Secure::None);
    let sealed = |security| Link::new(Proto::Vmess(security, Lengths::Sealed), Carrier::Raw, Secure::None);
    links.extend([
        raw("aes-128-gcm"),
        raw("chacha20-poly1305"),
        raw("none"),
        raw("zero"),
        sealed("aes-128-gcm"),
        sealed("chacha20-poly1305"),
        Link::new(VMESS, Carrier::RawHttp, Secure::None),
        raw("aes-128-gcm").with(Mux::Xudp),
        raw("aes-128-gcm").with(Mux::Cool),
        Link::new(VMESS, Carrier::Ws, Secure::Tls).with(Mux::Cool),
    ]);
    links
}

fn shadowsocks() -> Vec<Link> {
    let raw = |method, users| Link::new(Proto::Shadowsocks(method, users), Carrier::Raw, Secure::None);
    let over = |carrier, secure| Link::new(Proto::Shadowsocks("aes-256-gcm", Users::One), carrier, secure);
    vec![
        raw("aes-128-gcm", Users::One),
        raw("aes-256-gcm", Users::One),
        raw("chacha20-ietf-poly1305", Users::One),
        raw("xchacha20-ietf-poly1305", Users::One),
        raw("none", Users::One),
        raw("aes-256-gcm", Users::Several),
        raw("2022-blake3-aes-128-gcm", Users::One),
        raw("2022-blake3-aes-256-gcm", Users::One),
        raw("2022-blake3-chacha20-poly1305", Users::One),
        raw("2022-blake3-aes-128-gcm", Users::Several),
        raw("2022-blake3-aes-256-gcm", Users::Several),
        over(Carrier::Raw, Secure::Tls),
        over(Carrier::Ws, Secure::None),
        over(Carrier::Ws, Secure::Tls),
        over(Carrier::Grpc, Secure::Tls),
        over(Carrier::Upgrade, Secure::Tls),
    ]
}
