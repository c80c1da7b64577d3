//! The doors of services, and the connections that come in by them.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::check;
use super::exchange::Visit;
use super::idle::Idle;
use super::status::{HttpServices, Place, To};
use crate::flow::Services;
use crate::net::{Prefixed, SocketOptions, tcp};

/// Limits of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// How long a client may take to send the head of its request, and may keep a connection without one.
    pub handshake: Duration,
    /// How long nothing may move while a request runs; absent: for ever.
    pub idle: Option<Duration>,
    /// How long requests may go on that run when the services end.
    pub drain: Duration,
}

/// Open doors.
#[derive(Debug)]
pub struct Listening {
    services: Arc<HttpServices>,
    doors: Vec<(usize, TcpListener)>,
}

impl HttpServices {
    /// Opens the door of every service that has a port. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The tag of the service whose door cannot be opened, where that is and why; the others are closed again.
    pub fn listen(self: &Arc<Self>) -> Result<Listening, (String, SocketAddr, io::Error)> {
        let mut doors = Vec::new();
        for (service, it) in self.all.iter().enumerate() {
            let Some(at) = it.at else { continue };
            let door = tcp::listen(at, &SocketOptions::default());
            doors.push((service, door.map_err(|source| (it.tag.to_string(), at, source))?));
        }
        Ok(Listening { services: Arc::clone(self), doors })
    }
}

impl Listening {
    /// Whose doors these are.
    #[must_use]
    pub fn services(&self) -> Arc<HttpServices> {
        Arc::clone(&self.services)
    }

    /// Where each service listens, by tag; ports that were 0 are known now.
    pub fn local(&self) -> impl Iterator<Item = (String, SocketAddr)> + '_ {
        let tag = |service: &usize| self.services.all[*service].tag.to_string();
        self.doors.iter().filter_map(move |(service, door)| Some((tag(service), door.local_addr().ok()?)))
    }

    /// Serves until the token falls. Then no connection gets a further request, and those that run have their time to end.
    pub async fn run(self, house: Arc<dyn Services>, times: Times, token: CancellationToken) {
        let Self { services, doors } = self;
        let (running, connections, end) = (TaskTracker::new(), TaskTracker::new(), CancellationToken::new());
        let mut checks = JoinSet::new();
        for (service, it) in services.all.iter().enumerate() {
            for (server, _) in it.servers.iter().enumerate().filter(|(_, it)| matches!(it.to, To::Backend(_))) {
                checks.spawn(check::watch(Arc::clone(&services), Place { service, server }, Arc::clone(&house)));
            }
        }
        let mut open = JoinSet::new();
        for (service, door) in doors {
            let visit = Visit {
                services: Arc::clone(&services),
                service,
                house: Arc::clone(&house),
                source: NOBODY,
                client: NOBODY.ip().into(),
                local: NOBODY,
                idle: times.idle,
                running: running.clone(),
                end: end.clone(),
            };
            let (connections, token, end) = (connections.clone(), token.clone(), end.clone());
            open.spawn(async move {
                let mut take = |stream: TcpStream, source| {
                    let Ok(local) = stream.local_addr() else { return };
                    let visit = Visit { source, client: source.ip().into(), local: canonical(local), ..visit.clone() };
                    let (token, end) = (token.clone(), end.clone());
                    connections.spawn(async move {
                        let served = end.run_until_cancelled(connection(stream, visit, times, token)).await;
                        if let Some(Err(error)) = served {
                            tracing::debug!(%source, %error, "a visit ended");
                        }
                    });
                };
                tcp::accept_all(Lent(&door), &token, &mut take).await;
                // Whoever came before the door closes has seen it open.
                while let Some(Ok((stream, source))) = Lent(&door).waiting() {
                    take(stream, source);
                }
            });
        }
        token.cancelled().await;
        checks.shutdown().await;
        while open.join_next().await.is_some() {}
        running.close();
        let gone = timeout(times.drain, running.wait()).await;
        if gone.is_err() {
            tracing::info!("{} requests of services did not end in time", running.len());
        }
        // The last bytes of an answer leave after it has ended.
        connections.close();
        let _ = timeout(LAST, connections.wait()).await;
        end.cancel();
        connections.wait().await;
    }
}

/// A door that is still there when nobody waits at it any more.
struct Lent<'d>(&'d TcpListener);

impl tcp::Accept for Lent<'_> {
    type Connection = TcpStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.0.poll_accept(cx).map_ok(|(stream, from)| (stream, canonical(from)))
    }
}

impl Lent<'_> {
    /// Who has come already.
    fn waiting(&mut self) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        match tcp::Accept::poll_accept(self, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(came) => Some(came),
            Poll::Pending => None,
        }
    }
}

/// Until a client comes.
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// How long a connection may take to end when nothing runs on it any more.
const LAST: Duration = Duration::from_millis(200);

/// A head may be this long; servers take no more either.
const MOST_HEAD: usize = 64 * 1024;

/// How much longer a client's connection may be silent than one to a server: who waits for a server is told of its end.
const LONGER: Duration = Duration::from_secs(10);

/// Serves one connection. Which HTTP it speaks shows in its first bytes.
async fn connection(
    stream: TcpStream,
    visit: Visit,
    times: Times,
    token: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut io = Idle::new(stream, times.idle.map(|idle| idle + LONGER));
    let mut held = BytesMut::with_capacity(PREFACE.len());
    let told = token.run_until_cancelled(timeout(times.handshake, is_second(&mut io, &mut held))).await;
    let second = match told {
        Some(second) => second??,
        // Who was let in is served once, if it asks at once.
        None => timeout(LAST, is_second(&mut io, &mut held)).await??,
    };
    let io = TokioIo::new(Prefixed::reading(io, held.freeze()));
    let visit = Arc::new(visit);
    let serve = service_fn(move |request: Request<Incoming>| {
        let visit = Arc::clone(&visit);
        async move { Ok::<Response<_>, Infallible>(visit.serve(request).await) }
    });
    if second {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(times.handshake).max_header_list_size(MOST_HEAD as u32);
        let mut served = pin!(builder.serve_connection(io, serve));
        tokio::select! {
            // First, so that what was read already counts as begun.
            biased;
            ended = served.as_mut() => return Ok(ended?),
            () = token.cancelled() => served.as_mut().graceful_shutdown(),
        }
        served.await?;
    } else {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(times.handshake).max_header_size(MOST_HEAD);
        let mut served = pin!(builder.serve_connection(io, serve).with_upgrades());
        tokio::select! {
            // First, so that what was read already counts as begun.
            biased;
            ended = served.as_mut() => return Ok(ended?),
            () = token.cancelled() => served.as_mut().graceful_shutdown(),
        }
        served.await?;
    }
    Ok(())
}

/// How a client begins that speaks HTTP/2 without asking (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads until it is clear whether the client speaks HTTP/2.
async fn is_second(io: &mut Idle<TcpStream>, held: &mut BytesMut) -> io::Result<bool> {
    loop {
        let seen = held.len().min(PREFACE.len());
        if held[..seen] != PREFACE[..seen] {
            return Ok(false);
        }
        if seen == PREFACE.len() {
            return Ok(true);
        }
        if io.read_buf(held).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The address as IPv4 if it is one in IPv6 clothing.
fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}
