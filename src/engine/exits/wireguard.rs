//! WireGuard tunnels that call.

use std::sync::Arc;

use crate::addr::Target;
use crate::engine::tunnels;
use crate::model::protocol::{WireStrategy, Wireguard as Written};
use crate::net::Families;
use crate::outbound::{Way, Wireguard};
use crate::proto::mask::Masks;

pub(super) fn wireguard(way: Way, written: &Written, masks: Masks) -> Result<Wireguard, String> {
    let settings = tunnels::settings(written)?;
    if written.peers.is_empty() {
        return Err("empty peers: write at least one, with publicKey and endpoint".to_owned());
    }
    let endpoints = written.peers.iter().enumerate().map(|(at, peer)| match peer.endpoint.as_str() {
        "" => Err(format!("peers[{at}] has no endpoint: write \"endpoint\": \"host:port\"")),
        text => text.parse::<Target>().map_err(|_| format!("peers[{at}]: the endpoint {text:?} is no host:port")),
    });
    let families = match written.domain_strategy {
        WireStrategy::ForceIp => Families::Any,
        WireStrategy::ForceIpv4 => Families::V4Only,
        WireStrategy::ForceIpv6 => Families::V6Only,
        WireStrategy::ForceIpv4v6 => Families::V4First,
        WireStrategy::ForceIpv6v4 => Families::V6First,
    };
    let endpoints = endpoints.collect::<Result<_, _>>()?;
    let masks = (!masks.is_empty()).then(|| Arc::new(masks));
    Ok(Wireguard::new(way, settings, endpoints, masks, families))
}
