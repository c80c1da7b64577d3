//! A tunnel as those see it who use it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::AsyncUdpSocket;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ask::{Arrived, Ask};
use super::association::Association;
use super::core::Core;
use super::ends::Looks;
use super::error::ConnectError;
use super::peers::Heard;
use super::settings::Settings;
use super::stream::TunnelStream;
use super::task::{self, Queues};

/// Datagrams that wait to leave, of all associations; more are dropped.
const WAITING: usize = 1024;

/// By which sockets a tunnel speaks.
pub struct Line {
    /// The sockets.
    pub sockets: Vec<Arc<dyn AsyncUdpSocket>>,
    /// Where each peer is, by the socket of the same number. Those of a listener come by its only one, from anywhere.
    pub endpoints: Vec<Option<SocketAddr>>,
    /// When one of the sockets leads nowhere any more.
    pub over: CancellationToken,
}

/// A tunnel that runs. It ends when nobody has it, a stream of it or an association any more.
pub struct Tunnel {
    asks: mpsc::UnboundedSender<Ask>,
    looks: Looks,
    heard: Arc<Heard>,
}

/// Starts a tunnel. Without `arrivals` nobody can call from the other side.
#[must_use]
pub fn open(settings: &Settings, line: Line, arrivals: Option<mpsc::Sender<Arrived>>) -> Tunnel {
    begin(settings, line, arrivals).0
}

/// The same for whoever has to know when it ended.
#[must_use]
pub fn begin(settings: &Settings, line: Line, arrivals: Option<mpsc::Sender<Arrived>>) -> (Tunnel, JoinHandle<()>) {
    let (asks, asked) = mpsc::unbounded_channel();
    let (looks, looked) = mpsc::unbounded_channel();
    let (datagrams, leaving) = mpsc::channel(WAITING);
    // Only those who use the tunnel keep it: the task itself must not.
    let core = Core::new(settings, &line.endpoints, arrivals, looks.downgrade(), datagrams);
    let heard = Arc::clone(core.heard());
    let task = tokio::spawn(task::run(core, line.sockets, line.over, Queues { asked, looked, leaving }));
    (Tunnel { asks, looks, heard }, task)
}

impl Tunnel {
    /// Whether it is over, and another one is to be opened.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.looks.is_closed()
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
        self.asks.send(Ask::Connect(to, reply)).map_err(|_| ConnectError::Over)?;
        answer.await.map_err(|_| ConnectError::Over)?
    }

    /// An association.
    ///
    /// # Errors
    /// [`ConnectError::Over`].
    pub async fn associate(&self) -> Result<Association, ConnectError> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Bind(reply)).map_err(|_| ConnectError::Over)?;
        answer.await.map_err(|_| ConnectError::Over)
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tunnel")
    }
}
