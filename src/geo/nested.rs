//! Networks that each have a value, such as those of many rules: all that hold an address are found, however they nest.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Networks, each with a value. One network may have several.
#[derive(Debug, Default)]
pub struct Nested {
    v4: Tree<u32>,
    v6: Tree<u128>,
}

/// Networks of one family: two of them lie apart, or one lies in the other.
#[derive(Debug)]
struct Tree<T> {
    /// First addresses, sorted; of networks that begin together the wider one comes first.
    starts: Box<[T]>,
    nodes: Box<[Node<T>]>,
}

#[derive(Debug, Clone, Copy)]
struct Node<T> {
    end: T,
    value: u32,
    /// The narrowest network around this one, or itself again with another value.
    around: u32,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { starts: Box::default(), nodes: Box::default() }
    }
}

impl Nested {
    /// Of networks with their values.
    #[must_use]
    pub fn new(nets: impl IntoIterator<Item = (IpNet, u32)>) -> Self {
        let (mut v4, mut v6) = (vec![], vec![]);
        for (net, value) in nets {
            match net {
                IpNet::V4(net) => v4.push((u32::from(net.network()), u32::from(net.broadcast()), value)),
                IpNet::V6(net) => v6.push((u128::from(net.network()), u128::from(net.broadcast()), value)),
            }
        }
        Self { v4: Tree::new(v4), v6: Tree::new(v6) }
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.v4.starts.is_empty() && self.v6.starts.is_empty()
    }

    /// The lowest value below `below` that also meets what else is asked, among the networks that hold the address.
    pub fn first_where(&self, ip: IpAddr, below: u32, mut also: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut best = below;
        let offer = |value| {
            if value < best && also(value) {
                best = value;
            }
        };
        match ip.to_canonical() {
            IpAddr::V4(ip) => self.v4.around(ip.into()).map(|(_, node)| node.value).for_each(offer),
            IpAddr::V6(ip) => self.v6.around(ip.into()).map(|(_, node)| node.value).for_each(offer),
        }
        (best < below).then_some(best)
    }

    /// Gives the value of every network that holds the address; a value may come more than once.
    pub fn each(&self, ip: IpAddr, mut take: impl FnMut(u32)) {
        self.first_where(ip, u32::MAX, |value| {
            take(value);
            false
        });
    }

    /// The narrowest network with this value that holds the address.
    #[must_use]
    pub fn find(&self, ip: IpAddr, value: u32) -> Option<IpNet> {
        let (from, host_bits) = match ip.to_canonical() {
            IpAddr::V4(ip) => {
                let (start, node) = self.v4.around(ip.into()).find(|(_, node)| node.value == value)?;
                (Ipv4Addr::from(start).into(), (node.end - start).count_ones())
            }
            IpAddr::V6(ip) => {
                let (start, node) = self.v6.around(ip.into()).find(|(_, node)| node.value == value)?;
                (IpAddr::from(Ipv6Addr::from(start)), (node.end - start).count_ones())
            }
        };
        let all = if from.is_ipv4() { 32 } else { 128 };
        IpNet::new(from, u8::try_from(all - host_bits).ok()?).ok()
    }
}

impl<T: Copy + Ord> Tree<T> {
    fn new(mut nets: Vec<(T, T, u32)>) -> Self {
        nets.sort_unstable_by_key(|(start, end, value)| (*start, Reverse(*end), *value));
        nets.dedup();
        let mut nodes: Vec<Node<T>> = Vec::with_capacity(nets.len());
        let mut around = NONE;
        for (at, (start, end, value)) in (0..).zip(&nets) {
            while let Some(node) = nodes.get(around as usize).filter(|node| node.end < *start) {
                around = node.around;
            }
            nodes.push(Node { end: *end, value: *value, around });
            around = at;
        }
        Self { starts: nets.into_iter().map(|(start, ..)| start).collect(), nodes: nodes.into() }
    }

    /// The networks that hold an address, the narrowest first.
    fn around(&self, ip: T) -> impl Iterator<Item = (T, &Node<T>)> {
        let last = self.starts.partition_point(|start| *start <= ip).checked_sub(1);
        let mut at = last.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE);
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            let start = *self.starts.get(at as usize)?;
            at = node.around;
            Some((start, node))
        })
        // What the address has left behind lies in what may still hold it.
        .filter(move |(_, node)| ip <= node.end)
    }
}

/// No network.
const NONE: u32 = u32::MAX;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::matcher::net;

    fn nested(texts: &[&str]) -> Nested {
        Nested::new(texts.iter().map(|text| net(text).unwrap()).zip(0..))
    }

    fn values(nested: &Nested, ip: &str) -> Vec<u32> {
        let mut all = vec![];
        nested.each(ip.parse().unwrap(), |value| all.push(value));
        all
    }

    #[test]
    fn all_networks_around_an_address_are_found_the_narrowest_first() {
        let nested = nested(&[
            "10.1.0.0/16",
            "10.0.0.0/8",
            "10.1.2.0/24",
            "0.0.0.0/0",
            "10.2.0.1",
            "::/0",
            "fc00::/7",
            "10.1.0.0/16",
        ]);
        for (ip, want) in [
            ("10.1.2.3", &[2, 7, 0, 1, 3][..]),
            ("10.1.255.255", &[7, 0, 1, 3]),
            ("10.0.255.255", &[1, 3]),
            ("10.2.0.1", &[4, 1, 3]),
            ("11.0.0.0", &[3]),
            ("255.255.255.255", &[3]),
            ("::ffff:10.1.0.0", &[7, 0, 1, 3]),
            ("fd00::1", &[6, 5]),
        ] {
            assert_eq!(values(&nested, ip), want, "{ip}");
        }
        assert_eq!(nested.first_where("10.1.2.3".parse().unwrap(), 3, |value| value != 0), Some(1));
        assert_eq!(nested.first_where("10.1.2.3".parse().unwrap(), 2, |value| value > 1), None);
        let found = |ip: &str, value| nested.find(ip.parse().unwrap(), value).map(|net| net.to_string());
        assert_eq!(found("10.1.2.3", 1).unwrap(), "10.0.0.0/8");
        assert_eq!(found("10.2.0.1", 4).unwrap(), "10.2.0.1/32");
        assert_eq!(found("10.9.9.9", 3).unwrap(), "0.0.0.0/0");
        assert_eq!((found("fd00::1", 6).unwrap(), found("fd00::1", 5).unwrap()), ("fc00::/7".into(), "::/0".into()));
        assert_eq!(found("10.9.9.9", 0), None);
    }

    proptest! {
        #[test]
        fn trees_agree_with_trying_one_by_one(
            nets in proptest::collection::vec((any::<u8>(), 24u8..=32), 0..12),
            ip in any::<u8>(),
        ) {
            let nets: Vec<_> = nets
                .into_iter()
                .map(|(last, bits)| IpNet::new(IpAddr::from([255, 255, 255, last]), bits).unwrap().trunc())
                .collect();
            let ip = IpAddr::from([255, 255, 255, ip]);
            let want: Vec<u32> = (0..).zip(&nets).filter(|(_, net)| net.contains(&ip)).map(|(at, _)| at).collect();
            let mut found = vec![];
            Nested::new(nets.into_iter().zip(0..)).each(ip, |value| found.push(value));
            found.sort_unstable();
            prop_assert_eq!(found, want);
        }
    }
}
