//! The local address that a flow's way out begins at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::flow::Flow;
use crate::model::outbound::SendThrough;

/// The address that a socket is bound to for a flow; none leaves it to the kernel. Clients on Unix sockets have none to lend.
pub(super) fn local(through: SendThrough, flow: &Flow) -> Option<IpAddr> {
    let ip = match through {
        SendThrough::Any => return None,
        SendThrough::Ip(ip) => ip,
        SendThrough::Net(net) => random_of(net),
        SendThrough::Origin => flow.local.ip(),
        SendThrough::Source => flow.source.ip(),
    };
    Some(ip.to_canonical()).filter(|ip| !ip.is_unspecified())
}

fn random_of(net: IpNet) -> IpAddr {
    match net {
        IpNet::V4(net) => {
            let host = rand::random::<u32>() & u32::from(net.hostmask());
            Ipv4Addr::from(u32::from(net.network()) | host).into()
        }
        IpNet::V6(net) => {
            let host = rand::random::<u128>() & u128::from(net.hostmask());
            Ipv6Addr::from(u128::from(net.network()) | host).into()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::outbound::testing::flow;

    #[test]
    fn it_is_the_flows_or_any_of_a_network() {
        let mut flow = flow("a.example:1");
        let of = |through, flow: &Flow| local(through, flow).map(|ip| ip.to_string());
        assert_eq!(of(SendThrough::Any, &flow), None);
        assert_eq!(of(SendThrough::Origin, &flow).as_deref(), Some("127.0.0.1"));
        assert_eq!(of(SendThrough::Source, &flow).as_deref(), Some("192.0.2.1"));
        let net = "2001:db8:7::9/48".parse::<IpNet>().unwrap();
        let some: HashSet<_> = (0..8).filter_map(|_| local(SendThrough::Net(net), &flow)).collect();
        assert!(some.len() > 1 && some.iter().all(|ip| net.contains(ip)), "{some:?}");
        let one = "10.7.0.1/32".parse().unwrap();
        assert_eq!(of(SendThrough::Net(one), &flow).as_deref(), Some("10.7.0.1"));
        flow.source = ([0; 4], 0).into();
        assert_eq!(of(SendThrough::Source, &flow), None);
    }
}
