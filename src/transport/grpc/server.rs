//! The server's side.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio::sync::mpsc;

use super::call::Call;
use crate::flow::Stage;
use crate::model::carrier::Grpc;
use crate::model::sockopt::SockOpt;
use crate::proto::gun::{self, Paths, Refusal};
use crate::transport::arrival::{Arrival, Arrivals};
use crate::transport::error::AcceptError;
use crate::transport::forwarded::Trust;
use crate::transport::h2::{Care, Request, Visit};

/// Takes the calls of visitors.
#[derive(Debug, Clone)]
pub struct Server {
    paths: Arc<Paths>,
    trust: Arc<Trust>,
    care: Care,
}

/// Go's silence and patience of servers.
const SILENCE: Duration = Duration::from_secs(2 * 60 * 60);
const PATIENCE: Duration = Duration::from_secs(20);

/// Calls that may wait to be picked up.
const WAITING: usize = 16;

impl Server {
    /// What the settings say.
    #[must_use]
    pub fn new(set: &Grpc, sockopt: &SockOpt) -> Self {
        let or = |written: i32, usual: Duration| match u64::try_from(written) {
            Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
            _ => usual,
        };
        Self {
            paths: Arc::new(Paths::of(&set.service_name)),
            trust: Arc::new(Trust::of(sockopt)),
            care: Care {
                silence: Some(or(set.idle_timeout, SILENCE)),
                patience: or(set.health_check_timeout, PATIENCE),
                always: true,
            },
        }
    }

    /// The calls of a connection.
    ///
    /// # Errors
    /// It is no HTTP/2, or did not begin within `limit`.
    pub async fn accept(&self, secured: Arrival, limit: Duration) -> Result<Arrivals, AcceptError> {
        let Arrival { io, hello, source: from } = secured;
        let visit = Visit::begin(io, self.care, limit).await;
        let mut visit = visit.map_err(|source| AcceptError { stage: Stage::Carry, source })?;
        let (sender, arrivals) = mpsc::channel(WAITING);
        let Self { paths, trust, .. } = self.clone();
        tokio::spawn(async move {
            let (mut closing, mut welcome) = (false, false);
            loop {
                let request = tokio::select! {
                    next = visit.next() => next,
                    () = sender.closed(), if !closing => {
                        visit.close();
                        closing = true;
                        continue;
                    }
                };
                let Some(request) = request else { return };
                let Some(request) = taken(request, &paths) else { continue };
                if !std::mem::replace(&mut welcome, true) {
                    visit.welcome();
                }
                let source = source(&request.head.headers, &trust).or(from);
                let arrival = Arrival { io: Box::new(Call::taken(request)), hello: hello.clone(), source };
                // Nobody receives any more; the call ends with what comes back.
                let _ = sender.send(arrival).await;
            }
        });
        Ok(Arrivals::Many(arrivals))
    }
}

/// The request, if it is a call; all others are answered.
fn taken(mut request: Request, paths: &Paths) -> Option<Request> {
    let head = &request.head;
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Some(refusal) = gun::refusal(head.method.as_str(), content_type, head.uri.path(), paths) else {
        return Some(request);
    };
    let Refusal { http, grpc, message } = refusal;
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::from_u16(http).unwrap_or_default();
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", u16::from(grpc).into());
    if let Ok(message) = message.try_into() {
        headers.insert("grpc-message", message);
    }
    // The visitor may be gone already.
    let _ = request.respond.send_response(answer, true);
    None
}

/// Where a visitor comes from. Xray's gRPC, other than its other carriers, believes `X-Real-IP` first.
fn source(headers: &HeaderMap, trust: &Trust) -> Option<SocketAddr> {
    let field = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let real = field("x-real-ip").filter(|said| !said.is_empty());
    trust.source(|name| if name == "x-forwarded-for" { real.or_else(|| field(name)) } else { field(name) })
}
