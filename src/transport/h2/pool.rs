//! The connections of one outbound.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use tokio::sync::watch;

use super::care::Care;
use super::line::{Exchange, Line};
use super::windows::{FIRST_OF_CLIENT, Windows};
use crate::addr::Target;
use crate::flow::{Blame, DialError, Stage};
use crate::transport::lines::Lines;

/// The connections of one outbound, by server.
#[derive(Debug)]
pub struct Pool {
    window: Option<u32>,
    care: Care,
    servers: Mutex<HashMap<Target, Server>>,
}

#[derive(Debug, Default)]
struct Server {
    lines: Vec<Line>,
    /// Somebody is opening one more.
    opening: Option<watch::Receiver<Opening>>,
}

/// What came of opening a connection.
#[derive(Debug, Clone)]
enum Opening {
    /// Nothing yet. Whoever sees this end has to open one itself.
    Running,
    /// It is with the others.
    Opened,
    /// It failed, and so do all who waited for it.
    Failed { stage: Stage, blame: Blame, kind: io::ErrorKind, why: Arc<str> },
}

/// What a flow has to do for its stream.
enum Turn {
    Has(Box<Exchange>),
    Waits(watch::Receiver<Opening>),
    Opens(watch::Sender<Opening>),
}

/// Time for HTTP/2 to begin.
const LIMIT: Duration = Duration::from_secs(16);

impl Pool {
    /// An empty pool. `window` is what of a stream may be under way; absent, it finds itself.
    #[must_use]
    pub fn new(window: Option<u32>, care: Care) -> Self {
        Self { window, care, servers: Mutex::default() }
    }

    /// Sends the head of a request to a server. `blame` is who answers for a connection that does not speak HTTP/2.
    ///
    /// # Errors
    /// [`DialError`] of the connection, or at the stage of the carrier.
    pub async fn request(
        &self,
        bare: &dyn Lines,
        to: &Target,
        blame: Blame,
        request: &Request<()>,
    ) -> Result<Exchange, DialError> {
        loop {
            match self.turn(to, request) {
                Turn::Has(exchange) => return Ok(*exchange),
                Turn::Waits(mut opening) => {
                    let over = opening.wait_for(|now| !matches!(now, Opening::Running)).await;
                    if let Ok(Opening::Failed { stage, blame, kind, why }) = over.as_deref() {
                        return Err(DialError::new(*stage, *blame, io::Error::new(*kind, why.to_string())));
                    }
                }
                Turn::Opens(tell) => {
                    let opened = self.open(bare, blame).await;
                    // A request of ours goes first: it must not find the places of its own connection taken.
                    let first = opened.and_then(|line| {
                        let first = line.request(request);
                        self.keep(to, line);
                        first.map_err(|error| DialError::new(Stage::Carry, blame, error))
                    });
                    match first {
                        Ok(first) => {
                            tell.send_replace(Opening::Opened);
                            if let Some(exchange) = first {
                                return Ok(exchange);
                            }
                            // It allows no stream at all for now.
                            return Err(DialError::new(Stage::Carry, blame, io::ErrorKind::ConnectionRefused));
                        }
                        Err(error) => {
                            let (stage, blame, kind) = (error.stage, error.blame, error.source.kind());
                            let why = error.source.to_string().into();
                            self.servers().entry(to.clone()).or_default().opening = None;
                            tell.send_replace(Opening::Failed { stage, blame, kind, why });
                            return Err(error);
                        }
                    }
                }
            }
        }
    }

    async fn open(&self, bare: &dyn Lines, blame: Blame) -> Result<Line, DialError> {
        let io = bare.line().await?;
        let windows = self.window.map_or_else(|| Windows::growing(FIRST_OF_CLIENT), Windows::fixed);
        let line = Line::open(io, windows, self.care, LIMIT).await;
        line.map_err(|error| DialError::new(Stage::Carry, blame, error))
    }

    /// Looks for a place on a connection, and where there is none says who opens another.
    fn turn(&self, to: &Target, request: &Request<()>) -> Turn {
        let mut servers = self.servers();
        let server = servers.entry(to.clone()).or_default();
        server.lines.retain(Line::is_open);
        for line in &server.lines {
            // One that the peer has ended fails here, and is left out from then on.
            if let Ok(Some(exchange)) = line.request(request) {
                return Turn::Has(Box::new(exchange));
            }
        }
        // A flow that went away while it was opening has left its end of the channel.
        if let Some(opening) = server.opening.as_ref().filter(|opening| opening.has_changed().is_ok()) {
            return Turn::Waits(opening.clone());
        }
        let (tell, opening) = watch::channel(Opening::Running);
        server.opening = Some(opening);
        Turn::Opens(tell)
    }

    fn keep(&self, to: &Target, line: Line) {
        let mut servers = self.servers();
        let server = servers.entry(to.clone()).or_default();
        server.opening = None;
        server.lines.push(line);
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Target, Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
