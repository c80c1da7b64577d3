//! Which addresses and names are nobody's business outside: Xray's list, which includes fake and documentation ranges.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::addr::Host;

const NETS: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/127",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];

const NAMES: &[&str] =
    &["lan", "localdomain", "example", "invalid", "localhost", "test", "local", "home.arpa", "internal"];

/// Whether an address is private.
#[must_use]
pub fn is_private_ip(ip: IpAddr) -> bool {
    NETS.iter().filter_map(|net| net.parse::<IpNet>().ok()).any(|net| net.contains(&ip))
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
        for host in ["10.1.2.3", "198.18.0.7", "203.0.113.9", "::1", "fd00::1", "nas", "a.home.arpa", "x.example"] {
            assert!(private(host), "{host}");
        }
        for host in ["8.8.8.8", "2001:db8::1", "proxy.example.com", "notlocal.net"] {
            assert!(!private(host), "{host}");
        }
    }
}
