//! One connection of a server's.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use quinn::{Connection, VarInt};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::keep::Keep;
use super::page::Page;
use super::server::Server;
use super::sessions::{Session, Sessions};
use super::stream::Duplex;
use crate::addr::Target;
use crate::flow::BoxStream;
use crate::net::{Bounds, boxed, drive};
use crate::proto::hysteria::auth::{AUTH, HOST, PADDING, PATH, RATE, Rate, UDP, WELCOME, padding};
use crate::proto::hysteria::{Opening, ReadOpening};
use crate::transport::http3::{Called, Link, Upload, serve};
use crate::transport::quic::Pace;

/// One connection, whose client may be known or not.
pub struct Visit {
    server: Arc<Server>,
    connection: Connection,
    pace: Arc<Pace>,
}

/// What a known client wants.
pub enum Arrived {
    /// A stream to a target; nothing was answered yet.
    Stream(Target, BoxStream),
    /// Datagrams, of which the first is for this target.
    Packets(Target, Session),
}

/// What the parts of a visit share.
struct Shared<A> {
    visit: Visit,
    admit: A,
    /// What the client showed when it was let in. Whether that is still good is asked for each flow.
    shown: OnceLock<Zeroizing<Vec<u8>>>,
    known: Notify,
    /// Held by all flows.
    keep: Keep,
}

/// Streams for HTTP that wait.
const WAITING: usize = 16;
/// How often a connection that closes is looked at.
const LOOK: Duration = Duration::from_millis(250);

impl Visit {
    /// By a connection, which sends at this pace.
    #[must_use]
    pub fn new(server: Arc<Server>, connection: Connection, pace: Arc<Pace>) -> Self {
        Self { server, connection, pace }
    }

    /// Serves until the connection ends. Whoever shows something that `admit` knows is given to `take` with all that it wants
    /// from then on; after `closing` that is nothing more.
    pub async fn run<U, A, T>(self, limit: Duration, closing: impl Future<Output = ()>, admit: A, take: T)
    where
        U: Send + 'static,
        A: Fn(&[u8]) -> Option<U> + Send + Sync + 'static,
        T: Fn(U, Arrived) + Clone + Send + Sync + 'static,
    {
        let connection = self.connection.clone();
        let (shown, known, keep) = (OnceLock::new(), Notify::new(), Arc::new(()));
        let shared = Arc::new(Shared { visit: self, admit, shown, known, keep });
        let (feed, fed) = mpsc::channel(WAITING);
        let answering = Arc::clone(&shared);
        let answer = move |request: Request<Upload>| {
            let shared = Arc::clone(&answering);
            async move { shared.answer(request).await }
        };
        let site = serve(Link::new(connection.clone()).fed(fed), std::future::pending(), answer);
        let site = tokio::spawn(site);
        let datagrams = {
            let (shared, take) = (Arc::clone(&shared), take.clone());
            tokio::spawn(async move { shared.datagrams(take).await })
        };
        tokio::select! {
            () = shared.streams(limit, feed, take) => {}
            () = closing => {
                // Those that run go on; without any, the client is to come anew.
                tokio::select! {
                    () = refuse(&connection) => {}
                    () = shared.over() => connection.close(VarInt::from_u32(0x100), b""),
                }
            }
        }
        site.abort();
        datagrams.abort();
    }
}

/// Takes no stream any more.
async fn refuse(connection: &Connection) {
    while connection.accept_bi().await.is_ok() {}
}

impl<U, A> Shared<A>
where
    U: Send + 'static,
    A: Fn(&[u8]) -> Option<U> + Send + Sync + 'static,
{
    /// Waits until no flow is left.
    async fn over(&self) {
        while Arc::strong_count(&self.keep) > 1 {
            sleep(LOOK).await;
        }
    }

    /// Takes streams until the connection ends.
    async fn streams<T>(&self, limit: Duration, feed: mpsc::Sender<Called>, take: T)
    where
        T: Fn(U, Arrived) + Clone + Send + Sync + 'static,
    {
        while let Ok((sending, receiving)) = self.visit.connection.accept_bi().await {
            let Some(shown) = self.shown.get() else {
                let called = Called { sending, receiving, held: Bytes::new() };
                if feed.send(called).await.is_err() {
                    return;
                }
                continue;
            };
            let Some(user) = (self.admit)(shown) else {
                // Whoever is not known any more may say so anew, and is seen as a stranger then.
                return self.visit.connection.close(VarInt::from_u32(0x100), b"");
            };
            let (feed, take) = (feed.clone(), take.clone());
            let io = Duplex::new(sending, receiving, Arc::clone(&self.keep));
            tokio::spawn(async move {
                match opening(io, limit).await {
                    Some(Ok((target, io))) => take(user, Arrived::Stream(target, io)),
                    // Nobody is left to take it where the connection has ended.
                    Some(Err(called)) => drop(feed.send(called).await),
                    None => {}
                }
            });
        }
    }

    /// Takes datagrams once the client is known, until the connection ends.
    async fn datagrams<T: Fn(U, Arrived)>(&self, take: T) {
        self.known.notified().await;
        let sessions = Sessions::on(self.visit.connection.clone());
        let new = |session: Session, target| {
            let session = session.within(self.visit.server.idle);
            if let Some(user) = self.shown.get().and_then(|shown| (self.admit)(shown)) {
                take(user, Arrived::Packets(target, session));
            }
        };
        sessions.run(Some(Arc::clone(&self.keep)), new).await;
    }

    async fn answer(&self, request: Request<Upload>) -> Response<Page> {
        let host = request.uri().authority().map(http::uri::Authority::as_str);
        let asks = request.method() == Method::POST && host == Some(HOST) && request.uri().path() == PATH;
        if asks && self.knows(request.headers()) {
            return self.welcome();
        }
        self.visit.server.site.answer(request).await
    }

    /// Whether the client is known, or becomes it by this.
    fn knows(&self, headers: &HeaderMap) -> bool {
        if self.shown.get().is_some() {
            return true;
        }
        let shown = headers.get(AUTH).map_or(&[][..], HeaderValue::as_bytes);
        if (self.admit)(shown).is_none() {
            return false;
        }
        if self.shown.set(Zeroizing::new(shown.to_vec())).is_ok() {
            let Visit { server, connection, pace } = &self.visit;
            let number = |number| VarInt::from_u64(number).unwrap_or(VarInt::MAX);
            connection.set_receive_window(number(server.window));
            connection.set_max_concurrent_bi_streams(number(server.streams));
            let rate = headers.get(RATE).and_then(|rate| rate.to_str().ok()).map(Rate::read).unwrap_or_default();
            if server.agrees
                && let Some(rate) = rate.agreed(server.up)
            {
                pace.set(rate);
            }
            self.known.notify_one();
        }
        true
    }

    fn welcome(&self) -> Response<Page> {
        let mut response = Response::new(Page::default());
        *response.status_mut() = StatusCode::from_u16(WELCOME).unwrap_or_default();
        let filler = padding(&mut SmallRng::from_rng(&mut rand::rng()));
        let rate = self.visit.server.down.to_string();
        for (name, text) in [(UDP, "true".to_owned()), (RATE, rate), (PADDING, filler)] {
            if let Ok(text) = HeaderValue::try_from(text) {
                response.headers_mut().insert(name, text);
            }
        }
        response
    }
}

/// What a stream is for: a flow, or with what was read of it something for HTTP.
async fn opening(mut io: Duplex, limit: Duration) -> Option<Result<(Target, BoxStream), Called>> {
    let mut held = BytesMut::new();
    match drive(&mut io, &mut held, &mut ReadOpening, Bounds::within(limit)).await {
        Ok(Opening::Flow(target)) => Some(Ok((target, boxed(io, held)))),
        Ok(Opening::Other) => {
            let (sending, receiving, _) = io.into_parts();
            Some(Err(Called { sending, receiving, held: held.freeze() }))
        }
        Err(error) => {
            tracing::debug!(%error, "a stream came to nothing");
            None
        }
    }
}
