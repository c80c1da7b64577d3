//! Which addresses are asked for.

use std::net::{IpAddr, UdpSocket};

use crate::model::dns::QueryStrategy;

/// A family of addresses, which is a kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4, record type A.
    V4,
    /// IPv6, record type AAAA.
    V6,
}

impl Family {
    /// Whether an address is of it.
    #[must_use]
    pub fn holds(self, ip: IpAddr) -> bool {
        ip.is_ipv4() == (self == Self::V4)
    }
}

/// Some families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Families {
    /// Whether IPv4 is among them.
    pub v4: bool,
    /// Whether IPv6 is among them.
    pub v6: bool,
}

impl Families {
    /// Both.
    pub const BOTH: Self = Self { v4: true, v6: true };

    /// Those that the machine has a default route for. No packet is sent for that: a connected socket has a source address.
    fn of_machine() -> Self {
        let routed = |own: &str, far: &str| UdpSocket::bind(own).and_then(|socket| socket.connect(far)).is_ok();
        let found = Self { v4: routed("0.0.0.0:0", "192.0.2.1:53"), v6: routed("[::]:0", "[2001:db8::1]:53") };
        // Without any route nothing can be told.
        if found.is_empty() { Self::BOTH } else { found }
    }

    /// Those of a strategy.
    #[must_use]
    pub fn of(strategy: QueryStrategy) -> Self {
        match strategy {
            QueryStrategy::UseIp => Self::BOTH,
            QueryStrategy::UseIpv4 => Self { v4: true, v6: false },
            QueryStrategy::UseIpv6 => Self { v4: false, v6: true },
            QueryStrategy::UseSystem => Self::of_machine(),
        }
    }

    /// Those in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { v4: self.v4 && other.v4, v6: self.v6 && other.v6 }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        !self.v4 && !self.v6
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = Family> {
        [(self.v4, Family::V4), (self.v6, Family::V6)].into_iter().filter_map(|(there, family)| there.then_some(family))
    }

    /// Whether an address is of one of them.
    #[must_use]
    pub fn hold(self, ip: IpAddr) -> bool {
        if ip.is_ipv4() { self.v4 } else { self.v6 }
    }
}
