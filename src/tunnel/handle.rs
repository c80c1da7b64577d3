//! A tunnel as those see it who use it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use quinn::AsyncUdpSocket;
use tokio::sync::{mpsc, oneshot};

use super::association::Association;
use super::core::Core;
use super::ends::Ends;
use super::error::ConnectError;
use super::peers::Heard;
use super::settings::Settings;
use super::stream::TunnelStream;
use super::task;

/// What a tunnel is asked for. Every stream and every association holds one end, so a tunnel lasts until the last is gone.
pub(super) type Commands = mpsc::UnboundedSender<Command>;

/// Datagrams that leave.
pub(super) type Datagrams = mpsc::Sender<(Ends, Bytes)>;

/// Datagrams that wait to leave, of all associations; more are dropped.
const WAITING: usize = 1024;

/// What a tunnel is asked for.
pub(super) enum Command {
    Connect(SocketAddr, oneshot::Sender<Result<TunnelStream, ConnectError>>),
    Bind(oneshot::Sender<Association>),
    /// The outer end of a connection did something.
    Look(Ends),
}

/// By which sockets a tunnel speaks.
pub struct Line {
    /// The sockets.
    pub sockets: Vec<Arc<dyn AsyncUdpSocket>>,
    /// Where each peer is, by the socket of the same number. Those of a listener come by its only one, from anywhere.
    pub endpoints: Vec<Option<SocketAddr>>,
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

/// A tunnel that runs. It ends when nobody has it, a stream of it or an association any more.
pub struct Tunnel {
    commands: Commands,
    heard: Arc<Heard>,
}

/// Starts a tunnel. Without `arrivals` nobody can call from the other side.
#[must_use]
pub fn open(settings: &Settings, line: Line, arrivals: Option<mpsc::Sender<Arrived>>) -> Tunnel {
    let (commands, asked) = mpsc::unbounded_channel();
    let (datagrams, leaving) = mpsc::channel(WAITING);
    // Only those who use the tunnel keep it: the task itself must not.
    let core = Core::new(settings, &line.endpoints, arrivals, commands.downgrade(), datagrams);
    let heard = Arc::clone(core.heard());
    tokio::spawn(task::run(core, line.sockets, asked, leaving));
    Tunnel { commands, heard }
}

impl Tunnel {
    /// Whether it is over, and another one is to be opened.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.commands.is_closed()
    }

    /// Whether no peer can have a session with us, because none was heard for longer than one lasts.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.heard.nobody()
    }

    /// A connection to an address behind a peer. Nobody is called any more once the future is dropped.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, to: SocketAddr) -> Result<TunnelStream, ConnectError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Connect(to, reply)).map_err(|_| ConnectError::Over)?;
        answer.await.map_err(|_| ConnectError::Over)?
    }

    /// An association.
    ///
    /// # Errors
    /// [`ConnectError::Over`].
    pub async fn associate(&self) -> Result<Association, ConnectError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Bind(reply)).map_err(|_| ConnectError::Over)?;
        answer.await.map_err(|_| ConnectError::Over)
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tunnel")
    }
}
