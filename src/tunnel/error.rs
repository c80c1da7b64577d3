//! Why there is no connection.

use std::io;

/// Why a connection through a tunnel did not come about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No peer has a network that the address belongs to, or this end has no address of that family.
    #[error("no peer's allowedIPs hold the address, or this end has no address of its family")]
    NoRoute,
    /// The other end of the tunnel never answered.
    #[error("the peer of the tunnel does not answer")]
    Silent,
    /// Whoever was called said no, or nothing.
    #[error(transparent)]
    Target(io::Error),
    /// The tunnel itself is over: its socket broke.
    #[error("the tunnel is over")]
    Over,
}
