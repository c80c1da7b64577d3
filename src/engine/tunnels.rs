//! From the record of a tunnel to what it is made of, for both ends.

use std::net::IpAddr;

use ipnet::IpNet;
use zeroize::Zeroizing;

use crate::model::keys::KeyOf;
use crate::model::protocol::{Peer, Wireguard};
use crate::tunnel::{PeerSettings, Settings};

/// Largest packets that make sense: what IPv4 has to carry, and the most that fits into a datagram.
const MTU: std::ops::RangeInclusive<i32> = 576..=65_000;

/// The least with which IPv6 works (RFC 8200).
const MTU_V6: i32 = 1280;

pub(super) fn settings(written: &Wireguard) -> Result<Settings, String> {
    let addresses: Vec<IpAddr> = written.address.iter().map(|text| address(text)).collect::<Result<_, _>>()?;
    let v6 = addresses.iter().any(IpAddr::is_ipv6);
    if !MTU.contains(&written.mtu) {
        return Err(format!(
            "an mtu of {} is not possible: write {} to {}, 1420 is usual",
            written.mtu,
            MTU.start(),
            MTU.end()
        ));
    }
    if v6 && written.mtu < MTU_V6 {
        return Err(format!(
            "an mtu of {} is too small for an IPv6 address: write {MTU_V6} or more, or leave that address out",
            written.mtu
        ));
    }
    Ok(Settings {
        secret: key(&written.secret_key)?,
        addresses,
        peers: written.peers.iter().map(peer).collect::<Result<_, _>>()?,
        mtu: written.mtu.unsigned_abs() as usize,
        reserved: written.reserved.0.unwrap_or_default(),
    })
}

fn peer(written: &Peer) -> Result<PeerSettings, String> {
    Ok(PeerSettings {
        public: *key(&written.public_key)?,
        preshared: written.pre_shared_key.as_ref().map(key).transpose()?,
        allowed: written.allowed_ips.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
        keep_alive: u16::try_from(written.keep_alive).ok().filter(|seconds| *seconds > 0),
    })
}

fn key(written: &KeyOf<32>) -> Result<Zeroizing<[u8; 32]>, String> {
    let bytes = written.bytes().try_into();
    bytes.map(Zeroizing::new).map_err(|_| "a key is missing: 32 bytes are needed".to_owned())
}

/// An address of this end. Its prefix length says nothing here: everything goes through the tunnel.
fn address(text: &str) -> Result<IpAddr, String> {
    let bare = text.trim().split_once('/').map_or_else(|| text.trim(), |(address, _)| address);
    bare.parse().map_err(|_| format!("address {text:?} is no IP address"))
}

fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let bare = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| bare()).map_err(|_| format!("allowedIPs: {text:?} is no network such as 10.0.0.0/8"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_as_people_write_them() {
        assert_eq!(address("10.0.0.2/32").unwrap().to_string(), "10.0.0.2");
        assert_eq!(address("fd00::2").unwrap().to_string(), "fd00::2");
        assert!(address("10.0.0").is_err());
        for (text, net) in [("0.0.0.0/0", "0.0.0.0/0"), ("::0/0", "::/0"), ("10.0.0.2", "10.0.0.2/32")] {
            assert_eq!(network(text).unwrap().to_string(), net);
        }
        assert!(network("10.0.0.0/33").is_err());
    }

    #[test]
    fn packets_have_possible_sizes() {
        let mut written = Wireguard { address: vec!["10.0.0.2".into()], ..Wireguard::default() };
        let told = |written: &Wireguard| settings(written).err().unwrap_or_default();
        for mtu in [-1, 100, 65_001] {
            written.mtu = mtu;
            assert!(told(&written).contains("mtu"), "{mtu}");
        }
        written.mtu = 1000;
        assert_eq!(told(&written), "");
        written.address.push("fd00::2".into());
        assert!(told(&written).contains("1280"));
    }
}
