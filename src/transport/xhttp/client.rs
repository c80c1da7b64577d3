//! The client's side.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;

use super::body::Outgoing;
use super::halves::{CHUNK, WAITING};
use super::plan::Plan;
use super::pool::Pool;
use super::post::Sender;
use super::version::Version;
use crate::addr::Host;
use crate::flow::{Blame, DialError, Stage};
use crate::model::carrier::{Xhttp, XhttpMode};
use crate::model::stream::{Security, Stream};
use crate::transport::browser::Purpose;
use crate::transport::error::TransportError;
use crate::transport::lines::Lines;
use crate::transport::quic;
use crate::transport::request;

/// How long a connection of HTTP/3 may be silent, and after how long a packet keeps it alive (Xray's).
const IDLE: Duration = Duration::from_secs(300);
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Most chunks that may wait, whatever is said of packets.
const MOST_WAITING: usize = 64;

/// Opens streams, all in the same manner.
#[derive(Debug)]
pub struct Client {
    pub(super) plan: Plan,
    pub(super) mode: XhttpMode,
    version: Version,
    /// Connections that streams share, of anything newer than HTTP/1.1.
    pub(super) pool: Option<Pool>,
    asked: request::Request,
    secure: bool,
    fields: HeaderMap,
    /// Streams show themselves as gRPC.
    grpc: bool,
    pub(super) packet: (usize, usize),
    pub(super) interval: (usize, usize),
}

impl Client {
    /// What an outbound's settings say. `quic` opens the connections, where they are those of HTTP/3.
    ///
    /// # Errors
    /// [`TransportError`] names the setting.
    pub fn new(stream: &Stream, set: &Xhttp, quic: Option<quic::Client>) -> Result<Self, TransportError> {
        let version = Version::of(stream);
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
            version,
            pool: (version != Version::One).then(|| Pool::new(&set.xmux, quic)),
            asked,
            secure: !matches!(stream.security, Security::None),
            fields,
            grpc: !set.no_grpc_header,
            packet: (count(set.sc_max_each_post_bytes.from).max(1), count(set.sc_max_each_post_bytes.to)),
            interval: (count(set.sc_min_posts_interval_ms.from), count(set.sc_min_posts_interval_ms.to)),
        })
    }

    /// Chunks of a stream that may wait: as many as fill a packet, which gathers them while the one before has its time.
    pub(super) fn waiting(&self) -> usize {
        let packet = if self.mode == XhttpMode::PacketUp { self.packet.1.max(self.packet.0) } else { 0 };
        packet.div_ceil(CHUNK).clamp(WAITING, MOST_WAITING)
    }

    /// A connection that nobody shares.
    pub(super) async fn own(&self, lines: &dyn Lines, blame: Blame) -> Result<Sender, DialError> {
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
    pub(super) fn streaming(&self, to: &Host, session: Option<&str>, from: mpsc::Receiver<Bytes>) -> Request<Outgoing> {
        let method = self.plan.method.clone();
        let mut request = self.request(method, to, session, None, Outgoing::feed(from));
        if self.grpc {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        }
        if self.version == Version::One {
            // A server in Go reads a request to its end before it answers, unless the connection ends with the answer.
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        request
    }

    pub(super) fn request(
        &self,
        method: Method,
        to: &Host,
        session: Option<&str>,
        number: Option<&str>,
        body: Outgoing,
    ) -> Request<Outgoing> {
        let scheme = if self.secure { "https" } else { "http" };
        let host = self.asked.host(to);
        let mut headers = self.fields.clone();
        let target = self.plan.write(&format!("{scheme}://{host}"), session, number, &mut headers);
        let mut request = Request::new(body);
        *request.method_mut() = method;
        let text = request::escaped(&target);
        if self.version != Version::One {
            let version = if self.version == Version::Two { http::Version::HTTP_2 } else { http::Version::HTTP_3 };
            *request.version_mut() = version;
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

/// How the way up is cut. REALITY meets no proxy that would mind a stream; one request goes to one server.
fn mode(stream: &Stream, written: XhttpMode) -> XhttpMode {
    match written {
        XhttpMode::Auto if !matches!(stream.security, Security::Reality(_)) => XhttpMode::PacketUp,
        XhttpMode::Auto if stream.download.is_some() => XhttpMode::StreamUp,
        XhttpMode::Auto => XhttpMode::StreamOne,
        named => named,
    }
}

/// How QUIC behaves below a client, which keeps its connections alive as xmux says.
pub fn quic_params(stream: &Stream, set: &Xhttp) -> quic::Params {
    let keep_alive = match set.xmux.h_keep_alive_period {
        0 => Some(KEEP_ALIVE),
        seconds => u64::try_from(seconds).ok().map(Duration::from_secs),
    };
    // A server asks a client for nothing.
    let usual = quic::Params { idle: IDLE, keep_alive, streams: 0, ..quic::Params::default() };
    quic::Params::of(stream.mask.quic.as_ref(), usual)
}
