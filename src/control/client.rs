//! The other end of the socket: finding engines, and asking one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::place::Surroundings;
use super::protocol::{Answer, Ask, LONGEST_ANSWER, Reports, Request, Say, VERSION, line};

/// How long an engine that listens may take to say who it is. One that is stopped in a debugger does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why an engine could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there.
    #[error("no engine listens on {}", .0.display())]
    Nobody(PathBuf),
    /// The socket cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What came is no answer of this protocol.
    #[error("{}: the answer makes no sense: {why}", path.display())]
    Nonsense {
        /// From where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// A connection to an engine. It takes one request.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    from: BufReader<OwnedReadHalf>,
    /// Kept open: an engine takes its end for a goodbye.
    to: OwnedWriteHalf,
}

impl Client {
    /// Connects and asks.
    ///
    /// # Errors
    /// [`ClientError`] where that is not possible.
    pub async fn ask(path: &Path, ask: Ask) -> Result<Self, ClientError> {
        let fault = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::Nobody(path.to_owned()),
            _ => ClientError::Io { path: path.to_owned(), source },
        };
        let (from, to) = UnixStream::connect(path).await.map_err(fault)?.into_split();
        let mut client = Self { path: path.to_owned(), from: BufReader::new(from), to };
        match client.to.write_all(&line(&Request::new(ask))).await {
            // An engine that turns us away does not read what we ask; it has said why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(client),
            written => written.map_err(|source| client.io(source)).map(|()| client),
        }
    }

    /// What it says next; nothing once it has said all.
    ///
    /// # Errors
    /// [`ClientError`] where the connection breaks, or what comes makes no sense.
    pub async fn next(&mut self) -> Result<Option<Say>, ClientError> {
        let mut text = Vec::new();
        let mut bounded = (&mut self.from).take(LONGEST_ANSWER as u64);
        match bounded.read_until(b'\n', &mut text).await {
            Err(source) => return Err(self.io(source)),
            Ok(0) => return Ok(None),
            Ok(_) => {}
        }
        match serde_json::from_slice::<Answer>(&text) {
            Ok(Answer { v: VERSION, say }) => Ok(Some(say)),
            Ok(Answer { v, .. }) => Err(self.nonsense(format!("it is of version {v}"))),
            Err(error) => Err(self.nonsense(error.to_string())),
        }
    }

    /// What it says, where it must say something.
    ///
    /// # Errors
    /// As [`Self::next`], and where it says nothing.
    pub async fn answer(&mut self) -> Result<Say, ClientError> {
        self.next().await?.ok_or_else(|| self.nonsense("the engine hung up".to_owned()))
    }

    fn io(&self, source: io::Error) -> ClientError {
        ClientError::Io { path: self.path.clone(), source }
    }

    fn nonsense(&self, why: String) -> ClientError {
        ClientError::Nonsense { path: self.path.clone(), why }
    }
}

/// An engine that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    /// Its socket.
    pub path: PathBuf,
    /// What it knows.
    pub reports: Reports,
}

/// The engines of this user that answer.
pub async fn running(around: &Surroundings) -> Vec<Running> {
    let mut found = vec![];
    for (_, path) in around.sockets() {
        let asked = async {
            let mut client = Client::ask(&path, Ask::Report { balancer: None }).await?;
            client.answer().await
        };
        if let Ok(Ok(Say::Reports(reports))) = timeout(PATIENCE, asked).await {
            found.push(Running { path, reports });
        }
    }
    found
}
