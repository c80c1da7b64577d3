//! Where the packets of a connection go out.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, TokioRuntime};
use tokio::task::JoinHandle;

use super::detour::{self, BEYOND};
use crate::addr::Target;
use crate::flow::BoxPackets;

/// Where the packets of a connection go out, and to whom.
pub enum Port {
    /// By a socket of ours.
    Own {
        /// The socket.
        socket: UdpSocket,
        /// The server.
        to: SocketAddr,
    },
    /// By an association that somebody else opened.
    Detour {
        /// The association.
        packets: BoxPackets,
        /// The server.
        to: Target,
    },
}

/// A port that is open: what sends by it, the address to call, and what ends when an association does.
pub(super) struct Opened {
    pub(super) endpoint: Endpoint,
    pub(super) to: SocketAddr,
    pub(super) driver: Option<JoinHandle<()>>,
}

impl Port {
    pub(super) fn open(self) -> io::Result<Opened> {
        let config = EndpointConfig::default();
        Ok(match self {
            Self::Own { socket, to } => {
                let endpoint = Endpoint::new(config, None, socket, Arc::new(TokioRuntime))?;
                Opened { endpoint, to, driver: None }
            }
            Self::Detour { packets, to } => {
                let (socket, driver) = detour::socket(packets, to);
                let endpoint = Endpoint::new_with_abstract_socket(config, None, socket, Arc::new(TokioRuntime))?;
                Opened { endpoint, to: BEYOND, driver: Some(driver) }
            }
        })
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own { to, .. } => f.debug_tuple("Own").field(to).finish(),
            Self::Detour { to, .. } => f.debug_tuple("Detour").field(to).finish(),
        }
    }
}
