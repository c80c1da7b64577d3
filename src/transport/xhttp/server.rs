//! The server's side, over all versions of HTTP alike.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERER};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::body::{Outgoing, Received};
use super::draw::drawn;
use super::halves::{Joined, WAITING};
use super::plan::{Asked, Plan};
use super::queue::{Packet, Refused};
use super::sessions::{Session, Sessions, Upward};
use crate::flow::{BoxStream, Stage};
use crate::model::carrier::{Xhttp, XhttpMode};
use crate::model::stream::Stream;
use crate::net::boxed;
use crate::transport::arrival::{Arrival, Arrivals, Hello};
use crate::transport::door::LIMIT;
use crate::transport::error::{AcceptError, TransportError};
use crate::transport::forwarded::Trust;
use crate::transport::http3;
use crate::transport::request::Place;

/// Takes streams, all in the same manner.
#[derive(Debug)]
pub struct Server {
    plan: Plan,
    place: Place,
    trust: Trust,
    mode: XhttpMode,
    sessions: Arc<Sessions>,
    /// Most bytes of a packet, and of a request's head.
    packet: usize,
    head: usize,
    /// Seconds between bytes that keep the way up open, if any are sent.
    filler: Option<(usize, usize)>,
    plain: bool,
}

/// What one connection's requests have in common.
struct Visit {
    server: Arc<Server>,
    hello: Option<Box<Hello>>,
    source: Option<SocketAddr>,
    arrivals: mpsc::Sender<Arrival>,
}

/// Arrivals that may wait to be picked up.
const ARRIVING: usize = 16;
/// What of a stream, and of all streams of a connection, may be under way.
const STREAM_WINDOW: u32 = 1024 * 1024;
const WINDOW: u32 = 4 * 1024 * 1024;
/// How long a kept connection waits for its next request. Xray's clients keep those of packets for some minutes, and lose
/// what they send over one that was closed meanwhile.
const IDLE: Duration = Duration::from_secs(300);

type Answer = Result<Response<Outgoing>, StatusCode>;

impl Server {
    /// What an inbound's settings say.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &Stream, set: &Xhttp) -> Result<Self, TransportError> {
        let count = |number: i64, usual| usize::try_from(number).unwrap_or(usual);
        let seconds = set.sc_stream_up_server_secs;
        let filler = (seconds.to > 0).then(|| (count(seconds.from.into(), 1).max(1), count(seconds.to.into(), 1)));
        Ok(Self {
            plan: Plan::new(set)?,
            place: Place::new(&set.path, &set.host),
            trust: Trust::of(&stream.sockopt),
            mode: set.mode,
            sessions: Sessions::new(count(set.sc_max_buffered_posts, 30).max(1)),
            packet: count(set.sc_max_each_post_bytes.to.into(), 1_000_000),
            head: count(set.server_max_header_bytes.into(), 8192).max(8192),
            filler,
            plain: set.no_sse_header,
        })
    }

    /// The streams of a connection.
    ///
    /// # Errors
    /// It ended or said nothing within `limit`.
    pub async fn accept(self: &Arc<Self>, secured: Arrival, limit: Duration) -> Result<Arrivals, AcceptError> {
        let Arrival { mut io, hello, source } = secured;
        let mut held = BytesMut::with_capacity(1024);
        let first = timeout(limit.min(LIMIT), io.read_buf(&mut held)).await;
        let first = first.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let first = first.and_then(|len| if len == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) });
        first.map_err(|source| AcceptError { stage: Stage::Carry, source })?;
        let (arrivals, receiver) = mpsc::channel(ARRIVING);
        let closing = arrivals.clone();
        let visit = Arc::new(Visit { server: Arc::clone(self), hello, source, arrivals });
        // The beginning of HTTP/2, over which a first request has time, as with Go's server.
        let patience = if held.starts_with(b"PRI") { None } else { Some(LIMIT) };
        tokio::spawn(serve(visit, boxed(io, held), closing, patience));
        Ok(Arrivals::Many(receiver))
    }

    /// The streams of a connection that speaks HTTP/3.
    pub fn accept_quic(self: &Arc<Self>, connection: quinn::Connection, hello: Hello) -> Arrivals {
        let (arrivals, receiver) = mpsc::channel(ARRIVING);
        let closing = arrivals.clone();
        let visit = Arc::new(Visit { server: Arc::clone(self), hello: Some(Box::new(hello)), source: None, arrivals });
        tokio::spawn(async move {
            let answer = move |request: Request<http3::Upload>| {
                let visit = Arc::clone(&visit);
                async move { visit.answer(request.map(|body| Received::Upload(Box::new(body)))).await }
            };
            http3::serve(http3::Link::new(connection), closing.closed(), answer).await;
        });
        Arrivals::Many(receiver)
    }

    fn allows(&self, mode: XhttpMode) -> bool {
        match self.mode {
            XhttpMode::Auto => true,
            XhttpMode::StreamUp => matches!(mode, XhttpMode::StreamUp | XhttpMode::StreamOne),
            only => only == mode,
        }
    }

    fn is_here(&self, head: &Parts) -> bool {
        let host = head.uri.authority().map(|authority| authority.as_str().as_bytes());
        let host = host.or_else(|| head.headers.get(HOST).map(HeaderValue::as_bytes));
        self.place.is_host(host) && head.uri.path().starts_with(&self.plan.path)
    }

    /// What every answer has.
    fn headers(&self, head: &Parts) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let origin = head.headers.get(ORIGIN).cloned().unwrap_or(HeaderValue::from_static("*"));
        headers.insert("access-control-allow-origin", origin);
        if head.method == Method::OPTIONS {
            for (asked, granted) in [
                ("access-control-request-method", "access-control-allow-methods"),
                ("access-control-request-headers", "access-control-allow-headers"),
            ] {
                let asked = head.headers.get(asked).cloned();
                let granted = HeaderName::from_static(granted);
                headers.insert(granted, asked.unwrap_or(HeaderValue::from_static("*")));
            }
        }
        self.plan.padding.pad_answer(&mut headers);
        headers
    }

    /// An answer that lasts; proxies are asked not to keep it back.
    fn lasting(&self, body: Outgoing, event: bool) -> Response<Outgoing> {
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if event && !self.plain {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        }
        response
    }
}

/// Serves requests; the first has to come within `patience`, if that has an end.
async fn serve(visit: Arc<Visit>, io: BoxStream, closing: mpsc::Sender<Arrival>, patience: Option<Duration>) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(visit.server.head.max(64 * 1024));
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(u32::try_from(visit.server.head).unwrap_or(u32::MAX));
    let asked = CancellationToken::new();
    let late = async {
        match patience {
            Some(patience) if timeout(patience, asked.cancelled()).await.is_err() => {}
            _ => std::future::pending().await,
        }
    };
    let service = service_fn(|request| {
        asked.cancel();
        let visit = Arc::clone(&visit);
        async move { Ok::<_, Infallible>(visit.answer(request.map(Received::Hyper)).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    tokio::select! {
        // Whatever goes wrong with it is the visitor's.
        _ = connection.as_mut() => return,
        () = late => return,
        () = closing.closed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Visit {
    async fn answer(&self, request: Request<Received>) -> Response<Outgoing> {
        let (head, body) = request.into_parts();
        let server = &self.server;
        let refused = |status| {
            let mut response = Response::new(Outgoing::empty());
            *response.status_mut() = status;
            response
        };
        if !server.is_here(&head) {
            return refused(StatusCode::NOT_FOUND);
        }
        let headers = server.headers(&head);
        let mut response = self.judge(&head, body).await.unwrap_or_else(refused);
        response.headers_mut().extend(headers);
        response
    }

    async fn judge(&self, head: &Parts, body: Received) -> Answer {
        let server = &self.server;
        if head.method == Method::OPTIONS {
            return Ok(Response::new(Outgoing::empty()));
        }
        let Asked { session, number } = server.plan.read(head).ok_or(StatusCode::BAD_REQUEST)?;
        let Some(name) = session else {
            server.allows(XhttpMode::StreamOne).then_some(()).ok_or(StatusCode::BAD_REQUEST)?;
            return self.stream_one(head, body).await;
        };
        let goes_up = head.method != Method::GET || number.is_some();
        let wanted = if number.is_some() { XhttpMode::PacketUp } else { XhttpMode::StreamUp };
        if goes_up && !server.allows(wanted) {
            return Err(StatusCode::BAD_REQUEST);
        }
        let session = server.sessions.open(name).ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        match number {
            Some(number) => self.packet(&session, number, body).await,
            None if goes_up => self.stream_up(&session, head, body),
            None => self.down(session, head).await,
        }
    }

    async fn packet(&self, session: &Session, number: &str, body: Received) -> Answer {
        let number = number.parse().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        let hint = body.size_hint();
        if hint.lower() > self.server.packet as u64 {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        // Of those whose length is not told any may be the longest.
        let most = hint.exact().and_then(|exact| usize::try_from(exact).ok()).unwrap_or(self.server.packet);
        let room = self.server.sessions.room(most).await.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        let whole = Limited::new(body, self.server.packet).collect().await;
        let packet = whole.map_err(|error| match error.downcast::<http_body_util::LengthLimitError>() {
            Ok(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
        })?;
        let pushed = session.queue.push(number, Packet::new(packet.to_bytes(), room)).await;
        pushed.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        Ok(Response::new(Outgoing::empty()))
    }

    fn stream_up(&self, session: &Session, head: &Parts, body: Received) -> Answer {
        session.queue.stream(body).map_err(|refused| match refused {
            Refused::Taken => StatusCode::CONFLICT,
            Refused::Closed | Refused::Overflow => StatusCode::INTERNAL_SERVER_ERROR,
        })?;
        let (sender, receiver) = mpsc::channel(1);
        let filler = self.server.filler.filter(|_| head.headers.contains_key(REFERER));
        let (server, end) = (Arc::clone(&self.server), session.end.clone());
        tokio::spawn(async move {
            let filling = async {
                let Some((from, to)) = filler else { return sender.closed().await };
                while sender.send(server.plan.padding.filler().into()).await.is_ok() {
                    sleep(Duration::from_secs(drawn(from, to) as u64)).await;
                }
            };
            tokio::select! {
                () = filling => {}
                () = end.cancelled() => {}
            }
        });
        Ok(self.server.lasting(Outgoing::feed(receiver), false))
    }

    async fn down(&self, session: Arc<Session>, head: &Parts) -> Answer {
        if !session.begin() {
            return Err(StatusCode::CONFLICT);
        }
        let (sender, receiver) = mpsc::channel(WAITING);
        let (mine, theirs) = (session.end.clone().drop_guard(), session.end.clone().drop_guard());
        let io = Joined::new(Upward::of(session), sender, mine);
        self.arrive(Box::new(io), head).await?;
        Ok(self.server.lasting(Outgoing::Feed { receiver, _guard: Some(theirs) }, true))
    }

    async fn stream_one(&self, head: &Parts, body: Received) -> Answer {
        let (sender, receiver): (mpsc::Sender<Bytes>, _) = mpsc::channel(WAITING);
        let io = Joined::new(body, sender, CancellationToken::new().drop_guard());
        self.arrive(Box::new(io), head).await?;
        Ok(self.server.lasting(Outgoing::feed(receiver), true))
    }

    async fn arrive(&self, io: BoxStream, head: &Parts) -> Result<(), StatusCode> {
        let source = self.server.trust.source(|name| head.headers.get(name).map(HeaderValue::as_bytes));
        let arrival = Arrival { io, hello: self.hello.clone(), source: source.or(self.source) };
        self.arrivals.send(arrival).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
    }
}
