//! The key of a request: what its service hashes by.

use std::fmt::{self, Write};
use std::net::SocketAddr;

use base64::Engine as _;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap};
use hyper::http::request::Parts;

use crate::addr::{Host, Tag};
use crate::balance::Key;
use crate::model::hashkey::{HashKey, KeyPart};

/// A request and where it comes from.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) parts: &'a Parts,
    /// The client.
    pub(super) source: SocketAddr,
    /// The address that it connected to.
    pub(super) local: SocketAddr,
}

impl Asked<'_> {
    /// The key for a service. A part that the request does not have is empty.
    pub(super) fn key(self, by: &HashKey, service: &Tag) -> Key {
        let mut key = Hashing(Key::EMPTY);
        for (n, part) in by.0.iter().enumerate() {
            if n > 0 {
                key.0 = key.0.next();
            }
            // What takes the text never fails.
            let _ = self.put(part, service, &mut key);
        }
        key.0
    }

    fn put(self, part: &KeyPart, service: &Tag, key: &mut Hashing) -> fmt::Result {
        let uri = &self.parts.uri;
        match part {
            KeyPart::SourceIp => write!(key, "{}", self.source.ip()),
            KeyPart::User => key.bytes(user(&self.parts.headers).as_deref().unwrap_or_default()),
            KeyPart::InboundTag => key.write_str(service.as_str()),
            KeyPart::DestHost | KeyPart::Host => key.lower(self.host()),
            KeyPart::DestSite => key.lower(site(self.host())),
            KeyPart::DestIp => match Host::parse(self.host()) {
                Ok(Host::Ip(ip)) => write!(key, "{ip}"),
                _ => Ok(()),
            },
            KeyPart::DestPort => match split(self.authority()).1 {
                Some(port) => key.write_str(port),
                None => write!(key, "{}", self.local.port()),
            },
            KeyPart::Method => key.write_str(self.parts.method.as_str()),
            KeyPart::Path => key.write_str(uri.path()),
            KeyPart::Query => key.write_str(uri.query().unwrap_or_default()),
            KeyPart::RequestUri => key.write_str(uri.path_and_query().map_or("/", |whole| whole.as_str())),
            KeyPart::Header(name) => key.joined(self.parts.headers.get_all(name.as_str())),
            KeyPart::Argument(name) => key.write_str(argument(uri.query().unwrap_or_default(), name)),
            KeyPart::Cookie(name) => key.bytes(cookie(&self.parts.headers, name)),
        }
    }

    /// Host and port as the client asked for them.
    fn authority(&self) -> &str {
        let header = || self.parts.headers.get(HOST)?.to_str().ok();
        self.parts.uri.authority().map(|authority| authority.as_str()).or_else(header).unwrap_or_default()
    }

    fn host(&self) -> &str {
        split(self.authority()).0
    }
}

/// Host and port; brackets stay with an address.
fn split(authority: &str) -> (&str, Option<&str>) {
    match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    }
}

/// The registrable domain; an address or a name without one is its own site.
fn site(host: &str) -> &str {
    if Host::parse(host).is_ok_and(|host| host.ip().is_some()) {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// The name in Basic credentials.
fn user(headers: &HeaderMap) -> Option<Vec<u8>> {
    let (scheme, text) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let said = base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()?;
    let end = said.iter().position(|byte| *byte == b':').filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    Some(said[..end].to_vec())
}

/// The first argument of that name, as it is written.
fn argument<'q>(query: &'q str, name: &str) -> &'q str {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

/// The first cookie of that name.
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> &'h [u8] {
    let pairs = headers.get_all(COOKIE).into_iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    for pair in pairs {
        let pair = pair.trim_ascii();
        let Some(at) = pair.iter().position(|byte| *byte == b'=') else { continue };
        if pair[..at].eq_ignore_ascii_case(name.as_bytes()) {
            return &pair[at + 1..];
        }
    }
    b""
}

/// A key that text is put into without a buffer.
struct Hashing(Key);

impl Hashing {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.0 = self.0.with(bytes);
        Ok(())
    }

    fn lower(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.bytes(&[byte.to_ascii_lowercase()]))
    }

    /// Several headers of one name are one, with commas between.
    fn joined<'h>(&mut self, values: impl IntoIterator<Item = &'h hyper::header::HeaderValue>) -> fmt::Result {
        values.into_iter().enumerate().try_for_each(|(n, value)| {
            if n > 0 {
                self.bytes(b", ")?;
            }
            self.bytes(value.as_bytes())
        })
    }
}

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::Request;

    use super::*;

    /// The key of a request, compared with the key of these texts.
    fn same(by: &[&str], want: &[&str]) -> bool {
        let request = Request::get("/a/b?ID=7&x&id=8")
            .header("host", "Shop.Example.co.uk:8080")
            .header("x-user-id", "u1")
            .header("x-user-id", "u2")
            .header("cookie", "a=1; Session=s=2")
            .header("authorization", "Basic YW5uOnNlY3JldA==")
            .body(())
            .unwrap();
        let (parts, ()) = request.into_parts();
        let asked =
            Asked { parts: &parts, source: "10.0.0.5:777".parse().unwrap(), local: "127.0.0.1:80".parse().unwrap() };
        let by = HashKey(by.iter().map(|part| part.parse::<KeyPart>().unwrap()).collect());
        let mut key = Key::EMPTY.with(want[0].as_bytes());
        for part in &want[1..] {
            key = key.next().with(part.as_bytes());
        }
        asked.key(&by, &"web".into()) == key
    }

    #[test]
    fn each_part_is_found() {
        for (part, want) in [
            ("source_ip", "10.0.0.5"),
            ("$remote_addr", "10.0.0.5"),
            ("user", "ann"),
            ("inbound_tag", "web"),
            ("dest_host", "shop.example.co.uk"),
            ("dest_site", "example.co.uk"),
            ("dest_ip", ""),
            ("dest_port", "8080"),
            ("$http_x_user_id", "u1, u2"),
            ("$http_absent", ""),
            ("$arg_id", "7"),
            ("$cookie_session", "s=2"),
            ("$host", "shop.example.co.uk"),
            ("$request_uri", "/a/b?ID=7&x&id=8"),
            ("$uri", "/a/b"),
            ("$args", "ID=7&x&id=8"),
            ("$request_method", "GET"),
        ] {
            assert!(same(&[part], &[want]), "{part}");
        }
        assert!(same(&["source_ip", "$arg_id"], &["10.0.0.5", "7"]));
        assert!(!same(&["source_ip", "$arg_id"], &["10.0.0.57"]), "parts do not run into each other");
    }
}
