//! The HTTP/2 and HTTP/3 connections of a client, which streams share as `xmux` says.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::Request;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rand::seq::IndexedRandom;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use super::body::{Answered, Outgoing, Received};
use super::draw::drawn;
use super::http3_client::Line;
use crate::addr::Target;
use crate::flow::{Blame, BoxStream, DialError, Stage};
use crate::model::carrier::Xmux;
use crate::transport::failed::Failed;
use crate::transport::lines::Lines;
use crate::transport::quic;

/// The connections of one outbound, by server.
#[derive(Debug)]
pub(super) struct Pool {
    xmux: Xmux,
    /// What opens connections where they are HTTP/3's.
    quic: Option<quic::Client>,
    /// Streams of a connection at once, and connections at once; 0 is without limit.
    concurrency: usize,
    connections: usize,
    servers: Arc<Servers>,
}

type Servers = Mutex<HashMap<Target, Vec<Arc<Member>>>>;

/// One connection, from the moment that a stream wants it.
#[derive(Debug)]
struct Member {
    wire: OnceCell<Result<Wire, Failed>>,
    running: AtomicUsize,
    /// How many streams and requests it may still get.
    uses: AtomicI64,
    requests: AtomicI64,
    until: Option<Instant>,
}

#[derive(Debug)]
enum Wire {
    Http2(SendRequest<Outgoing>),
    Http3(Line),
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
/// How often a connection is looked at, and after how many looks without a stream it is closed: five minutes.
const LOOK: Duration = Duration::from_secs(30);
const UNUSED: u32 = 10;

impl Pool {
    pub(super) fn new(xmux: &Xmux, quic: Option<quic::Client>) -> Self {
        Self {
            quic,
            concurrency: drawn_of(xmux.max_concurrency.from, xmux.max_concurrency.to),
            connections: drawn_of(xmux.max_connections.from, xmux.max_connections.to),
            xmux: xmux.clone(),
            servers: Arc::default(),
        }
    }

    /// A place for a stream to this server, on a connection that is open or on another. Whoever needs another has it counted
    /// at once, so that those who come meanwhile wait for it rather than open more than they may.
    ///
    /// # Errors
    /// [`DialError`] of the connection, or at the stage of the carrier.
    pub(super) async fn place(&self, lines: &dyn Lines, to: &Target, blame: Blame) -> Result<Ticket, DialError> {
        let ticket = self.pick(to);
        let opening = async {
            let opened = self.open(lines, to, blame).await;
            if opened.is_ok() {
                let (servers, member) = (Arc::downgrade(&self.servers), Arc::downgrade(&ticket.0));
                tokio::spawn(close_unused(servers, to.clone(), member));
            }
            opened.map_err(|error| Failed::of(&error))
        };
        match ticket.0.wire.get_or_init(|| opening).await {
            Ok(_) => Ok(ticket),
            Err(failed) => Err(failed.error()),
        }
    }

    /// A place on the connection for the next stream, which perhaps has to be opened. Never waits.
    fn pick(&self, to: &Target) -> Ticket {
        let mut servers = lock(&self.servers);
        let members = servers.entry(to.clone()).or_default();
        let now = Instant::now();
        members.retain(|member| member.is_good(now));
        if self.connections == 0 || members.len() >= self.connections {
            let free: Vec<_> = members.iter().filter(|member| member.has_room(self.concurrency)).collect();
            if let Some(member) = free.choose(&mut rand::rng()) {
                return Ticket::on(Arc::clone(member));
            }
        }
        let member = Arc::new(self.member());
        members.push(Arc::clone(&member));
        Ticket::on(member)
    }

    async fn open(&self, lines: &dyn Lines, to: &Target, blame: Blame) -> Result<Wire, DialError> {
        let wire = match &self.quic {
            Some(quic) => {
                let port = lines.port().await?;
                let connection = quic.connect(port, &to.host).await;
                let connection = connection.map_err(|error| DialError::new(Stage::Secure, blame, error))?;
                Line::begin(connection).await.map(Wire::Http3)
            }
            None => self.http2(lines.line().await?).await.map(Wire::Http2),
        };
        wire.map_err(|error| DialError::new(Stage::Carry, blame, error))
    }

    async fn http2(&self, io: BoxStream) -> io::Result<SendRequest<Outgoing>> {
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
        Ok(sender)
    }

    fn member(&self) -> Member {
        let seconds = drawn_of(self.xmux.h_max_reusable_secs.from, self.xmux.h_max_reusable_secs.to);
        Member {
            wire: OnceCell::new(),
            running: AtomicUsize::new(0),
            uses: limit(drawn_of(self.xmux.c_max_reuse_times.from, self.xmux.c_max_reuse_times.to)),
            requests: limit(drawn_of(self.xmux.h_max_request_times.from, self.xmux.h_max_request_times.to)),
            until: (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds as u64)),
        }
    }
}

impl Member {
    fn is_good(&self, now: Instant) -> bool {
        let open = match self.wire.get() {
            None => true,
            Some(Err(_)) => false,
            Some(Ok(Wire::Http2(sender))) => !sender.is_closed(),
            Some(Ok(Wire::Http3(line))) => !line.is_closed(),
        };
        open && self.uses.load(Ordering::Relaxed) > 0
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

    /// Sends a request, which counts as one more; the answer is another matter.
    pub(super) async fn send(&self, request: Request<Outgoing>) -> io::Result<Answered> {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
        match self.0.wire.get() {
            Some(Ok(Wire::Http2(sender))) => {
                let mut sender = sender.clone();
                sender.ready().await.map_err(io::Error::other)?;
                let answer = sender.send_request(request);
                Ok(Box::pin(async move { Ok(answer.await.map_err(io::Error::other)?.map(Received::Hyper)) }))
            }
            Some(Ok(Wire::Http3(line))) => line.send(request).await,
            None | Some(Err(_)) => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes a connection that had no stream for a while.
async fn close_unused(servers: Weak<Servers>, to: Target, member: Weak<Member>) {
    let (mut looks, mut uses) = (0, 0);
    while looks < UNUSED {
        sleep(LOOK).await;
        let (Some(servers), Some(member)) = (servers.upgrade(), member.upgrade()) else { return };
        // Places are given under the same lock, so nobody gets one on a connection that is on its way out.
        let mut servers = lock(&servers);
        let now = member.uses.load(Ordering::Relaxed);
        let quiet = member.running.load(Ordering::Relaxed) == 0 && now == std::mem::replace(&mut uses, now);
        looks = if quiet { looks + 1 } else { 0 };
        if looks == UNUSED {
            if let Some(members) = servers.get_mut(&to) {
                members.retain(|other| !Arc::ptr_eq(other, &member));
            }
            servers.retain(|_, members| !members.is_empty());
            if let Some(Ok(Wire::Http3(line))) = member.wire.get() {
                line.close();
            }
        }
    }
}

fn lock(servers: &Servers) -> MutexGuard<'_, HashMap<Target, Vec<Arc<Member>>>> {
    servers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of a range's numbers; 0 where there is none.
fn drawn_of(from: i32, to: i32) -> usize {
    drawn(usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0))
}

/// So many times, or without limit.
fn limit(times: usize) -> AtomicI64 {
    AtomicI64::new(i64::try_from(times).ok().filter(|times| *times > 0).unwrap_or(i64::MAX))
}
