//! What must be known of members to probe them.

use crate::addr::Target;

/// What the house knows of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its own server, where it has one with a port.
    pub server: Option<Target>,
    /// Whether it carries nothing but datagrams.
    pub only_udp: bool,
    /// Print of its definition.
    pub print: u64,
}
