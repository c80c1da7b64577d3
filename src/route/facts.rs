//! All that a rule may ask about a flow, borrowed from it.

use std::net::{IpAddr, SocketAddr};

use crate::addr::{DomainName, Network};

/// Finds a text by its name.
pub type Lookup<'a> = dyn Fn(&str) -> Option<&'a str> + Sync + 'a;

/// What is known of one flow.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Tag of its inbound; empty if that has none.
    pub inbound: &'a str,
    /// What it carries.
    pub network: Network,
    /// The protocol of its payload, if somebody knows it.
    pub protocol: Option<&'a str>,
    /// The name it is headed for: the target's, or one that sniffing found.
    pub name: Option<&'a DomainName>,
    /// The address it is headed for, if the target is one. Both are there when a sniffed name counts for rules alone.
    pub address: Option<IpAddr>,
    /// The port it is headed for.
    pub port: u16,
    /// What `name` resolved to. `None` until somebody asked, empty when nothing came of it; rules then see `address`.
    pub resolved: Option<&'a [IpAddr]>,
    /// Where the client sits.
    pub source: SocketAddr,
    /// Where the client reached us.
    pub local: SocketAddr,
    /// Email of the user.
    pub user: Option<&'a str>,
    /// Looks up an attribute of an HTTP request by its lower-case name.
    pub attribute: Option<&'a Lookup<'a>>,
    /// The number that a VLESS client wrote into its id; 0 for all others.
    pub vless_route: u16,
}

impl<'a> Facts<'a> {
    /// The addresses that address conditions see.
    #[must_use]
    pub fn ips(&self) -> &[IpAddr] {
        match self.resolved {
            Some(resolved) if !resolved.is_empty() => resolved,
            _ => self.address.as_slice(),
        }
    }

    /// Whether resolving the name could still tell more.
    #[must_use]
    pub fn can_resolve(&self) -> bool {
        self.name.is_some() && self.resolved.is_none()
    }

    /// The name as text.
    #[must_use]
    pub fn domain(&self) -> Option<&'a str> {
        self.name.map(DomainName::as_str)
    }
}
