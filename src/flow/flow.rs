//! A flow: all that is known of one connection or association while it runs.

use std::net::SocketAddr;
use std::sync::Arc;

use super::meter::Meter;
use crate::addr::{DomainName, Network, Tag, Target};

/// Who wants what. Inbounds make it, the engine fills in what it learns, rules and outbounds read it.
///
/// Kept small, since ten thousand idle tunnels each own one: what few flows have is boxed.
#[derive(Debug, Clone)]
pub struct Flow {
    /// A number for logs; the engine gives it, 0 until then.
    pub id: u64,
    /// Tag of the inbound it came by; empty if that has none.
    pub inbound: Tag,
    /// Email of the user, if the inbound knows users.
    pub user: Option<Arc<str>>,
    /// Place of the user among those of the inbound, which tells apart those without an email; 0 where it knows none.
    pub member: u32,
    /// Policy level of the user.
    pub level: u32,
    /// The number that a VLESS client put into its id, for rules; 0 for all others.
    pub vless_route: u16,
    /// Where the client sits; `0.0.0.0:0` if it came over a Unix socket.
    pub source: SocketAddr,
    /// Where the client reached us.
    pub local: SocketAddr,
    /// Stream or datagrams.
    pub network: Network,
    /// What the client asked for, untouched.
    pub target: Target,
    /// What the first bytes gave away.
    pub sniffed: Option<Sniffed>,
    /// Used in place of `target` for rules and dialing, where sniffing or a fake address says so.
    pub route_target: Option<Target>,
    /// Attributes of an HTTP request; plain flows allocate none.
    pub attributes: Option<Box<Attributes>>,
    /// This outbound and no other, whatever the rules say.
    pub pin: Option<Tag>,
    /// How many times this flow was dialed anew inside; turns a ring at run time into an error.
    pub hops: u8,
    /// A measurement of ours: never counted as a user's flow, never sampled twice.
    pub probe: bool,
    /// It came by a protocol of proxy servers: who sends it sits elsewhere, and this machine's private networks are not
    /// theirs unless a freedom outbound says so (Xray's default).
    pub remote: bool,
    /// What the inbound itself already knows of the payload, such as `http/1.1`.
    pub protocol: Option<&'static str>,
    /// Bytes moved, and what else all copies of the flow share.
    pub meter: Arc<Meter>,
}

impl Flow {
    /// A flow of which only the ends are known.
    #[must_use]
    pub fn new(inbound: Tag, network: Network, source: SocketAddr, local: SocketAddr, target: Target) -> Self {
        Self {
            id: 0,
            inbound,
            user: None,
            member: 0,
            level: 0,
            vless_route: 0,
            source,
            local,
            network,
            target,
            sniffed: None,
            route_target: None,
            attributes: None,
            pin: None,
            hops: 0,
            probe: false,
            remote: false,
            protocol: None,
            meter: Arc::default(),
        }
    }

    /// The target that rules look at and outbounds dial: the override if there is one.
    #[must_use]
    pub fn destination(&self) -> &Target {
        self.route_target.as_ref().unwrap_or(&self.target)
    }
}

/// What sniffing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sniffed {
    /// `tls`, `http`, `quic`, `bittorrent`, ... as rules name them.
    pub protocol: &'static str,
    /// The name in the payload, if it carries one.
    pub domain: Option<DomainName>,
}

/// Attributes of an HTTP request for rules and hash keys: `:method`, `:path`, `:query` where the inbound keeps it apart
/// from the path, and header names in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(Box<str>, Box<str>)>);

impl Attributes {
    /// Adds one.
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.to_ascii_lowercase().into(), value.into()));
    }

    /// The first value under this lower-case name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_stays_small() {
        assert!(size_of::<Flow>() <= 304, "{} bytes", size_of::<Flow>());
    }

    #[test]
    fn attributes_are_found_by_lower_case_name() {
        let mut attributes = Attributes::default();
        attributes.push(":method", "GET");
        attributes.push("User-Agent", "x");
        assert_eq!(attributes.get("user-agent"), Some("x"));
        assert_eq!(attributes.get("host"), None);
    }
}
