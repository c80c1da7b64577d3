//! Who can be chosen.

use crate::addr::{OutboundId, Tag};

/// An outbound that may be chosen. The same outbound may be listed twice and then counts twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its outbound's tag.
    pub tag: Tag,
    /// Its outbound's place in the configuration.
    pub id: OutboundId,
    /// Whether the outbound can carry datagrams.
    pub udp: bool,
}
