//! Where the packets of a connection go out.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime};
use tokio::task::JoinHandle;

use super::detour::{self, BEYOND};
use super::hopping::Hopping;
use super::masked::Masked;
use super::pace::Paced;
use super::params::Hop;
use crate::addr::Target;
use crate::flow::BoxPackets;
use crate::net::SocketOptions;
use crate::proto::mask::Masks;

/// Where the packets of a connection go out, and to whom.
pub enum Port {
    /// By a socket of ours.
    Own {
        /// The socket.
        socket: UdpSocket,
        /// The server.
        to: SocketAddr,
        /// Options of further sockets, for going from port to port.
        options: SocketOptions,
    },
    /// By an association that somebody else opened.
    Detour {
        /// The association.
        packets: BoxPackets,
        /// The server.
        to: Target,
    },
}

/// A port without QUIC: whoever has it speaks its own protocol.
pub struct Bare {
    /// The socket.
    pub socket: Arc<dyn AsyncUdpSocket>,
    /// The server as the socket knows it.
    pub to: SocketAddr,
    /// What ends when an association does; none where there is only a socket.
    pub driver: Option<JoinHandle<()>>,
}

/// A port that is open: what sends by it, the address to call, and what ends when an association does.
pub(super) struct Opened {
    pub(super) endpoint: Endpoint,
    pub(super) socket: Arc<Paced>,
    pub(super) to: SocketAddr,
    pub(super) driver: Option<JoinHandle<()>>,
}

impl Port {
    pub(super) fn open(self, masks: Option<&Arc<Masks>>, hop: Option<&Arc<Hop>>) -> io::Result<Opened> {
        let Bare { socket, to, driver } = self.bare(masks, hop)?;
        let socket = Paced::new(socket);
        let abstracted = Arc::clone(&socket) as Arc<dyn AsyncUdpSocket>;
        let config = EndpointConfig::default();
        let endpoint = Endpoint::new_with_abstract_socket(config, None, abstracted, Arc::new(TokioRuntime))?;
        Ok(Opened { endpoint, socket, to, driver })
    }

    /// Opens it for messages of another protocol, which wear these masks.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn bare(self, masks: Option<&Arc<Masks>>, hop: Option<&Arc<Hop>>) -> io::Result<Bare> {
        let (bare, to, driver): (Arc<dyn AsyncUdpSocket>, _, _) = match (self, hop) {
            (Self::Own { socket, to, .. }, None) => (TokioRuntime.wrap_udp_socket(socket)?, to, None),
            (Self::Own { socket, to, options }, Some(hop)) => {
                (Hopping::begin(socket, to, options, Arc::clone(hop))?, to, None)
            }
            (Self::Detour { packets, to }, hop) => {
                let (socket, driver) = detour::socket(packets, to, hop.cloned());
                (socket, BEYOND, Some(driver))
            }
        };
        let socket = match masks {
            Some(masks) => Masked::new(bare, Arc::clone(masks)),
            None => bare,
        };
        Ok(Bare { socket, to, driver })
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
