//! What a client of an HTTP carrier asks for, and what a server of one is asked for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::browser::{Fields, Purpose, dress};
use crate::addr::Host;
use crate::model::reality::Reality;
use crate::model::stream::{Security, Stream};
use crate::proto::http::Headers;

/// The request of a client: where it goes, and what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// Path and query, as they are sent.
    pub(super) path: String,
    host: Option<String>,
    fields: Fields,
}

impl Request {
    /// Of a carrier's keys. Without a host of its own it names the server's TLS name, and without that its address.
    pub(super) fn new(
        stream: &Stream,
        path: &str,
        host: &str,
        headers: &BTreeMap<String, String>,
        purpose: Purpose,
    ) -> Self {
        let mut fields = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        dress(&mut fields, purpose);
        let tls_name = match &stream.security {
            Security::Tls(tls) => tls.server_name.as_str(),
            Security::Reality(reality) => match &**reality {
                Reality::Client(client) => client.server_name.as_str(),
                Reality::Server(_) => "",
            },
            Security::None | Security::Xtls(_) => "",
        };
        let host = [host, tls_name].into_iter().find(|name| !name.is_empty()).map(str::to_owned);
        Self { path: escaped(path), host, fields }
    }

    /// The whole head of an HTTP/1.1 GET; `opening` are the fields of the carrier itself.
    pub(super) fn head(&self, to: &Host, opening: &[(&str, &str)]) -> Vec<u8> {
        let mut headers = Headers::default();
        headers.push("Host", self.host(to));
        for (name, value) in opening {
            headers.push(*name, *value);
        }
        for (name, value) in &self.fields {
            if !opening.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                headers.push(name.as_str(), value.as_str());
            }
        }
        let mut head = format!("GET {} HTTP/1.1\r\n", self.path).into_bytes();
        headers.write(&mut head);
        head
    }

    /// The fields besides, configured ones and a browser's.
    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The value of Host.
    pub(super) fn host(&self, to: &Host) -> String {
        match (&self.host, to) {
            (Some(host), _) => host.clone(),
            (None, Host::Ip(ip)) if ip.is_ipv6() => format!("[{ip}]"),
            (None, to) => to.to_string(),
        }
    }
}

/// What a server is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    path: String,
    host: String,
}

impl Place {
    /// Of a carrier's keys. A query in the path is what clients send, and does not count here.
    pub(super) fn new(path: &str, host: &str) -> Self {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        Self { path: path.to_owned(), host: host.to_ascii_lowercase() }
    }

    /// Whether a request is for here: its host, if one is configured, in any letter case and with any port, and its whole
    /// path.
    pub(super) fn is(&self, target: &str, host: Option<&[u8]>) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        self.is_host(host) && (path == self.path || unescaped(path) == self.path.as_bytes())
    }

    /// Whether a request's host is the configured one, if one is configured.
    pub(super) fn is_host(&self, host: Option<&[u8]>) -> bool {
        if self.host.is_empty() {
            return true;
        }
        let said = host.and_then(|host| std::str::from_utf8(host).ok()).unwrap_or_default();
        let name = match said.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => said,
        };
        name.eq_ignore_ascii_case(&self.host) || said.eq_ignore_ascii_case(&self.host)
    }
}

/// A path as it may stand in a request: what is escaped already stays, and only what must not stand there is escaped.
pub(super) fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let fits = match byte {
            b'%' => matches!(bytes.get(at + 1..at + 3), Some(code) if code.iter().all(u8::is_ascii_hexdigit)),
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'#' => false,
            _ => byte.is_ascii_graphic(),
        };
        if fits {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn unescaped(path: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::tls::Tls;

    #[test]
    fn a_path_is_escaped_once() {
        for (given, sent) in [
            ("/up?key=1", "/up?key=1"),
            ("/%3Fed%3D2048", "/%3Fed%3D2048"),
            ("/a b", "/a%20b"),
            ("/%2F", "/%2F"),
            ("/100%", "/100%25"),
            ("/ü", "/%C3%BC"),
        ] {
            assert_eq!(escaped(given), sent);
            assert_eq!(escaped(sent), sent);
        }
    }

    #[test]
    fn the_host_is_the_configured_one_the_tls_name_or_the_address() {
        let tls = Tls { server_name: "b.example".into(), ..Tls::default() };
        let secured = Stream { security: Security::Tls(Box::new(tls)), ..Stream::default() };
        let host = |stream: &Stream, host: &str, to: &str| {
            Request::new(stream, "/", host, &BTreeMap::new(), Purpose::WebSocket).host(&Host::parse(to).unwrap())
        };
        assert_eq!(host(&secured, "a.example", "c.example"), "a.example");
        assert_eq!(host(&secured, "", "c.example"), "b.example");
        assert_eq!(host(&Stream::default(), "", "c.example"), "c.example");
        assert_eq!(host(&Stream::default(), "", "2001:db8::1"), "[2001:db8::1]");
    }

    #[test]
    fn a_place_is_found_by_its_whole_path_and_host() {
        let place = Place::new("/a b?x=1", "A.example");
        assert!(place.is("/a%20b", Some(b"a.EXAMPLE:8080")) && place.is("/a%20b?y", Some(b"a.example")));
        assert!(!place.is("/a%20b/", Some(b"a.example")) && !place.is("/a", Some(b"a.example")));
        assert!(!place.is("/a%20b", Some(b"b.example")) && !place.is("/a%20b", None));
        assert!(Place::new("/%2F", "").is("/%2F", None) && Place::new("/", "").is("/?q", Some(b"any")));
        assert!(Place::new("/", "2001:db8::1").is("/", Some(b"2001:db8::1")));
    }

    #[test]
    fn fields_of_the_carrier_win() {
        let headers = [("upgrade".to_owned(), "h2c".to_owned()), ("X-Odd".to_owned(), "v".to_owned())].into();
        let request = Request::new(&Stream::default(), "/x", "a.example", &headers, Purpose::WebSocket);
        let head = request.head(&Host::parse("b.example").unwrap(), &[("Upgrade", "websocket")]);
        let text = String::from_utf8(head).unwrap();
        assert!(text.starts_with("GET /x HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nX-Odd: v\r\n"), "{text}");
        assert!(!text.contains("h2c"));
    }
}
