//! The HTTP/2 connections of a client, which streams share as `xmux` says.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rand::seq::IndexedRandom;
use tokio::time::{Instant, timeout};

use super::body::Outgoing;
use super::draw::drawn;
use crate::addr::Target;
use crate::flow::{Blame, BoxStream, DialError, Stage};
use crate::model::carrier::Xmux;
use crate::transport::lines::Lines;

/// The connections of one outbound, by server.
#[derive(Debug)]
pub(super) struct Pool {
    xmux: Xmux,
    /// Streams of a connection at once, and connections at once; 0 is without limit.
    concurrency: usize,
    connections: usize,
    servers: Mutex<HashMap<Target, Vec<Arc<Member>>>>,
}

/// One connection.
#[derive(Debug)]
struct Member {
    sender: SendRequest<Outgoing>,
    running: AtomicUsize,
    /// How many streams and requests it may still get.
    uses: AtomicI64,
    requests: AtomicI64,
    until: Option<Instant>,
}

/// A stream's place on a connection.
#[derive(Debug)]
pub(super) struct Ticket(Arc<Member>);

/// Time for a connection to become HTTP/2.
const LIMIT: Duration = Duration::from_secs(16);
/// Chrome's: what of a stream, and of all streams of a connection, may be under way.
const STREAM_WINDOW: u32 = 6 * 1024 * 1024;
const WINDOW: u32 = 15 * 1024 * 1024;
/// Seconds between pings where nothing is said (Chrome's, as Xray has it).
const PINGS: u64 = 45;

impl Pool {
    pub(super) fn new(xmux: &Xmux) -> Self {
        Self {
            concurrency: drawn_of(xmux.max_concurrency.from, xmux.max_concurrency.to),
            connections: drawn_of(xmux.max_connections.from, xmux.max_connections.to),
            xmux: xmux.clone(),
            servers: Mutex::default(),
        }
    }

    /// A place for a stream to this server, on a connection that is open or on another.
    ///
    /// # Errors
    /// [`DialError`] of the connection, or at the stage of the carrier.
    pub(super) async fn place(&self, lines: &dyn Lines, to: &Target, blame: Blame) -> Result<Ticket, DialError> {
        if let Some(member) = self.choose(to) {
            return Ok(Ticket::on(member));
        }
        let io = lines.line().await?;
        let member = self.open(io).await.map_err(|error| DialError::new(Stage::Carry, blame, error))?;
        let member = Arc::new(member);
        self.servers().entry(to.clone()).or_default().push(Arc::clone(&member));
        Ok(Ticket::on(member))
    }

    /// The connection for the next stream; none where another has to be opened.
    fn choose(&self, to: &Target) -> Option<Arc<Member>> {
        let mut servers = self.servers();
        let members = servers.get_mut(to)?;
        let now = Instant::now();
        members.retain(|member| member.is_good(now));
        if members.is_empty() || (self.connections > 0 && members.len() < self.connections) {
            return None;
        }
        let free: Vec<_> = members.iter().filter(|member| member.has_room(self.concurrency)).collect();
        free.choose(&mut rand::rng()).map(|member| Arc::clone(member))
    }

    async fn open(&self, io: BoxStream) -> io::Result<Member> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(WINDOW);
        let pings = match self.xmux.h_keep_alive_period {
            0 => Some(PINGS),
            seconds => u64::try_from(seconds).ok(),
        };
        builder.keep_alive_interval(pings.map(Duration::from_secs));
        let shaken = timeout(LIMIT, builder.handshake(TokioIo::new(io))).await;
        let (sender, connection) = shaken.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        tokio::spawn(async move {
            // Its streams tell what went wrong with it.
            let _ = connection.await;
        });
        let seconds = drawn_of(self.xmux.h_max_reusable_secs.from, self.xmux.h_max_reusable_secs.to);
        Ok(Member {
            sender,
            running: AtomicUsize::new(0),
            uses: limit(drawn_of(self.xmux.c_max_reuse_times.from, self.xmux.c_max_reuse_times.to)),
            requests: limit(drawn_of(self.xmux.h_max_request_times.from, self.xmux.h_max_request_times.to)),
            until: (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds as u64)),
        })
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Target, Vec<Arc<Member>>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    fn is_good(&self, now: Instant) -> bool {
        !self.sender.is_closed()
            && self.uses.load(Ordering::Relaxed) > 0
            && self.requests.load(Ordering::Relaxed) > 0
            && self.until.is_none_or(|until| now < until)
    }

    fn has_room(&self, concurrency: usize) -> bool {
        concurrency == 0 || self.running.load(Ordering::Relaxed) < concurrency
    }
}

impl Ticket {
    fn on(member: Arc<Member>) -> Self {
        member.uses.fetch_sub(1, Ordering::Relaxed);
        member.running.fetch_add(1, Ordering::Relaxed);
        Self(member)
    }

    /// What sends a request; it counts as one more.
    pub(super) fn sender(&self) -> SendRequest<Outgoing> {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
        self.0.sender.clone()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of a range's numbers; 0 where there is none.
fn drawn_of(from: i32, to: i32) -> usize {
    drawn(usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0))
}

/// So many times, or without limit.
fn limit(times: usize) -> AtomicI64 {
    AtomicI64::new(i64::try_from(times).ok().filter(|times| *times > 0).unwrap_or(i64::MAX))
}
