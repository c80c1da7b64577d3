//! What rendezvous hashing goes by: parts of a flow by the names a configuration gives them (DECISIONS 30).
//!
//! Flows that agree in all parts of their key go to the same member. A part that a flow does not have counts as empty, so
//! the flows without it stay together. Hashing allocates nothing: parts are fed to the hash where they lie.

use std::fmt::{self, Write};
use std::net::IpAddr;

use super::ask::Key;

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    /// The client's address (`source_ip`, `$remote_addr`).
    SourceIp,
    /// The user's email (`user`).
    User,
    /// The inbound's tag (`inbound_tag`).
    InboundTag,
    /// The target's name, or its address where it has none (`dest_host`).
    DestHost,
    /// The part of that name that somebody registered, such as `example.co.uk` (`dest_site`).
    DestSite,
    /// The target's address, if that is what the client asked for (`dest_ip`).
    DestIp,
    /// The target's port (`dest_port`).
    DestPort,
    /// A field of the HTTP request, by its lower-case name (`$http_x_user_id` is `x-user-id`).
    Header(Box<str>),
    /// A parameter of the request's query (`$arg_id`).
    Argument(Box<str>),
    /// A cookie (`$cookie_session`).
    Cookie(Box<str>),
    /// The host the request names, without a port (`$host`).
    Host,
    /// Path and query of the request as they came (`$request_uri`).
    RequestUri,
}

/// Where the parts of a key come from. What a flow does not have is `None`.
pub trait Facts {
    /// The client's address.
    fn source(&self) -> Option<IpAddr>;
    /// The user's email.
    fn user(&self) -> Option<&str>;
    /// The inbound's tag.
    fn inbound(&self) -> &str;
    /// The target's name.
    fn name(&self) -> Option<&str>;
    /// The target's address.
    fn address(&self) -> Option<IpAddr>;
    /// The target's port.
    fn port(&self) -> Option<u16>;
    /// An attribute of the HTTP request: `:path`, `:query`, or a field by its lower-case name.
    fn attribute(&self, name: &str) -> Option<&str>;
}

/// A text that names no part of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown hash key `{0}`")]
pub struct BadKey(String);

impl KeyPart {
    /// Reads the name of a part.
    ///
    /// # Errors
    /// [`BadKey`] for every other text.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let bad = || BadKey(text.to_owned());
        Ok(match text {
            "source_ip" | "$remote_addr" => Self::SourceIp,
            "user" => Self::User,
            "inbound_tag" => Self::InboundTag,
            "dest_host" => Self::DestHost,
            "dest_site" => Self::DestSite,
            "dest_ip" => Self::DestIp,
            "dest_port" => Self::DestPort,
            "$host" => Self::Host,
            "$request_uri" => Self::RequestUri,
            _ => {
                let (kind, name) = text.strip_prefix('$').and_then(|text| text.split_once('_')).ok_or_else(bad)?;
                match kind {
                    _ if name.is_empty() => return Err(bad()),
                    "http" => Self::Header(name.to_ascii_lowercase().replace('_', "-").into()),
                    "arg" => Self::Argument(name.into()),
                    "cookie" => Self::Cookie(name.into()),
                    _ => return Err(bad()),
                }
            }
        })
    }

    fn feed(&self, key: Key, facts: &impl Facts) -> Key {
        let text = |part: Option<&str>| part.map_or(key, |part| key.with(part.as_bytes()));
        match self {
            Self::SourceIp => address(key, facts.source()),
            Self::User => text(facts.user()),
            Self::InboundTag => text(Some(facts.inbound())),
            Self::DestHost => match facts.name() {
                Some(name) => text(Some(name)),
                None => address(key, facts.address()),
            },
            Self::DestSite => match facts.name() {
                // A name that nobody can have registered, such as `localhost`, is its own site.
                Some(name) => text(Some(psl::domain_str(name).unwrap_or(name))),
                None => address(key, facts.address()),
            },
            Self::DestIp => address(key, facts.address()),
            Self::DestPort => facts.port().map_or(key, |port| shown(key, port)),
            Self::Header(name) => text(facts.attribute(name)),
            Self::Argument(name) => text(argument(facts, name)),
            Self::Cookie(name) => text(facts.attribute("cookie").and_then(|all| pair(all, ';', name))),
            Self::Host => match facts.attribute("host").map(without_port) {
                Some(host) => host.bytes().fold(key, |key, byte| key.with(&[byte.to_ascii_lowercase()])),
                None => text(facts.name()),
            },
            Self::RequestUri => {
                let path = text(facts.attribute(":path"));
                facts.attribute(":query").map_or(path, |query| path.with(b"?").with(query.as_bytes()))
            }
        }
    }
}

impl Key {
    /// The key of a flow by these parts.
    #[must_use]
    pub fn of(parts: &[KeyPart], facts: &impl Facts) -> Self {
        let Some((first, others)) = parts.split_first() else { return Self::EMPTY };
        others.iter().fold(first.feed(Self::EMPTY, facts), |key, part| part.feed(key.next(), facts))
    }
}

/// An address as people write it; one of version 4 in the clothes of version 6 is the same client.
fn address(key: Key, ip: Option<IpAddr>) -> Key {
    ip.map_or(key, |ip| shown(key, ip.to_canonical()))
}

fn shown(key: Key, what: impl fmt::Display) -> Key {
    struct Feed(Key);
    impl Write for Feed {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.with(text.as_bytes());
            Ok(())
        }
    }
    let mut feed = Feed(key);
    // A `Feed` takes everything.
    let _ = write!(feed, "{what}");
    feed.0
}

/// A parameter of the query, which is an attribute of its own or follows the path.
fn argument<'f>(facts: &'f impl Facts, name: &str) -> Option<&'f str> {
    let behind = || facts.attribute(":path").and_then(|path| path.split_once('?')).map(|(_, query)| query);
    pair(facts.attribute(":query").or_else(behind)?, '&', name)
}

/// The value of a name among `name=value` pairs; names are compared as nginx does, without letter case.
fn pair<'a>(all: &'a str, between: char, name: &str) -> Option<&'a str> {
    let mut pairs = all.split(between).map(|pair| pair.trim().split_once('=').unwrap_or_else(|| (pair.trim(), "")));
    pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
