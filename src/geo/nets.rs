//! Sets of addresses.
//!
//! A list of networks becomes sorted ranges that do not overlap, so a look costs a binary search and no more.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Networks, each with a value.
#[derive(Debug, Default)]
pub struct Nets {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

#[derive(Debug)]
struct Ranges<T> {
    /// First addresses, sorted. Apart from the rest, because the search reads nothing else.
    starts: Box<[T]>,
    /// Last addresses and values.
    rest: Box<[(T, u32)]>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self { starts: Box::default(), rest: Box::default() }
    }
}

impl Nets {
    /// Of networks with their values.
    #[must_use]
    pub fn new(nets: impl IntoIterator<Item = (IpNet, u32)>) -> Self {
        let (mut v4, mut v6) = (vec![], vec![]);
        for (net, value) in nets {
            match net {
                IpNet::V4(net) => {
                    v4.push(Span {
                        from: u32::from(net.network()).into(),
                        to: u32::from(net.broadcast()).into(),
                        value,
                    });
                }
                IpNet::V6(net) => v6.push(Span { from: net.network().into(), to: net.broadcast().into(), value }),
            }
        }
        let narrow = |wide: u128| u32::try_from(wide).unwrap_or(u32::MAX);
        Self { v4: Ranges::new(v4, narrow), v6: Ranges::new(v6, |wide| wide) }
    }

    /// The lowest value among the networks that hold the address.
    #[must_use]
    pub fn find(&self, ip: IpAddr) -> Option<u32> {
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.find(ip.into()),
            IpAddr::V6(ip) => self.v6.find(ip.into()),
        }
    }

    /// What holds the address, in words: the network that it lies in, or the range that neighbouring networks with the same
    /// value make. For people: it is slower than [`Self::find`].
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

impl<T: Copy + Ord> Ranges<T> {
    fn new(spans: Vec<Span>, narrow: impl Fn(u128) -> T) -> Self {
        let flat = flatten(spans);
        Self {
            starts: flat.iter().map(|span| narrow(span.from)).collect(),
            rest: flat.iter().map(|span| (narrow(span.to), span.value)).collect(),
        }
    }

    fn find(&self, ip: T) -> Option<u32> {
        let at = self.starts.partition_point(|start| *start <= ip).checked_sub(1)?;
        let (end, value) = self.rest[at];
        (ip <= end).then_some(value)
    }

    fn around(&self, ip: T) -> Option<(T, T)> {
        let at = self.starts.partition_point(|start| *start <= ip).checked_sub(1)?;
        let (end, _) = self.rest[at];
        (ip <= end).then_some((self.starts[at], end))
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

#[derive(Debug, Clone, Copy)]
struct Span {
    from: u128,
    to: u128,
    value: u32,
}

/// Cuts spans of networks, which nest or lie apart, into neighbours; where several lie on each other the lowest value
/// stays.
fn flatten(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable_by_key(|span| (span.from, u128::MAX - span.to, span.value));
    let mut flat: Vec<Span> = Vec::with_capacity(spans.len());
    let mut around: Vec<Span> = vec![];
    // Each span in `around` begins where what was put out of it ends.
    for span in spans {
        while let Some(done) = around.pop_if(|outer| outer.to < span.from) {
            put(&mut flat, done);
            if let Some(outer) = around.last_mut() {
                outer.from = done.to + 1;
            }
        }
        let mut value = span.value;
        if let Some(outer) = around.last_mut() {
            value = value.min(outer.value);
            if outer.from < span.from {
                put(&mut flat, Span { to: span.from - 1, ..*outer });
            }
        }
        around.push(Span { value, ..span });
    }
    while let Some(done) = around.pop() {
        put(&mut flat, done);
        if let Some(outer) = around.last_mut() {
            match done.to.checked_add(1) {
                Some(next) => outer.from = next,
                // The end of all addresses: nothing is left of whoever is around.
                None => break,
            }
        }
    }
    flat
}

fn put(flat: &mut Vec<Span>, span: Span) {
    if span.from > span.to {
        return;
    }
    match flat.last_mut() {
        Some(last) if last.value == span.value && last.to + 1 == span.from => last.to = span.to,
        _ => flat.push(span),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn what_holds_an_address_is_told_as_a_network_or_a_range() {
        let nets = |texts: &[&str]| Nets::new(texts.iter().map(|text| (text.parse().unwrap(), 0)));
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
        Nets::new(texts.iter().map(|text| net(text).unwrap()).zip(0..))
    }

    #[test]
    fn nested_networks_give_the_lowest_value() {
        let nets = nets(&["10.1.0.0/16", "10.0.0.0/8", "10.1.2.0/24", "0.0.0.0/0", "10.2.0.1", "::/0", "fc00::/7"]);
        for (ip, want) in [
            ("10.1.2.3", 0),
            ("10.1.255.255", 0),
            ("10.0.255.255", 1),
            ("10.2.0.1", 1),
            ("10.255.255.255", 1),
            ("11.0.0.0", 3),
            ("255.255.255.255", 3),
            ("::ffff:10.1.0.0", 0),
            ("fd00::1", 5),
        ] {
            assert_eq!(nets.find(ip.parse().unwrap()), Some(want), "{ip}");
        }
        assert_eq!(self::nets(&["10.0.0.0/8"]).find("11.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn neighbours_melt_together() {
        let mut many = vec![];
        for n in 0..=255u8 {
            many.push((net(&format!("10.0.{n}.0/24")).unwrap(), 0));
        }
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
            let want = nets.iter().position(|net| net.contains(&ip)).map(|at| u32::try_from(at).unwrap());
            prop_assert_eq!(Nets::new(nets.into_iter().zip(0..)).find(ip), want);
        }
    }
}
