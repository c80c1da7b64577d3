//! Questions by HTTP/2 (RFC 8484), in requests that look like a browser's, as Xray's do.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Request, Response, StatusCode};
use rand::RngExt as _;
use rand::distr::Alphanumeric;

use super::dial::Place;
use super::fault::Fault;
use super::kept::Link;
use super::question::{From, Question};
use crate::addr::{Host, Target};
use crate::dns::message::{Padding, Reply, reply};
use crate::transport::fetch_headers;
use crate::transport::h2::{Care, Downlink, Exchange, Line, Windows};

/// A server that is asked by HTTP/2.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) place: Place,
    head: Arc<Head>,
}

/// What all requests have.
#[derive(Debug)]
struct Head {
    uri: Uri,
    headers: HeaderMap,
}

/// A connection to it.
#[derive(Debug, Clone)]
pub(super) struct Session {
    line: Line,
    head: Arc<Head>,
}

const MESSAGE: HeaderValue = HeaderValue::from_static("application/dns-message");
const X_PADDING: HeaderName = HeaderName::from_static("x-padding");

/// The longest DNS message.
const LONGEST: usize = 65_535;

/// What of an answer may be under way: more than a message has.
const WINDOW: u32 = 128 * 1024;

/// Chrome asks a silent server so often whether it is still there; Xray does as well.
const CARE: Care = Care { silence: Some(Duration::from_secs(45)), patience: Duration::from_secs(15), always: true };

/// Time for HTTP/2 to begin; whoever asks has less.
const LIMIT: Duration = Duration::from_secs(16);

impl Site {
    /// At a place, with this path.
    pub(super) fn new(place: Place, path: &str) -> Result<Self, http::Error> {
        let authority: Authority = authority(&place.target).parse()?;
        let path: PathAndQuery = path.parse()?;
        // Xray says so without TLS too: whoever is meant to stand behind puts it around.
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(authority).path_and_query(path).build()?;
        let mut headers = fetch_headers();
        headers.insert(ACCEPT, MESSAGE);
        headers.insert(CONTENT_TYPE, MESSAGE);
        Ok(Self { place, head: Arc::new(Head { uri, headers }) })
    }

    /// Opens a connection.
    pub(super) async fn open(&self, from: From<'_>) -> Result<Session, Fault> {
        let (io, agreed) = self.place.open(from).await?;
        if self.place.tls.is_some() && agreed.as_deref() != Some(b"h2") {
            let other = agreed.map_or_else(|| "nothing".into(), |name| String::from_utf8_lossy(&name).into_owned());
            return Err(Fault::NotHttp2(other));
        }
        let line = Line::open(io, Windows::fixed(WINDOW), CARE, LIMIT).await?;
        Ok(Session { line, head: Arc::clone(&self.head) })
    }
}

impl Session {
    fn request(&self, len: usize) -> Request<()> {
        let mut rng = rand::rng();
        let padding: Vec<u8> = (0..rng.random_range(100..=1000)).map(|_| rng.sample(Alphanumeric)).collect();
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.head.uri.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.head.headers);
        headers.insert(CONTENT_LENGTH, len.into());
        headers.extend(HeaderValue::from_bytes(&padding).ok().map(|padding| (X_PADDING, padding)));
        request
    }
}

impl Link for Session {
    fn is_open(&self) -> bool {
        self.line.is_open()
    }

    async fn ask(&self, question: Question<'_>) -> Result<Reply, Fault> {
        // Random lengths hide better that these are questions than blocks of RFC 8467 do (Xray).
        let padding = Padding::Bytes(rand::rng().random_range(100..300));
        // The same question is the same bytes, for whoever keeps answers on the way (RFC 8484 4.1).
        let bytes = question.written(0, padding)?;
        let exchange = self.line.request(&self.request(bytes.len()))?;
        let Exchange { answer, mut up, windows, ticket: _ticket } = exchange.ok_or(Fault::Full)?;
        up.push(bytes.into())?;
        up.end(None)?;
        let answer = answer.await.map_err(io::Error::other)?;
        check(&answer)?;
        let mut down = Downlink::new(answer.into_body(), windows);
        let mut message = Vec::new();
        while let Some(chunk) = poll_fn(|cx| down.poll_chunk(cx).map_ok(|chunk| chunk.cloned())).await? {
            if message.len() + chunk.len() > LONGEST {
                return Err(Fault::TooLong);
            }
            message.extend_from_slice(&chunk);
            down.take(chunk.len());
        }
        reply(&message, 0, question.name, question.family).map_err(Fault::NoAnswer)
    }
}

/// Whether an answer is one.
fn check<B>(answer: &Response<B>) -> Result<(), Fault> {
    if answer.status() != StatusCode::OK {
        return Err(Fault::Status(answer.status().as_u16()));
    }
    let written = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = written.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/dns-message") {
        let told: String = kind.chars().take(64).collect();
        return Err(Fault::Type(if told.is_empty() { "no content type".to_owned() } else { told }));
    }
    Ok(())
}

/// The host as a URL has it, with the port where it is not the usual one.
fn authority(target: &Target) -> String {
    match (&target.host, target.port) {
        (Host::Domain(name), 443) => name.as_str().to_owned(),
        (Host::Ip(ip), 443) if ip.is_ipv4() => ip.to_string(),
        (Host::Ip(ip), 443) => format!("[{ip}]"),
        _ => target.to_string(),
    }
}
