//! One request: the server it goes to, the next one where that cannot be reached, and the answer on its way back.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::answer::{self, Reply};
use super::backend::{Backend, Line, Sent};
use super::headers::{self, Client, Outgoing};
use super::key::Asked;
use super::status::{HttpServices, InUse};
use super::tunnel;
use crate::addr::Tag;
use crate::flow::{Blame, DialError, Services, Stage};

/// What requests of one connection have in common.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) services: Arc<HttpServices>,
    /// Which of them is asked.
    pub(super) service: usize,
    /// Who knows the addresses of names.
    pub(super) house: Arc<dyn Services>,
    pub(super) source: SocketAddr,
    pub(super) client: Client,
    pub(super) local: SocketAddr,
    /// How long a connection to a server may be silent.
    pub(super) idle: Option<Duration>,
    /// Requests that run; a change of protocol counts as one.
    pub(super) running: TaskTracker,
    /// Ends tunnels.
    pub(super) end: CancellationToken,
}

/// How many servers one request may try (as flows: balancing rule 12.4).
const MOST: usize = 3;

impl Visit {
    /// Answers a request, whatever it is.
    pub(super) async fn serve(&self, request: Request<Incoming>) -> Reply {
        let running = self.running.token();
        match self.try_serve(request, running).await {
            Ok(reply) => reply,
            Err(status) => answer::of(status),
        }
    }

    fn tag(&self) -> &Tag {
        &self.services.all[self.service].tag
    }

    async fn try_serve(&self, mut request: Request<Incoming>, running: TaskTrackerToken) -> Result<Reply, StatusCode> {
        if request.method() == Method::CONNECT {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let client = hyper::upgrade::on(&mut request);
        let (parts, body) = request.into_parts();
        let Outgoing { headers, upgrade } = headers::for_server(&parts, self.client)?;
        let mut message = Message {
            body: (!body.is_end_stream()).then(|| body.boxed()),
            again: parts.method.is_idempotent(),
            method: parts.method.clone(),
            headers,
        };
        message.again &= message.body.is_none();
        let (given, line, answer) = self.answered(&parts, &mut message).await?;
        let client = upgrade.then_some(client);
        self.pass_on(given, line, answer, client, running)
    }

    /// The answer of the first server that takes the request.
    async fn answered(
        &self,
        parts: &Parts,
        message: &mut Message,
    ) -> Result<(Given, Line, Response<Incoming>), StatusCode> {
        let asked = Asked { parts, source: self.source, local: self.local };
        let (mut tried, mut failed) = (Vec::new(), StatusCode::SERVICE_UNAVAILABLE);
        for _ in 0..MOST {
            let Some(place) = self.services.choose(self.service, asked, &mut tried) else { break };
            let Some(backend) = self.services.backend(place) else { break };
            let in_use = self.services.enter(place);
            match self.sent(backend, parts, message).await {
                Ok((line, answer)) => {
                    let (server, status) = (backend.url.as_str(), answer.status().as_u16());
                    tracing::debug!(service = %self.tag(), source = %self.source, server, status, "a request was served");
                    return Ok((Given { backend: Arc::clone(backend), in_use }, line, answer));
                }
                Err(Failed::Unsent(error)) => {
                    tracing::debug!(server = backend.url.as_str(), %error, "a request did not reach its server");
                    if error.blame != Blame::Us {
                        backend.suspected.notify_one();
                    }
                    let late = error.source.kind() == io::ErrorKind::TimedOut;
                    failed = if late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                    tried.push(place);
                }
                Err(Failed::Answer(status)) => return Err(status),
            }
        }
        Err(failed)
    }

    /// Sends the request to one server. What failed on a connection that had waited is sent once more on a new one, if it
    /// did not leave or may leave twice: the server closed it at the same moment.
    async fn sent(
        &self,
        backend: &Backend,
        parts: &Parts,
        message: &mut Message,
    ) -> Result<(Line, Response<Incoming>), Failed> {
        let mut line = backend.line(&*self.house, self.idle).await?;
        loop {
            let request = message.request(backend, parts)?;
            let mut error = match line.sender.try_send_request(request).await {
                Ok(answer) => return Ok((line, answer)),
                Err(error) => error,
            };
            let unsent = error.take_message().map(Request::into_body);
            let left = unsent.is_none();
            if !message.again {
                message.body = unsent;
            }
            let error = error.into_error();
            if line.fresh && !left {
                return Err(DialError::server(Stage::Handshake, io::Error::other(error)).into());
            }
            tracing::debug!(server = backend.url.as_str(), %error, "a server gave no answer");
            if line.fresh || (left && !message.again) {
                let late = timed_out(&error);
                return Err(Failed::Answer(if late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY }));
            }
            line = backend.fresh(&*self.house, self.idle).await?;
        }
    }

    fn pass_on(
        &self,
        given: Given,
        line: Line,
        mut answer: Response<Incoming>,
        client: Option<OnUpgrade>,
        running: TaskTrackerToken,
    ) -> Result<Reply, StatusCode> {
        let switching = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
        let server = switching.then(|| hyper::upgrade::on(&mut answer));
        let (mut head, body) = answer.into_parts();
        headers::for_client(&mut head.headers, switching);
        head.version = Version::HTTP_11;
        head.extensions.clear();
        match (server, client) {
            (None, _) => {
                given.backend.keep(line.sender);
                let counted = (running, given.in_use);
                Ok(Response::from_parts(head, Counted { body, _counted: counted }.boxed()))
            }
            (Some(server), Some(client)) => {
                let end = self.end.clone();
                tokio::spawn(async move {
                    let _ = end.run_until_cancelled(tunnel::run(client, server)).await;
                    drop((running, given));
                });
                Ok(Response::from_parts(head, nothing()))
            }
            // A change that nobody asked for.
            (Some(_), None) => Err(StatusCode::BAD_GATEWAY),
        }
    }
}

/// The server that a request was given to.
struct Given {
    backend: Arc<Backend>,
    in_use: InUse,
}

/// A request on its way, as far as it has not left.
struct Message {
    method: Method,
    headers: hyper::HeaderMap,
    /// Absent where there is none.
    body: Option<Sent>,
    /// Whether it may leave twice.
    again: bool,
}

impl Message {
    fn request(&mut self, backend: &Backend, parts: &Parts) -> Result<Request<Sent>, Failed> {
        let mut request = Request::new(self.body.take().unwrap_or_else(nothing));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri(&backend.url.base, &parts.uri).ok_or(Failed::Answer(StatusCode::BAD_REQUEST))?;
        *request.headers_mut() = self.headers.clone();
        if self.headers.get(HOST).is_none_or(|host| host.is_empty()) {
            request.headers_mut().insert(HOST, backend.host());
        }
        Ok(request)
    }
}

/// How a request fails at one server.
enum Failed {
    /// Nothing left: another may have it.
    Unsent(DialError),
    /// It left, and this is all the client can be told.
    Answer(StatusCode),
}

impl From<DialError> for Failed {
    fn from(error: DialError) -> Self {
        Self::Unsent(error)
    }
}

/// Path and query below a server's address.
fn uri(base: &str, asked: &Uri) -> Option<Uri> {
    let whole = asked.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    let whole = if base.is_empty() { whole } else { PathAndQuery::try_from(format!("{base}{whole}")).ok()? };
    Uri::builder().path_and_query(whole).build().ok()
}

fn nothing() -> Sent {
    Empty::new().map_err(|never| match never {}).boxed()
}

/// Whether silence is behind an error.
fn timed_out(error: &hyper::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The body of an answer, which runs until it has gone.
struct Counted {
    body: Incoming,
    _counted: (TaskTrackerToken, InUse),
}

impl Body for Counted {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
