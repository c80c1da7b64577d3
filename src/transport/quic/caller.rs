//! Whoever calls at a socket.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::Incoming;

use super::pace::Paced;
use crate::net::tcp::canonical;

/// Whoever calls, before anything was said.
pub struct Caller {
    pub(super) incoming: Incoming,
    /// Where it called.
    pub(super) socket: Arc<Paced>,
    /// Kept until the handshake is over.
    pub(super) busy: Arc<()>,
}

impl Caller {
    /// Where it says it is.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        canonical(self.incoming.remote_address())
    }

    /// The address that it called, of a socket that is bound here.
    #[must_use]
    pub fn local(&self, bound: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.incoming.local_ip().unwrap_or_else(|| bound.ip()).to_canonical(), bound.port())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.source()).finish()
    }
}
