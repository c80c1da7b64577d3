//! What a tunnel is asked for, and who comes through it.

use std::net::SocketAddr;

use tokio::sync::oneshot;

use super::association::Association;
use super::error::ConnectError;
use super::stream::TunnelStream;

/// What a tunnel is asked for.
pub(super) enum Ask {
    Connect(SocketAddr, oneshot::Sender<Result<TunnelStream, ConnectError>>),
    Bind(oneshot::Sender<Association>),
}

/// Who came through a tunnel that others open connections in.
pub enum Arrived {
    /// A connection.
    Stream {
        /// The number of the peer.
        peer: usize,
        /// Where the client sits inside.
        client: SocketAddr,
        /// Whom it calls.
        target: SocketAddr,
        /// The connection, which is accepted already.
        io: TunnelStream,
    },
    /// Datagrams.
    Packets {
        /// The number of the peer.
        peer: usize,
        /// Where the client sits inside.
        client: SocketAddr,
        /// To whom the first one goes.
        target: SocketAddr,
        /// All of them, the first included.
        io: Association,
    },
}
