//! Sets of addresses.
//!
//! A list of networks becomes sorted ranges that do not overlap, so a look costs a binary search and no more.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Sub;

use ipnet::IpNet;

/// Networks.
#[derive(Debug, Default)]
pub struct Nets {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

#[derive(Debug)]
struct Ranges<T> {
    /// First addresses, sorted. Apart from the last ones, because the search reads nothing else.
    starts: Box<[T]>,
    /// Last addresses.
    ends: Box<[T]>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self { starts: Box::default(), ends: Box::default() }
    }
}

impl Nets {
    /// Of networks.
    #[must_use]
    pub fn new(nets: impl IntoIterator<Item = IpNet>) -> Self {
        let (mut v4, mut v6) = (vec![], vec![]);
        for net in nets {
            match net {
                IpNet::V4(net) => v4.push((u32::from(net.network()), u32::from(net.broadcast()))),
                IpNet::V6(net) => v6.push((u128::from(net.network()), u128::from(net.broadcast()))),
            }
        }
        Self { v4: Ranges::new(v4, 1), v6: Ranges::new(v6, 1) }
    }

    /// Whether any of them holds the address.
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.around(ip.into()).is_some(),
            IpAddr::V6(ip) => self.v6.around(ip.into()).is_some(),
        }
    }

    /// What holds the address, in words: the network that it lies in, or the range that neighbouring networks make. For
    /// people: it is slower than [`Self::contains`].
    #[must_use]
    pub fn around(&self, ip: IpAddr) -> Option<String> {
        let range = match ip.to_canonical() {
            IpAddr::V4(ip) => {
                let (from, to) = self.v4.around(ip.into())?;
                let size = u128::from(to - from);
                Range {
                    from: Ipv4Addr::from(from).into(),
                    to: Ipv4Addr::from(to).into(),
                    start: from.into(),
                    size,
                    all: 32,
                }
            }
            IpAddr::V6(ip) => {
                let (from, to) = self.v6.around(ip.into())?;
                Range {
                    from: Ipv6Addr::from(from).into(),
                    to: Ipv6Addr::from(to).into(),
                    start: from,
                    size: to - from,
                    all: 128,
                }
            }
        };
        Some(range.text())
    }

    /// Whether there is any network of the address's family.
    pub(super) fn knows_family(&self, ip: IpAddr) -> bool {
        match ip.to_canonical() {
            IpAddr::V4(_) => !self.v4.starts.is_empty(),
            IpAddr::V6(_) => !self.v6.starts.is_empty(),
        }
    }
}

impl<T: Copy + Ord + Sub<Output = T>> Ranges<T> {
    /// Of first and last addresses; what overlaps or lies side by side becomes one.
    fn new(mut spans: Vec<(T, T)>, one: T) -> Self {
        spans.sort_unstable();
        spans.dedup_by(|next, last| {
            let joins = next.0 <= last.1 || next.0 - last.1 == one;
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
        let (starts, ends): (Vec<T>, Vec<T>) = spans.into_iter().unzip();
        Self { starts: starts.into(), ends: ends.into() }
    }

    fn around(&self, ip: T) -> Option<(T, T)> {
        let at = self.starts.partition_point(|start| *start <= ip).checked_sub(1)?;
        let end = *self.ends.get(at)?;
        (ip <= end).then(|| (self.starts[at], end))
    }
}

/// A run of addresses, on its way to a text.
struct Range {
    from: IpAddr,
    to: IpAddr,
    start: u128,
    /// How many addresses lie behind the first.
    size: u128,
    /// Bits of an address.
    all: u32,
}

impl Range {
    fn text(&self) -> String {
        let Self { from, to, start, size, all } = self;
        // A network has a power of two of addresses, and begins at a multiple of it.
        let is_network = size & size.wrapping_add(1) == 0 && start & size == 0;
        if is_network { format!("{from}/{}", all - size.count_ones()) } else { format!("{from} to {to}") }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn what_holds_an_address_is_told_as_a_network_or_a_range() {
        let nets = |texts: &[&str]| Nets::new(texts.iter().map(|text| text.parse().unwrap()));
        let around = |nets: &Nets, ip: &str| nets.around(ip.parse().unwrap());
        let some = nets(&["10.0.0.0/8", "192.0.2.0/25", "192.0.2.128/26", "2001:db8::/32", "198.51.100.7/32"]);
        assert_eq!(around(&some, "10.9.9.9").unwrap(), "10.0.0.0/8");
        assert_eq!(around(&some, "192.0.2.1").unwrap(), "192.0.2.0 to 192.0.2.191");
        assert_eq!(around(&some, "2001:db8::7").unwrap(), "2001:db8::/32");
        assert_eq!(around(&some, "198.51.100.7").unwrap(), "198.51.100.7/32");
        assert_eq!((around(&some, "11.0.0.0"), around(&some, "::1")), (None, None));
        assert_eq!(around(&nets(&["::/0"]), "::1").unwrap(), "::/0");
        assert_eq!(around(&nets(&["0.0.0.0/0"]), "9.9.9.9").unwrap(), "0.0.0.0/0");
    }

    use super::*;
    use crate::model::matcher::net;

    fn nets(texts: &[&str]) -> Nets {
        Nets::new(texts.iter().map(|text| net(text).unwrap()))
    }

    #[test]
    fn an_address_lies_in_some_network_or_in_none() {
        let nets = nets(&["10.1.0.0/16", "10.0.0.0/8", "255.255.255.255", "fc00::/7"]);
        for (ip, want) in [
            ("10.1.2.3", true),
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("255.255.255.255", true),
            ("255.255.255.254", false),
            ("::ffff:10.1.0.0", true),
            ("fd00::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(nets.contains(ip.parse().unwrap()), want, "{ip}");
        }
        assert!(!self::nets(&[]).contains("::".parse().unwrap()));
    }

    #[test]
    fn neighbours_melt_together() {
        let many = (0..=255u8).map(|n| net(&format!("10.0.{n}.0/24")).unwrap());
        assert_eq!(Nets::new(many).v4.starts.len(), 1);
    }

    proptest! {
        #[test]
        fn ranges_agree_with_trying_one_by_one(
            nets in proptest::collection::vec((any::<u8>(), 24u8..=32), 0..12),
            ip in any::<u8>(),
        ) {
            let nets: Vec<_> = nets
                .into_iter()
                .map(|(last, bits)| IpNet::new(IpAddr::from([255, 255, 255, last]), bits).unwrap().trunc())
                .collect();
            let ip = IpAddr::from([255, 255, 255, ip]);
            let want = nets.iter().any(|net| net.contains(&ip));
            prop_assert_eq!(Nets::new(nets).contains(ip), want);
        }
    }
}
