//! One server behind us: dialling it, and keeping its connections for later requests.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::idle::Idle;
use crate::addr::Host;
use crate::flow::{BoxStream, DialError, Services, Stage};
use crate::model::httpservice::ServerUrl;
use crate::net::{SocketOptions, tcp};
use crate::tls::Client;

/// What a server is sent.
pub(super) type Sent = BoxBody<Bytes, hyper::Error>;

/// A server behind us.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) url: ServerUrl,
    tls: Option<Client>,
    /// Connections that wait for a request, the newest last.
    idle: Mutex<Vec<Waiting>>,
    /// Rung when a request could not reach it, so that it is looked at soon.
    pub(super) suspected: Notify,
}

#[derive(Debug)]
struct Waiting {
    sender: SendRequest<Sent>,
    since: Instant,
}

/// A connection for one request.
pub(super) struct Line {
    pub(super) sender: SendRequest<Sent>,
    /// Whether nothing was ever sent on it.
    pub(super) fresh: bool,
}

/// Bound of name, socket and TLS together.
pub(super) const DIAL: Duration = Duration::from_secs(5);

/// Servers close connections that wait too long, and a request that meets that moment has to be sent again.
const WAITS: Duration = Duration::from_secs(50);

/// More connections than this do not wait.
const MOST: usize = 256;

/// More lines than this no server needs to answer with.
const MOST_HEADERS: usize = 256;

impl Backend {
    pub(super) fn new(url: ServerUrl, tls: Option<Client>) -> Self {
        Self { url, tls, idle: Mutex::default(), suspected: Notify::new() }
    }

    /// A connection that waited, or a new one.
    pub(super) async fn line(&self, house: &dyn Services, idle: Option<Duration>) -> Result<Line, DialError> {
        match self.waiting() {
            Some(sender) => Ok(Line { sender, fresh: false }),
            None => self.fresh(house, idle).await,
        }
    }

    /// A new connection, which fails when nothing moves for `idle`.
    pub(super) async fn fresh(&self, house: &dyn Services, idle: Option<Duration>) -> Result<Line, DialError> {
        let io = Idle::new(self.dial(house).await?, idle);
        let opened = http1::Builder::new().max_headers(MOST_HEADERS).handshake(TokioIo::new(io)).await;
        let (sender, connection) =
            opened.map_err(|error| DialError::server(Stage::Handshake, io::Error::other(error)))?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a connection to a server ended");
            }
        });
        Ok(Line { sender, fresh: true })
    }

    /// Whether it can be reached at all.
    pub(super) async fn reach(&self, house: &dyn Services) -> Result<(), DialError> {
        self.dial(house).await.map(drop)
    }

    /// Asks for a path below its address, by a connection of its own.
    ///
    /// # Errors
    /// Why it is not healthy, in words.
    pub(super) async fn check(&self, house: &dyn Services, path: &str) -> Result<(), String> {
        let mut line = self.fresh(house, None).await.map_err(|error| error.to_string())?;
        let uri: Uri = format!("{}{path}", self.url.base).parse().map_err(|_| "the path is no path".to_owned())?;
        let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed());
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(HOST, self.host());
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("etemenanki/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let answer = line.sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let good = (StatusCode::OK..StatusCode::BAD_REQUEST).contains(&status);
        if good { Ok(()) } else { Err(format!("it answers {}", status.as_str())) }
    }

    /// Keeps a connection as soon as the answer on it has ended, if it can serve another.
    pub(super) fn keep(self: &Arc<Self>, mut sender: SendRequest<Sent>) {
        let backend = Arc::clone(self);
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let mut idle = backend.idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.retain(|waiting| !waiting.sender.is_closed() && waiting.since.elapsed() < WAITS);
                if idle.len() < MOST {
                    idle.push(Waiting { sender, since: Instant::now() });
                }
            }
        });
    }

    /// Its own name, for clients that say none.
    pub(super) fn host(&self) -> HeaderValue {
        HeaderValue::from_str(&self.url.authority()).unwrap_or(HeaderValue::from_static(""))
    }

    fn waiting(&self) -> Option<SendRequest<Sent>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(waiting) = idle.pop() {
            if waiting.sender.is_ready() && waiting.since.elapsed() < WAITS {
                return Some(waiting.sender);
            }
        }
        None
    }

    async fn dial(&self, house: &dyn Services) -> Result<BoxStream, DialError> {
        let late = |_| Err(DialError::server(Stage::Dial, io::ErrorKind::TimedOut));
        timeout(DIAL, self.opened(house)).await.unwrap_or_else(late)
    }

    async fn opened(&self, house: &dyn Services) -> Result<BoxStream, DialError> {
        let target = &self.url.target;
        let addresses: Vec<SocketAddr> = match &target.host {
            Host::Ip(ip) => vec![SocketAddr::new(*ip, target.port)],
            Host::Domain(name) => {
                let found = house.resolve(name).await?;
                found.iter().map(|ip| SocketAddr::new(*ip, target.port)).collect()
            }
        };
        let socket = tcp::dial(&addresses, &SocketOptions::default(), DIAL).await.map_err(|error| {
            let blame = if tcp::is_ours(&error) { DialError::us } else { DialError::server };
            blame(Stage::Dial, error)
        })?;
        match &self.tls {
            None => Ok(Box::new(socket)),
            Some(tls) => {
                let secured = tls.connect(socket, &target.host).await;
                Ok(Box::new(secured.map_err(|error| DialError::server(Stage::Secure, error))?))
            }
        }
    }
}
