//! What a tunnel is made of.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use zeroize::Zeroizing;

/// A tunnel.
#[derive(PartialEq)]
pub struct Settings {
    /// The private key of this end.
    pub secret: Zeroizing<[u8; 32]>,
    /// The addresses of this end.
    pub addresses: Vec<IpAddr>,
    /// The other ends.
    pub peers: Vec<PeerSettings>,
    /// Largest packet inside, in bytes.
    pub mtu: usize,
    /// What stands in the reserved bytes of every message that leaves; what comes in them is not looked at.
    pub reserved: [u8; 3],
}

/// One of the other ends.
#[derive(PartialEq)]
pub struct PeerSettings {
    /// Its public key.
    pub public: [u8; 32],
    /// A key that both have besides.
    pub preshared: Option<Zeroizing<[u8; 32]>>,
    /// Networks behind it: where packets to them go, and the only ones that it may send from.
    pub allowed: Vec<IpNet>,
    /// Seconds of silence that are broken.
    pub keep_alive: Option<u16>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("addresses", &self.addresses)
            .field("peers", &self.peers.len())
            .field("mtu", &self.mtu)
            .finish_non_exhaustive()
    }
}
