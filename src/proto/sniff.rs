//! What the first bytes of a stream give away.
//!
//! Each reader answers for itself, and the answers are merged: one that knows wins, one that needs more keeps the question
//! open.

use super::hello::{ClientHello, host_name};
use super::http::{MAX_HEAD, MAX_HEADERS};
use super::quic;
use crate::addr::DomainName;
use crate::wire::{Reader, WireError};

/// What the bytes say so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sniff {
    /// This protocol.
    Known(Known),
    /// Nothing that is known here, whatever follows.
    Unknown,
    /// More bytes are needed; this much is clear already, should no more come.
    NeedMore(Option<Known>),
}

/// A protocol that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Which one.
    pub protocol: Protocol,
    /// The name that the client means to reach, if it is a host name. Addresses do not count.
    pub domain: Option<DomainName>,
    /// For HTTP: `:method`, `:path` and the header fields, names in lower case.
    pub attributes: Vec<(String, String)>,
}

/// The protocols that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// BitTorrent, over TCP or uTP.
    BitTorrent,
    /// HTTP/1.
    Http1,
    /// QUIC.
    Quic,
    /// TLS.
    Tls,
}

impl Protocol {
    /// The name that rules and `destOverride` compare by prefix.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BitTorrent => "bittorrent",
            Self::Http1 => "http1",
            Self::Quic => "quic",
            Self::Tls => "tls",
        }
    }
}

/// Looks at the first bytes of a stream.
#[must_use]
pub fn stream(first: &[u8]) -> Sniff {
    merged([tls(first), http(first), bittorrent(first)])
}

/// Looks at the first datagrams to one target.
#[derive(Debug, Default)]
pub struct Datagrams {
    quic: quic::Hello,
    begun: bool,
}

impl Datagrams {
    /// Looks at the next one.
    pub fn look(&mut self, datagram: &[u8]) -> Sniff {
        let first = !std::mem::replace(&mut self.begun, true);
        match self.quic.take(datagram) {
            Ok(Some(hello)) => Sniff::Known(nameless(Protocol::Quic).named(hello.server_name)),
            Ok(None) => Sniff::NeedMore(Some(nameless(Protocol::Quic))),
            Err(_) if first && is_utp(datagram) => Sniff::Known(nameless(Protocol::BitTorrent)),
            Err(_) => Sniff::Unknown,
        }
    }
}

fn merged<const N: usize>(answers: [Sniff; N]) -> Sniff {
    let weight = |answer: &Sniff| match answer {
        Sniff::Known(_) => 3,
        Sniff::NeedMore(Some(_)) => 2,
        Sniff::NeedMore(None) => 1,
        Sniff::Unknown => 0,
    };
    answers.into_iter().max_by_key(weight).unwrap_or(Sniff::Unknown)
}

fn nameless(protocol: Protocol) -> Known {
    Known { protocol, domain: None, attributes: Vec::new() }
}

impl Known {
    fn named(self, domain: Option<DomainName>) -> Self {
        Self { domain, ..self }
    }
}

/// The handshake of peers (BEP 3).
fn bittorrent(first: &[u8]) -> Sniff {
    const GREETING: &[u8] = b"\x13BitTorrent protocol";
    if first.starts_with(GREETING) {
        return Sniff::Known(nameless(Protocol::BitTorrent));
    }
    if GREETING.starts_with(first) { Sniff::NeedMore(None) } else { Sniff::Unknown }
}

/// Whether it opens a connection of uTP (BEP 29): a header alone, of type and version 0x41, whose extensions are of known
/// kinds, and in which no delay was measured yet. Xray compares a clock of 64 bits with one of 32 here and so never finds
/// any; DNS and others that begin with any bytes need a look at more than the first two.
fn is_utp(datagram: &[u8]) -> bool {
    const HEADER: usize = 20;
    let extensions = |mut next: u8| {
        let mut reader = Reader::new(datagram.get(HEADER..)?);
        while next != 0 {
            let kind = next;
            next = reader.take_u8().ok()?;
            let value = reader.take_prefixed_u8().ok()?;
            if !(1..=2).contains(&kind) || value.is_empty() {
                return None;
            }
        }
        Some(reader.is_empty())
    };
    let delay = datagram.get(8..12).is_some_and(|delay| delay == [0; 4]);
    datagram.first() == Some(&0x41) && delay && datagram.get(1).is_some_and(|next| extensions(*next) == Some(true))
}

fn tls(first: &[u8]) -> Sniff {
    let known = |domain| Known { protocol: Protocol::Tls, domain, attributes: Vec::new() };
    match ClientHello::from_records(first) {
        Ok(hello) => Sniff::Known(known(hello.server_name)),
        // A record header and the type of a hello are sure enough, should the rest not come in time.
        Err(WireError::Truncated { .. }) => Sniff::NeedMore((first.get(5) == Some(&1)).then(|| known(None))),
        Err(_) => Sniff::Unknown,
    }
}

fn http(first: &[u8]) -> Sniff {
    let Some(blank) = first.iter().position(|&b| b == b' ') else {
        let open = METHODS.iter().any(|method| method.as_bytes().starts_with(first));
        return if open { Sniff::NeedMore(None) } else { Sniff::Unknown };
    };
    if !METHODS.iter().any(|method| method.as_bytes() == &first[..blank]) {
        return Sniff::Unknown;
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(first) {
        Ok(httparse::Status::Complete(_)) => Sniff::Known(known_http(&request)),
        Ok(httparse::Status::Partial) if first.len() < MAX_HEAD => {
            Sniff::NeedMore(request.version.map(|_| known_http(&request)))
        }
        _ => Sniff::Unknown,
    }
}

fn known_http(request: &httparse::Request<'_, '_>) -> Known {
    let path = request.path.unwrap_or_default();
    let mut attributes = vec![(":method".to_owned(), request.method.unwrap_or_default().to_owned())];
    attributes.push((":path".to_owned(), path.to_owned()));
    let mut domain = None;
    for field in request.headers.iter() {
        if field.name.eq_ignore_ascii_case("host") && domain.is_none() {
            domain = host_name(without_port(field.value.trim_ascii()));
        }
        attributes.push((field.name.to_ascii_lowercase(), String::from_utf8_lossy(field.value).into_owned()));
    }
    Known { protocol: Protocol::Http1, domain, attributes }
}

fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&b| b == b':') {
        Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) => &host[..colon],
        _ => host,
    }
}

/// The methods of plain HTTP and WebDAV. Words that other protocols begin with are not among them.
const METHODS: [&str; 16] = [
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "CONNECT",
    "PATCH",
    "TRACE",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::hello::tests::{handshake, records};
    use super::super::quic::testing::{crypto, initial};
    use super::*;

    fn known(sniff: &Sniff) -> (&'static str, Option<&str>) {
        match sniff {
            Sniff::Known(known) => (known.protocol.as_str(), known.domain.as_ref().map(DomainName::as_str)),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn tls_and_http_are_told_by_their_first_bytes() {
        let hello = records(&handshake("shop.example.com", &["h2"]), 50);
        assert_eq!(known(&stream(&hello)), ("tls", Some("shop.example.com")));
        let head = b"GET /x HTTP/1.1\r\nHost: shop.example.com:80\r\nX-A: 1\r\n\r\n";
        let sniff = stream(head);
        assert_eq!(known(&sniff), ("http1", Some("shop.example.com")));
        let Sniff::Known(Known { attributes, .. }) = sniff else { unreachable!() };
        let attributes: Vec<_> = attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(attributes, [(":method", "GET"), (":path", "/x"), ("host", "shop.example.com:80"), ("x-a", "1")]);
    }

    #[test]
    fn addresses_in_the_place_of_names_are_ignored() {
        assert_eq!(known(&stream(&records(&handshake("192.0.2.99", &[]), 5000))), ("tls", None));
        assert_eq!(known(&stream(b"GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n")), ("http1", None));
        assert_eq!(known(&stream(b"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n")), ("http1", None));
    }

    #[test]
    fn every_start_of_a_known_one_stays_open() {
        let hello = records(&handshake("shop.example.com", &["h2"]), 50);
        let head = b"POST /x HTTP/1.1\r\nHost: shop.example.com\r\n\r\n";
        for whole in [&hello[..], &head[..]] {
            for end in 0..whole.len() {
                assert!(matches!(stream(&whole[..end]), Sniff::NeedMore(_)), "{end}");
            }
        }
        let Sniff::NeedMore(Some(early)) = stream(&head[..43]) else { unreachable!() };
        assert_eq!(early.domain.unwrap().as_str(), "shop.example.com");
    }

    #[test]
    fn others_are_unknown_at_once() {
        for other in [&b"SSH-2.0-x\r\n"[..], b"\x00\x01", b"hi\n", b"GETX / HTTP/1.1", b"EHLO x", b"GET \x00"] {
            assert_eq!(stream(other), Sniff::Unknown, "{other:?}");
        }
    }

    #[test]
    fn bittorrent_is_told_over_streams_and_datagrams() {
        let greeting = b"\x13BitTorrent protocol\0\0\0\0\0\0\0\0rest";
        assert_eq!(known(&stream(greeting)), ("bittorrent", None));
        for end in 0..20 {
            assert!(matches!(stream(&greeting[..end]), Sniff::NeedMore(_)), "{end}");
        }
        let mut syn = [&b"\x41\x00\x12\x34\x01\x02\x03\x04\0\0\0\0\x00\x10\x00\x00\0\x01\0\0"[..], b""].concat();
        assert_eq!(known(&Datagrams::default().look(&syn)), ("bittorrent", None));
        syn[1] = 2;
        assert_eq!(Datagrams::default().look(&syn), Sniff::Unknown);
        syn.extend_from_slice(b"\x00\x08extended");
        assert_eq!(known(&Datagrams::default().look(&syn)), ("bittorrent", None));
        let question = b"\x41\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";
        assert_eq!(Datagrams::default().look(question), Sniff::Unknown);
    }

    #[test]
    fn quic_is_told_by_its_first_packets() {
        let bytes = handshake("quic.example.com", &["h3"]);
        let (a, b) = bytes.split_at(30);
        let mut datagrams = Datagrams::default();
        let early = datagrams.look(&initial(1, 0, &crypto(30, b)));
        assert_eq!(early, Sniff::NeedMore(Some(nameless(Protocol::Quic))));
        assert_eq!(known(&datagrams.look(&initial(1, 1, &crypto(0, a)))), ("quic", Some("quic.example.com")));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Datagrams::default().look(&bytes);
            let _ = Datagrams::default().look(&[b"\x41\x01", &bytes[..]].concat());
            let _ = stream(&bytes);
            let _ = stream(&[b"GET ", &bytes[..]].concat());
            let _ = stream(&[b"\x16\x03\x01\x00\x40\x01", &bytes[..]].concat());
        }
    }
}
