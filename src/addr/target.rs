//! Where a flow wants to go.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::domain::{BadDomain, DomainName};

/// An address or a name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// An IP address; IPv4-mapped IPv6 is stored as IPv4.
    Ip(IpAddr),
    /// A domain name.
    Domain(DomainName),
}

impl Host {
    /// Reads a host that came over the wire: an address (brackets around IPv6 are removed) or a name.
    ///
    /// # Errors
    /// [`BadDomain`] when the text is neither.
    pub fn parse(text: &str) -> Result<Self, BadDomain> {
        Self::address(text).map_or_else(|| DomainName::new(text).map(Self::Domain), Ok)
    }

    /// Reads a host from a configuration; see [`DomainName::loose`].
    ///
    /// # Errors
    /// [`BadDomain`] when the text is neither an address nor a name.
    pub fn loose(text: &str) -> Result<Self, BadDomain> {
        let text = text.trim();
        Self::address(text).map_or_else(|| DomainName::loose(text).map(Self::Domain), Ok)
    }

    fn address(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        bare.parse::<IpAddr>().ok().map(Self::from)
    }

    /// The address, if it is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(ip) => Some(*ip),
            Self::Domain(_) => None,
        }
    }

    /// The name, if it is one.
    #[must_use]
    pub fn domain(&self) -> Option<&DomainName> {
        match self {
            Self::Ip(_) => None,
            Self::Domain(name) => Some(name),
        }
    }
}

impl From<IpAddr> for Host {
    fn from(ip: IpAddr) -> Self {
        Self::Ip(ip.to_canonical())
    }
}

/// Without brackets; [`Target`] adds them.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Domain(name) => name.fmt(f),
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A host and a port.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Address or name.
    pub host: Host,
    /// Port; 0 where a config leaves it open.
    pub port: u16,
}

/// Why a text is no `host:port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// No colon, or nothing behind it.
    #[error("expected host:port")]
    NoPort,
    /// The port is no number of 0 to 65535.
    #[error("the port must be a number from 0 to 65535")]
    Port,
    /// The host is neither address nor name.
    #[error(transparent)]
    Host(#[from] BadDomain),
}

impl Target {
    /// Puts the two together.
    #[must_use]
    pub fn new(host: Host, port: u16) -> Self {
        Self { host, port }
    }

    /// The socket address, if the host is an IP address.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        self.host.ip().map(|ip| SocketAddr::new(ip, self.port))
    }
}

impl From<SocketAddr> for Target {
    fn from(at: SocketAddr) -> Self {
        Self::new(at.ip().into(), at.port())
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let (host, port) = text.rsplit_once(':').ok_or(BadTarget::NoPort)?;
        if port.is_empty() {
            return Err(BadTarget::NoPort);
        }
        let port = port.parse().map_err(|_| BadTarget::Port)?;
        Ok(Self::new(Host::parse(host)?, port))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What a flow carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Network {
    /// A byte stream.
    Tcp,
    /// Datagrams.
    Udp,
    /// A byte stream that came over a Unix socket.
    Unix,
}

impl Network {
    /// `tcp`, `udp` or `unix`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Unix => "unix",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_first() {
        assert!(matches!(Host::parse("[2001:db8::9]"), Ok(Host::Ip(_))));
        assert_eq!(Host::parse("::ffff:10.0.0.1").map(|h| h.to_string()), Ok("10.0.0.1".into()));
        assert!(matches!(Host::parse("a.example"), Ok(Host::Domain(_))));
    }

    #[test]
    fn targets_read_and_print_alike() {
        for text in ["[2001:db8::1]:443", "10.0.0.1:0", "a.example:65535"] {
            assert_eq!(text.parse::<Target>().map(|t| t.to_string()), Ok(text.into()));
        }
        assert_eq!("a.example".parse::<Target>(), Err(BadTarget::NoPort));
        assert_eq!("a.example:70000".parse::<Target>(), Err(BadTarget::Port));
    }
}
