//! The two ends of what a packet belongs to.

use std::net::SocketAddr;

use bytes::Bytes;
use tokio::sync::mpsc;

/// Where a packet comes from and goes to, or, of a connection, this end and the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ends {
    /// Where it comes from, or this end.
    pub from: SocketAddr,
    /// Where it goes, or the other end.
    pub to: SocketAddr,
}

impl Ends {
    /// The same, seen from the other side.
    pub(super) fn turned(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// Connections whose outer end did something. Every stream and every association holds one, so a tunnel lasts until the last
/// is gone.
pub(super) type Looks = mpsc::UnboundedSender<Ends>;

/// Datagrams that leave.
pub(super) type Datagrams = mpsc::Sender<(Ends, Bytes)>;
