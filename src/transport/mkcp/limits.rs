//! What a configuration says of conversations.

use crate::model::carrier::Kcp;
use crate::model::stream::Stream;
use crate::proto::mask::Masks;
use crate::proto::mkcp::Settings;
use crate::transport::error::TransportError;
use crate::transport::masks::masks;

/// How much is said and taken, and what packets look like. As in V2Ray the disguise is a part of the packet's size.
pub(super) fn of(stream: &Stream, set: &Kcp) -> Result<(Settings, Masks), TransportError> {
    let masks = masks(&stream.mask.udp)?;
    let (up, down) = (set.uplink_capacity, set.downlink_capacity);
    let settings =
        Settings::of(set.mtu, masks.overhead(), set.tti, up, down, set.cwnd_multiplier, set.max_sending_window);
    Ok((settings, masks))
}
