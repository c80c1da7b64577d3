//! Routes a flow again, under the tag of another inbound.

use crate::addr::Tag;
use crate::model::sniffing::Sniffing;

crate::record! {
    /// Routes a flow again, under another inbound's tag.
    pub struct Loopback {
        /// The tag under which the flow appears.
        inbound_tag: Tag => "inboundTag";
        /// What is read from its first bytes this time.
        sniffing: Sniffing => "sniffing";
    }
}
