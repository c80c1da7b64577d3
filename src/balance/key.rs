//! What a flow is hashed by, of the parts that its balancer names.
//!
//! Flows that agree in all parts of their key go to the same member. A part that a flow does not have counts as empty, so
//! the flows without it stay together. Values are hashed as text, so that a person can compute them, and without a seed of
//! the process: a key goes to the same member after a restart, and on every machine. Hashing allocates nothing: parts are
//! fed to the hash where they lie.

use std::fmt::{self, Write};
use std::net::IpAddr;

pub use crate::model::hashkey::KeyPart;

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

/// The hashed key of a flow, to which each member's name is added: FNV-1a over the key's parts, joined by bytes that
/// cannot occur in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of no bytes.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The key with more bytes behind it.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// The key with this behind it as it would be printed, without printing it.
    #[must_use]
    pub fn show(self, value: impl fmt::Display) -> Self {
        let mut key = Text(self);
        // Writing to a key cannot fail; a value that cannot say itself is as empty as one that says nothing.
        match write!(key, "{value}") {
            Ok(()) => key.0,
            Err(_) => self,
        }
    }

    /// The key of a flow by these parts, in their order.
    #[must_use]
    pub fn of(parts: &[KeyPart], facts: &impl Facts) -> Self {
        let Some((first, others)) = parts.split_first() else { return Self::EMPTY };
        others.iter().fold(feed(first, Self::EMPTY, facts), |key, part| feed(part, key.next(), facts))
    }

    /// The key with the mark between two parts behind it.
    #[must_use]
    pub fn next(self) -> Self {
        self.with(&[0xFE])
    }

    /// The hash of this key and a member's name: mixed well enough that names which differ in one letter are far apart.
    #[must_use]
    pub fn and(self, name: &[u8]) -> u64 {
        let mut x = self.with(&[0xFF]).with(name).0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^ (x >> 33)
    }
}

/// A key that text is written to.
struct Text(Key);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.with(text.as_bytes());
        Ok(())
    }
}

fn feed(part: &KeyPart, key: Key, facts: &impl Facts) -> Key {
    let path = || facts.attribute(":path");
    let text = |text: Option<&str>| text.map_or(key, |text| key.with(text.as_bytes()));
    match part {
        KeyPart::SourceIp => address(key, facts.source()),
        KeyPart::User => text(facts.user()),
        KeyPart::InboundTag => text(Some(facts.inbound())),
        KeyPart::DestHost => match facts.name() {
            Some(name) => text(Some(name)),
            None => address(key, facts.address()),
        },
        KeyPart::DestSite => match facts.name() {
            // A name that nobody can have registered, such as `localhost`, is its own site.
            Some(name) => text(Some(psl::domain_str(name).unwrap_or(name))),
            None => address(key, facts.address()),
        },
        KeyPart::DestIp => address(key, facts.address()),
        KeyPart::DestPort => facts.port().map_or(key, |port| key.show(port)),
        KeyPart::Header(name) => text(facts.attribute(name)),
        KeyPart::Argument(name) => text(query(facts).and_then(|all| pair(all, '&', name))),
        KeyPart::Cookie(name) => text(facts.attribute("cookie").and_then(|all| pair(all, ';', name))),
        KeyPart::Host => match facts.attribute("host").map(without_port) {
            Some(host) => host.bytes().fold(key, |key, byte| key.with(&[byte.to_ascii_lowercase()])),
            None => text(facts.name()),
        },
        KeyPart::Method => text(facts.attribute(":method")),
        KeyPart::Path => text(path().map(|path| path.split_once('?').map_or(path, |(path, _)| path))),
        KeyPart::Query => text(query(facts)),
        KeyPart::RequestUri => {
            let path = text(path());
            facts.attribute(":query").map_or(path, |query| path.with(b"?").with(query.as_bytes()))
        }
    }
}

/// An address as people write it; one of version 4 in the clothes of version 6 is the same client.
fn address(key: Key, ip: Option<IpAddr>) -> Key {
    ip.map_or(key, |ip| key.show(ip.to_canonical()))
}

/// The query, which is an attribute of its own or follows the path.
fn query(facts: &impl Facts) -> Option<&str> {
    let behind = || facts.attribute(":path").and_then(|path| path.split_once('?')).map(|(_, query)| query);
    facts.attribute(":query").or_else(behind)
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
