//! A private socket whose other end is a member's outbound: what an HTTP client writes there leaves by that member (or,
//! where the network itself is asked, by none).
//!
//! The client library cannot be given a stream, only a Unix socket to connect to. One tap serves one host of one
//! attempt, so it knows whom to dial without any protocol in between. On Linux the socket has a random abstract name, so
//! nothing touches a disk; elsewhere it lies in a directory that only this user may enter. Either way the kernel says who
//! connects, and whoever is not this very process is turned away.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::dial::{connect, marked, refused};
use super::measure::By;
use crate::addr::{Network, Target};
use crate::flow::{BoxStream, DialError, Flow, Services, Stage, Via};

/// An open tap. Dropping it ends the connections made through it.
#[derive(Debug)]
pub struct Tap {
    name: PathBuf,
    _home: Option<Home>,
    serving: AbortHandle,
    dial: Arc<Mutex<Dial>>,
}

/// How the dial behind a tap went.
#[derive(Debug, Clone, Default)]
pub enum Dial {
    /// Nobody connected, or it still runs.
    #[default]
    Pending,
    /// The member was ready for the first byte after this long.
    Ready(Duration),
    /// It failed.
    Failed(String),
    /// It was refused at once.
    Refused(String),
}

impl Tap {
    /// Opens a tap through which `target` is reached by way of the member, or directly.
    ///
    /// # Errors
    /// Where the system has no socket left, or refuses the name.
    pub fn open(services: Arc<dyn Services>, by: Option<By<'_>>, target: Target) -> io::Result<Self> {
        let by = by.map(|by| (Via::from(by.hop), marked(by.tag, Network::Tcp, target.clone())));
        Self::serve(services, by, target)
    }

    /// The same by a way of the house, for a flow that is no measurement.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn through(services: Arc<dyn Services>, via: Via, flow: Flow) -> io::Result<Self> {
        let target = flow.target.clone();
        Self::serve(services, Some((via, flow)), target)
    }

    fn serve(services: Arc<dyn Services>, by: Option<(Via, Flow)>, target: Target) -> io::Result<Self> {
        let (listener, name, home) = listen()?;
        let dial = Arc::default();
        let end = End { services, by, target, dial: Arc::clone(&dial) };
        let serving = tokio::spawn(end.serve(listener)).abort_handle();
        Ok(Self { name, _home: home, serving, dial })
    }

    /// What a client connects to.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// How the first dial through this tap went.
    #[must_use]
    pub fn dial(&self) -> Dial {
        self.dial.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct End {
    services: Arc<dyn Services>,
    by: Option<(Via, Flow)>,
    target: Target,
    dial: Arc<Mutex<Dial>>,
}

impl End {
    async fn serve(self, listener: UnixListener) {
        let end = Arc::new(self);
        let mut connections = JoinSet::new();
        // A failed accept ends the tap: the attempt then fails, and the next one has a tap of its own.
        while let Ok((stream, _)) = listener.accept().await {
            if is_ours(&stream) {
                connections.spawn(Arc::clone(&end).carry(stream));
            }
        }
    }

    async fn carry(self: Arc<Self>, mut client: UnixStream) {
        // HTTP clients speak first. Their first bytes travel with the dial, as a user's would.
        let mut first = vec![0; FIRST];
        let Ok(read) = client.read(&mut first).await else { return };
        first.truncate(read);
        if first.is_empty() {
            return;
        }
        let begin = Instant::now();
        match self.dial(&first).await {
            Ok(mut server) => {
                self.tell(Dial::Ready(begin.elapsed()));
                drop(first);
                // However it ends, the client sees it; there is nobody else to tell.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
            Err(error) => {
                self.tell(if refused(&error) {
                    Dial::Refused(error.to_string())
                } else {
                    Dial::Failed(error.to_string())
                });
                let _ = client.shutdown().await;
            }
        }
    }

    async fn dial(&self, first: &[u8]) -> Result<BoxStream, DialError> {
        let Some((via, flow)) = &self.by else {
            let mut stream = connect(&*self.services, &self.target).await?;
            stream.write_all(first).await.map_err(|error| DialError::target(Stage::Dial, error))?;
            return Ok(Box::new(stream));
        };
        self.services.dial(*via, flow, first).await
    }

    fn tell(&self, outcome: Dial) {
        let mut dial = self.dial.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*dial, Dial::Pending) {
            *dial = outcome;
        }
    }
}

/// As much as one read of a client's opening brings: a request or a ClientHello.
const FIRST: usize = 4096;

fn is_ours(stream: &UnixStream) -> bool {
    match stream.peer_cred().map(|peer| peer.pid()) {
        Ok(Some(pid)) => u32::try_from(pid) == Ok(std::process::id()),
        // Systems that do not tell the process are guarded by the directory.
        Ok(None) => true,
        Err(_) => false,
    }
}

fn listen() -> io::Result<(UnixListener, PathBuf, Option<Home>)> {
    let mark = rand::random::<u128>();
    if cfg!(any(target_os = "linux", target_os = "android")) {
        let name = PathBuf::from(format!("\0etemenanki-{mark:032x}"));
        return Ok((UnixListener::bind(&name)?, name, None));
    }
    in_directory(mark)
}

fn in_directory(mark: u128) -> io::Result<(UnixListener, PathBuf, Option<Home>)> {
    let home = Home::new(mark)?;
    let name = home.0.join("tap");
    Ok((UnixListener::bind(&name)?, name, Some(home)))
}

/// A directory of this user alone, gone when dropped.
#[derive(Debug)]
struct Home(PathBuf);

impl Home {
    fn new(mark: u128) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("etemenanki-{mark:032x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Only what we put there; if somebody else's file is in it, the directory stays.
        let _ = std::fs::remove_file(self.0.join("tap"));
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_private_and_goes_with_its_tap() {
        use std::os::unix::fs::PermissionsExt;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let (listener, name, home) = in_directory(rand::random()).unwrap();
        let directory = name.parent().unwrap().to_owned();
        assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        drop((listener, home));
        assert!(!directory.exists());
    }

    #[tokio::test]
    async fn only_this_process_may_use_a_tap() {
        let (listener, name, _home) = listen().unwrap();
        let _client = UnixStream::connect(&name).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert!(is_ours(&server));
        assert_eq!(server.peer_cred().unwrap().pid(), i32::try_from(std::process::id()).ok());
    }
}
