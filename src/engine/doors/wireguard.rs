//! WireGuard tunnels that are called.

use std::sync::Arc;

use crate::engine::tunnels;
use crate::inbound::{Member, Wireguard};
use crate::model::protocol::Wireguard as Written;
use crate::model::stream::Stream;
use crate::transport::masks;

pub(super) fn wireguard(written: &Written, stream: &Stream) -> Result<Wireguard, String> {
    let settings = tunnels::settings(written)?;
    let members = written.peers.iter().enumerate().map(|(at, peer)| Member::new(&peer.email, peer.level).at(at));
    let masks = masks(&stream.mask.udp).map_err(|error| error.to_string())?;
    let masks = (!masks.is_empty()).then(|| Arc::new(masks));
    Ok(Wireguard::new(settings, members, masks))
}
