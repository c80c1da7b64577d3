//! Answers of our own, for requests that no server answers.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

/// What a client is answered with.
pub(super) type Reply = Response<BoxBody<Bytes, hyper::Error>>;

/// A short text that says no more than the status does: who asks need not know what stands behind us.
pub(super) fn of(status: StatusCode) -> Reply {
    let text = format!("{} {}\n", status.as_str(), status.canonical_reason().unwrap_or_default());
    let mut reply = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed());
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from(SOON.as_secs()));
    }
    reply
}

/// When to ask again: servers are looked at every few seconds.
const SOON: Duration = Duration::from_secs(5);
