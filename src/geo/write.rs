//! Writes geodata files: for those who keep their lists as text, and for tests.

use ipnet::IpNet;

use super::dat::SiteKind;
use super::protobuf::{put_bytes, put_number};

/// A list of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GeoSite {
    /// Its name; files in the field have it in upper case.
    pub code: String,
    /// What it holds: how it is meant, the text, and attributes.
    pub names: Vec<(SiteKind, String, Vec<String>)>,
}

/// A list of networks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GeoIp {
    /// Its name; files in the field have it in upper case.
    pub code: String,
    /// What it holds.
    pub nets: Vec<IpNet>,
}

/// The bytes of a `geosite.dat`.
#[must_use]
pub fn write_sites<'a>(lists: impl IntoIterator<Item = &'a GeoSite>) -> Vec<u8> {
    let mut file = vec![];
    for list in lists {
        let mut entry = vec![];
        put_bytes(&mut entry, 1, list.code.as_bytes());
        for (kind, value, attributes) in &list.names {
            let mut name = vec![];
            put_number(&mut name, 1, number(*kind));
            put_bytes(&mut name, 2, value.as_bytes());
            for attribute in attributes {
                let mut message = vec![];
                put_bytes(&mut message, 1, attribute.as_bytes());
                put_number(&mut message, 2, 1);
                put_bytes(&mut name, 3, &message);
            }
            put_bytes(&mut entry, 2, &name);
        }
        put_bytes(&mut file, 1, &entry);
    }
    file
}

/// The bytes of a `geoip.dat`.
#[must_use]
pub fn write_networks<'a>(lists: impl IntoIterator<Item = &'a GeoIp>) -> Vec<u8> {
    let mut file = vec![];
    for list in lists {
        let mut entry = vec![];
        put_bytes(&mut entry, 1, list.code.as_bytes());
        for net in &list.nets {
            let mut message = vec![];
            match net {
                IpNet::V4(net) => put_bytes(&mut message, 1, &net.network().octets()),
                IpNet::V6(net) => put_bytes(&mut message, 1, &net.network().octets()),
            }
            put_number(&mut message, 2, net.prefix_len().into());
            put_bytes(&mut entry, 2, &message);
        }
        put_bytes(&mut file, 1, &entry);
    }
    file
}

fn number(kind: SiteKind) -> u64 {
    match kind {
        SiteKind::Keyword => 0,
        SiteKind::Regex => 1,
        SiteKind::Suffix => 2,
        SiteKind::Full => 3,
        SiteKind::Other(number) => number,
    }
}
