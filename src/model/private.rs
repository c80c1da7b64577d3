//! Which addresses and names are nobody's business outside: Xray's list, which includes fake and documentation ranges.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::addr::Host;

/// Networks by their first address and the bits that count.
const V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

const V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::UNSPECIFIED, 127),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

const NAMES: &[&str] =
    &["lan", "localdomain", "example", "invalid", "localhost", "test", "local", "home.arpa", "internal"];

/// Whether an address is private.
#[must_use]
pub fn is_private_ip(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => V4.iter().any(|(net, bits)| (ip.to_bits() ^ net.to_bits()) >> (32 - bits) == 0),
        IpAddr::V6(ip) => V6.iter().any(|(net, bits)| (ip.to_bits() ^ net.to_bits()) >> (128 - bits) == 0),
    }
}

/// Whether an address or name is private: names without a dot, and everything below a private one.
#[must_use]
pub fn is_private(host: &Host) -> bool {
    let name = match host {
        Host::Ip(ip) => return is_private_ip(*ip),
        Host::Domain(name) => name.as_str(),
    };
    !name.contains('.')
        || NAMES.iter().any(|n| name.strip_suffix(n).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_xrays() {
        let private = |text: &str| Host::loose(text).is_ok_and(|host| is_private(&host));
        for host in [
            "10.1.2.3",
            "100.127.0.1",
            "198.19.0.7",
            "203.0.113.9",
            "255.255.255.255",
            "::1",
            "fd00::1",
            "febf::1",
            "nas",
            "a.home.arpa",
            "x.example",
        ] {
            assert!(private(host), "{host}");
        }
        for host in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "::2",
            "2001:db8::1",
            "fec0::1",
            "proxy.example.com",
            "notlocal.net",
        ] {
            assert!(!private(host), "{host}");
        }
    }
}
