//! Answers speed tests at this end of the tunnel, so that clients need no page of somebody else: what they measure is the
//! way from them to us, and nothing behind it.
//!
//! Only users that logged in are answered, and only as much as a test needs: a server on the open internet must not be a
//! source of traffic for everybody.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::io::AsyncWriteExt;

use super::allowance::Allowances;
use crate::addr::Network;
use crate::flow::{BoxStream, DialError, Flow, Stage};

/// The end of the way for tests.
#[derive(Debug)]
pub struct Responder {
    host: Box<str>,
    allowances: Arc<Allowances>,
}

/// What all answers carry, and no page of somebody else.
const MARK: HeaderName = HeaderName::from_static("x-etemenanki-responder");

/// Largest body (balancing rule 12.5).
const MOST: u64 = 4 << 20;

/// What an answer costs beside its body.
const OVERHEAD: u64 = 512;

/// Most bytes between the server's half and the flow's.
const PIPE: usize = 64 << 10;

impl Responder {
    /// Answers for this host, in lower case.
    #[must_use]
    pub fn new(host: &str) -> Self {
        Self { host: host.into(), allowances: Arc::default() }
    }

    /// Whether the flow is one of those that are answered.
    #[must_use]
    pub fn answers(&self, flow: &Flow) -> bool {
        let named = flow.destination().host.domain().is_some_and(|name| name.as_str() == &*self.host);
        named && flow.user.is_some() && flow.network == Network::Tcp
    }

    pub(super) async fn connect(&self, flow: &Flow, first: &[u8]) -> Result<BoxStream, DialError> {
        let (true, Some(user)) = (self.answers(flow), flow.user.clone()) else {
            return Err(DialError::us(Stage::Policy, io::ErrorKind::PermissionDenied));
        };
        let (mut client, server) = tokio::io::duplex(PIPE.max(first.len()));
        client.write_all(first).await.map_err(|error| DialError::us(Stage::Dial, error))?;
        let allowances = Arc::clone(&self.allowances);
        // Ends with the flow: its half of the pipe is gone then.
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let reply = reply(&request, &allowances, &user);
                async move { Ok::<_, std::convert::Infallible>(reply) }
            });
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(server), answer).await;
            if let Err(error) = served {
                tracing::debug!(%error, "a speed test ended early");
            }
        });
        Ok(Box::new(client))
    }
}

fn reply(request: &Request<Incoming>, allowances: &Allowances, user: &Arc<str>) -> Response<Noise> {
    let asked = match request.uri().path() {
        "/204" => Ok((StatusCode::NO_CONTENT, 0)),
        path => match path.strip_prefix("/bytes/").map(str::parse) {
            Some(Ok(bytes)) if bytes <= MOST => Ok((StatusCode::OK, bytes)),
            Some(_) => Err(StatusCode::BAD_REQUEST),
            None => Err(StatusCode::NOT_FOUND),
        },
    };
    let (status, bytes) = match asked {
        _ if !matches!(*request.method(), Method::GET | Method::HEAD) => (StatusCode::METHOD_NOT_ALLOWED, 0),
        Ok((_, bytes)) if !allowances.take(user, OVERHEAD + bytes) => (StatusCode::TOO_MANY_REQUESTS, 0),
        Ok(answer) => answer,
        Err(status) => (status, 0),
    };
    let mut response = Response::new(Noise::new(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(MARK, HeaderValue::from_static("1"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::OK {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// A body of chance, which nobody on the way can make smaller.
struct Noise {
    left: u64,
    rng: SmallRng,
}

impl Noise {
    fn new(bytes: u64) -> Self {
        Self { left: bytes, rng: SmallRng::from_rng(&mut rand::rng()) }
    }
}

/// Bytes of one piece of a body.
const PIECE: u64 = 16 << 10;

impl Body for Noise {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let len = self.left.min(PIECE);
        if len == 0 {
            return Poll::Ready(None);
        }
        self.left -= len;
        let mut piece = vec![0; usize::try_from(len).unwrap_or(0)];
        self.rng.fill_bytes(&mut piece);
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests;
