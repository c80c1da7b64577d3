//! Which addresses of a name to use, and in which order.

use std::net::{IpAddr, SocketAddr};

use crate::model::fields::{DomainStrategy, Families as Asked};
use crate::model::sockopt::SockOpt;

/// A choice among the families of addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Families {
    /// As they come.
    #[default]
    Any,
    /// IPv4 first.
    V4First,
    /// IPv4 alone.
    V4Only,
    /// IPv6 first.
    V6First,
    /// IPv6 alone.
    V6Only,
}

impl Families {
    /// The addresses that are left, in order, with a port; each once.
    #[must_use]
    pub fn pick(self, addresses: &[IpAddr], port: u16) -> Vec<SocketAddr> {
        let wanted = |ip: &IpAddr| match self {
            Self::V4Only => ip.is_ipv4(),
            Self::V6Only => ip.is_ipv6(),
            Self::Any | Self::V4First | Self::V6First => true,
        };
        let mut left: Vec<SocketAddr> = Vec::with_capacity(addresses.len());
        for at in addresses.iter().filter(|ip| wanted(ip)).map(|ip| SocketAddr::new(*ip, port)) {
            if !left.contains(&at) {
                left.push(at);
            }
        }
        match self {
            Self::V4First => left.sort_by_key(SocketAddr::is_ipv6),
            Self::V6First => left.sort_by_key(SocketAddr::is_ipv4),
            Self::Any | Self::V4Only | Self::V6Only => {}
        }
        left
    }
}

/// What a configuration asks for; whether a name without such an address may still be dialed is for the outbound to judge.
impl From<DomainStrategy> for Families {
    fn from(strategy: DomainStrategy) -> Self {
        match strategy.families() {
            None | Some(Asked::Either) => Self::Any,
            Some(Asked::V4) => Self::V4Only,
            Some(Asked::V6) => Self::V6Only,
            Some(Asked::V4First) => Self::V4First,
            Some(Asked::V6First) => Self::V6First,
        }
    }
}

/// Where the strategy prefers neither, a race that the configuration asks for begins with IPv4 unless it says otherwise.
impl From<&SockOpt> for Families {
    fn from(set: &SockOpt) -> Self {
        match (Self::from(set.domain_strategy), set.happy_eyeballs.as_ref().filter(|eyes| eyes.is_on())) {
            (Self::Any, Some(eyes)) if eyes.prioritize_ipv6 => Self::V6First,
            (Self::Any, Some(_)) => Self::V4First,
            (families, _) => families,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sockopt::HappyEyeballs;

    #[test]
    fn a_race_says_who_begins() {
        let families = |try_delay_ms, prioritize_ipv6, domain_strategy| {
            let eyes = HappyEyeballs { try_delay_ms, prioritize_ipv6, ..HappyEyeballs::default() };
            Families::from(&SockOpt { happy_eyeballs: Some(eyes), domain_strategy, ..SockOpt::default() })
        };
        assert_eq!(families(250, true, DomainStrategy::UseIp), Families::V6First);
        assert_eq!(families(250, false, DomainStrategy::UseIp), Families::V4First);
        assert_eq!(families(250, true, DomainStrategy::UseIpv4v6), Families::V4First);
        assert_eq!(families(0, true, DomainStrategy::UseIp), Families::Any);
        assert_eq!(Families::from(&SockOpt::default()), Families::Any);
    }

    #[test]
    fn a_choice_drops_or_orders() {
        let all: Vec<IpAddr> = ["::1", "10.0.0.1", "::1", "::2", "10.0.0.2"].iter().flat_map(|t| t.parse()).collect();
        let picked = |families: Families| {
            let ips = families.pick(&all, 1).into_iter().map(|at| at.ip().to_string());
            ips.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(picked(Families::Any), "::1 10.0.0.1 ::2 10.0.0.2");
        assert_eq!(picked(Families::V4First), "10.0.0.1 10.0.0.2 ::1 ::2");
        assert_eq!(picked(Families::V6First), "::1 ::2 10.0.0.1 10.0.0.2");
        assert_eq!(picked(Families::V4Only), "10.0.0.1 10.0.0.2");
        assert_eq!(picked(Families::V6Only), "::1 ::2");
    }
}
