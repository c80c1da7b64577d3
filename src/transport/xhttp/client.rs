//! The client's side.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::body::Outgoing;
use super::draw::drawn;
use super::halves::{Joined, Source, WAITING};
use super::http2::Pool;
use super::plan::Plan;
use super::post::{Answered, Pace, Sender, Status, packets, upload};
use super::spot::Target;
use crate::addr::{Host, Target as Address};
use crate::flow::{Blame, BoxStream, DialError, Stage};
use crate::model::carrier::{Xhttp, XhttpMode};
use crate::model::stream::{Security, Stream};
use crate::transport::browser::Purpose;
use crate::transport::error::TransportError;
use crate::transport::lines::Lines;
use crate::transport::request;

/// Opens streams, all in the same manner.
#[derive(Debug)]
pub struct Client {
    plan: Plan,
    mode: XhttpMode,
    /// HTTP/2, over connections that streams share; else HTTP/1.1.
    pool: Option<Pool>,
    asked: request::Request,
    secure: bool,
    fields: HeaderMap,
    /// Streams show themselves as gRPC.
    grpc: bool,
    packet: (usize, usize),
    interval: (usize, usize),
}

impl Client {
    /// What an outbound's settings say.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &Stream, set: &Xhttp) -> Result<Self, TransportError> {
        let asked = request::Request::new(stream, &set.path, &set.host, &set.headers, Purpose::Fetch);
        let mut fields = HeaderMap::new();
        let unfit = |_| TransportError::Text { what: "headers of xhttpSettings" };
        for (name, value) in asked.fields() {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| TransportError::Text { what: "headers" })?;
            fields.insert(name, HeaderValue::from_str(value).map_err(unfit)?);
        }
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        Ok(Self {
            plan: Plan::new(set)?,
            mode: mode(stream, set.mode),
            pool: is_http2(stream).then(|| Pool::new(&set.xmux)),
            asked,
            secure: !matches!(stream.security, Security::None),
            fields,
            grpc: !set.no_grpc_header,
            packet: (count(set.sc_max_each_post_bytes.from).max(1), count(set.sc_max_each_post_bytes.to)),
            interval: (count(set.sc_min_posts_interval_ms.from), count(set.sc_min_posts_interval_ms.to)),
        })
    }

    /// A stream to a server. Its requests are sent; that the server refuses them shows when it is read.
    ///
    /// # Errors
    /// [`DialError`] of the connections, or at the stage of the carrier.
    pub async fn open(self: &Arc<Self>, lines: &dyn Lines, to: &Address, blame: Blame) -> Result<BoxStream, DialError> {
        let failed = |error: hyper::Error| DialError::new(Stage::Carry, blame, io::Error::other(error));
        let (into, from) = mpsc::channel(WAITING);
        let end = CancellationToken::new();
        let (mut first, second) = self.senders(lines, to, blame).await?;
        if self.mode == XhttpMode::StreamOne {
            let request = self.streaming(&to.host, None, from);
            let answer = first.send(request).await.map_err(failed)?;
            return Ok(Box::new(Joined::new(Down::new(answer, first, &end), into, end.drop_guard())));
        }
        let session = uuid::Uuid::new_v4().to_string();
        let answer = first.send(self.request(Method::GET, &to.host, Some(&session), None, Outgoing::empty()));
        let answer = answer.await.map_err(failed)?;
        let Some(mut second) = second.or_else(|| first.again()) else {
            return Err(DialError::us(Stage::Carry, io::ErrorKind::Unsupported));
        };
        if self.mode == XhttpMode::StreamUp {
            let request = self.streaming(&to.host, Some(&session), from);
            let up = second.send(request).await.map_err(failed)?;
            tokio::spawn(upload(up, end.clone()));
        } else {
            let (client, host) = (Arc::clone(self), to.host.clone());
            let packet = move |number: u64, bytes| {
                let number = number.to_string();
                let method = client.plan.method.clone();
                client.request(method, &host, Some(&session), Some(&number), Outgoing::Whole(bytes))
            };
            let pace = Pace {
                most: drawn(self.packet.0, self.packet.1),
                interval: Duration::from_millis(drawn(self.interval.0, self.interval.1) as u64),
            };
            tokio::spawn(packets(from, second, pace, packet, end.clone()));
        }
        Ok(Box::new(Joined::new(Down::new(answer, first, &end), into, end.drop_guard())))
    }

    /// What sends the first request, and in HTTP/1.1 what sends others meanwhile.
    async fn senders(
        &self,
        lines: &dyn Lines,
        to: &Address,
        blame: Blame,
    ) -> Result<(Sender, Option<Sender>), DialError> {
        if let Some(pool) = &self.pool {
            return Ok((Sender::Http2(Arc::new(pool.place(lines, to, blame).await?)), None));
        }
        let first = self.own(lines, blame).await?;
        let second = if self.mode == XhttpMode::StreamOne { None } else { Some(self.own(lines, blame).await?) };
        Ok((first, second))
    }

    /// A connection that nobody shares.
    async fn own(&self, lines: &dyn Lines, blame: Blame) -> Result<Sender, DialError> {
        let io = lines.line().await?;
        let shaken = http1::Builder::new().title_case_headers(true).handshake(TokioIo::new(io)).await;
        let (sender, connection) =
            shaken.map_err(|error| DialError::new(Stage::Carry, blame, io::Error::other(error)))?;
        tokio::spawn(async move {
            // Its stream tells what went wrong with it.
            let _ = connection.await;
        });
        Ok(Sender::Http1(sender))
    }

    /// The request whose body is all that goes up.
    fn streaming(&self, to: &Host, session: Option<&str>, from: mpsc::Receiver<Bytes>) -> Request<Outgoing> {
        let method = self.plan.method.clone();
        let mut request = self.request(method, to, session, None, Outgoing::feed(from));
        if self.grpc {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        }
        if self.pool.is_none() {
            // A server in Go reads a request to its end before it answers, unless the connection ends with the answer.
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        request
    }

    fn request(
        &self,
        method: Method,
        to: &Host,
        session: Option<&str>,
        number: Option<&str>,
        body: Outgoing,
    ) -> Request<Outgoing> {
        let plan = &self.plan;
        let scheme = if self.secure { "https" } else { "http" };
        let host = self.asked.host(to);
        let mut target = Target { path: plan.path.clone(), query: plan.query.clone() };
        let mut headers = self.fields.clone();
        plan.padding.pad(&format!("{scheme}://{host}{}", target.path), &mut target, &mut headers);
        if let Some(session) = session {
            plan.session.put(session, &mut target, &mut headers);
        }
        if let Some(number) = number {
            plan.number.put(number, &mut target, &mut headers);
        }
        let mut request = Request::new(body);
        *request.method_mut() = method;
        let text = request::escaped(&target.text());
        if self.pool.is_some() {
            *request.version_mut() = Version::HTTP_2;
            *request.uri_mut() = format!("{scheme}://{host}{text}").parse().unwrap_or_default();
        } else {
            *request.uri_mut() = text.parse::<Uri>().unwrap_or_default();
            if let Ok(host) = HeaderValue::from_str(&host) {
                headers.insert(HOST, host);
            }
        }
        *request.headers_mut() = headers;
        request
    }
}

/// How the way up is cut. REALITY meets no proxy that would mind a stream.
fn mode(stream: &Stream, written: XhttpMode) -> XhttpMode {
    match written {
        XhttpMode::Auto if matches!(stream.security, Security::Reality(_)) => XhttpMode::StreamOne,
        XhttpMode::Auto => XhttpMode::PacketUp,
        named => named,
    }
}

/// Whether requests go by HTTP/2: always behind REALITY, never without security, and with TLS unless its ALPN is exactly
/// `http/1.1`.
pub fn is_http2(stream: &Stream) -> bool {
    match &stream.security {
        Security::None => false,
        Security::Tls(tls) | Security::Xtls(tls) => tls.alpn.0 != ["http/1.1"],
        Security::Reality(_) => true,
    }
}

/// What comes down: the body of an answer.
struct Down {
    state: State,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Keeps the stream's place on its connection.
    _sender: Sender,
}

enum State {
    Waiting(Answered),
    Body(Incoming),
}

impl Down {
    fn new(answer: Answered, sender: Sender, end: &CancellationToken) -> Self {
        let end = Box::pin(end.clone().cancelled_owned());
        Self { state: State::Waiting(answer), end, _sender: sender }
    }
}

impl Source for Down {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            // What went up did not arrive.
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if let State::Waiting(answer) = &mut self.state {
            let response = ready!(answer.as_mut().poll(cx)).map_err(io::Error::other)?;
            if response.status() != 200 {
                return Poll::Ready(Err(io::Error::other(Status(response.status().as_u16()))));
            }
            self.state = State::Body(response.into_body());
        }
        match &mut self.state {
            State::Body(body) => body.poll_chunk(cx),
            State::Waiting(_) => Poll::Pending,
        }
    }
}
