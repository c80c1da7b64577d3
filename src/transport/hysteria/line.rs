//! A client's connection to a server that knows it.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use h3::client::{SendRequest, builder};
use http::{HeaderMap, HeaderValue, Request, Response};
use quinn::{Connection, VarInt};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::{Instant, timeout};

use super::sessions::{Session, Sessions};
use super::stream::Duplex;
use crate::proto::hysteria::auth::{PADDING, Rate, UDP, WELCOME, padding};
use crate::transport::http3::{Link, MOST, Opener};

/// A connection.
pub struct Line {
    connection: Connection,
    sender: SendRequest<Opener, Bytes>,
    request: Request<()>,
    sessions: Option<Arc<Sessions>>,
    next: AtomicU32,
    heard: Mutex<Heard>,
    asking: tokio::sync::Mutex<()>,
}

/// When something was heard.
#[derive(Debug)]
struct Heard {
    /// Packets until the last look, and when that was.
    packets: u64,
    looked: Instant,
    /// Surely not before this.
    last: Instant,
}

/// What a server says.
#[derive(Debug)]
pub(super) struct Welcome {
    /// What it can receive.
    pub(super) rate: Rate,
    udp: bool,
}

/// A server took us for somebody else.
#[derive(Debug, thiserror::Error)]
#[error("the server does not know this password: it answered with status {0} as a web site would")]
struct Unknown(u16);

/// Time for a server to say whether it knows us, and for a stream to find a place.
const LIMIT: Duration = Duration::from_secs(16);
/// After so much silence a connection is asked before it is used.
const QUIET: Duration = Duration::from_secs(5);
/// And so long the answer is waited for.
const ANSWER: Duration = Duration::from_secs(4);

impl Line {
    /// Shows a server who we are, on a connection to it. `request` is what is asked for.
    ///
    /// # Errors
    /// The connection failed, or the server does not know us ([`io::ErrorKind::PermissionDenied`]).
    pub(super) async fn begin(connection: Connection, request: Request<()>) -> io::Result<(Self, Welcome)> {
        let mut builder = builder();
        builder.max_field_section_size(MOST).send_grease(false);
        let begun = timeout(LIMIT, builder.build(Link::new(connection.clone()))).await;
        let (mut driver, sender) = begun.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?;
        tokio::spawn(async move {
            driver.wait_idle().await;
        });
        let now = Instant::now();
        let mut line = Self {
            connection,
            sender,
            request,
            sessions: None,
            next: AtomicU32::new(1),
            heard: Mutex::new(Heard { packets: 0, looked: now, last: now }),
            asking: tokio::sync::Mutex::default(),
        };
        let welcome = line.ask(LIMIT).await?;
        if welcome.udp {
            let sessions = Sessions::on(line.connection.clone());
            line.sessions = Some(Arc::clone(&sessions));
            // Whoever opens sessions is this side alone.
            tokio::spawn(async move { sessions.run(None, |_, _| {}).await });
        }
        Ok((line, welcome))
    }

    /// Asks the server whether it knows us. It says so as often as it is asked.
    async fn ask(&self, limit: Duration) -> io::Result<Welcome> {
        let mut request = self.request.clone();
        let filler = padding(&mut SmallRng::from_rng(&mut rand::rng()));
        request.headers_mut().insert(PADDING, HeaderValue::try_from(filler).map_err(io::Error::other)?);
        let mut sender = self.sender.clone();
        let asked = async {
            let mut stream = sender.send_request(request).await.map_err(io::Error::other)?;
            stream.finish().await.map_err(io::Error::other)?;
            stream.recv_response().await.map_err(io::Error::other)
        };
        let answer = timeout(limit, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        self.note(Instant::now(), true);
        read(&answer)
    }

    /// Whether it is surely open: it was heard of lately, or is now.
    pub(super) async fn is_alive(&self) -> bool {
        if self.is_closed() {
            return false;
        }
        if self.note(Instant::now(), false) {
            return true;
        }
        // Those who come meanwhile learn from the first.
        let _alone = self.asking.lock().await;
        !self.is_closed() && (self.note(Instant::now(), false) || self.ask(ANSWER).await.is_ok())
    }

    /// Looks for packets that came; whether one did lately.
    fn note(&self, now: Instant, surely: bool) -> bool {
        let packets = self.connection.stats().udp_rx.datagrams;
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if surely {
            heard.last = now;
        } else if packets != heard.packets {
            // Since the last look, and no one knows when.
            heard.last = heard.looked.max(heard.last);
        }
        (heard.packets, heard.looked) = (packets, now);
        now.saturating_duration_since(heard.last) < QUIET
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.close_reason().is_some()
    }

    pub(super) fn close(&self) {
        // "No error", as HTTP/3 has it.
        self.connection.close(VarInt::from_u32(0x100), b"");
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// The connection is lost, or has no place for another.
    pub async fn stream(self: &Arc<Self>) -> io::Result<Duplex> {
        let opened = timeout(LIMIT, self.connection.open_bi()).await.map_err(|_| io::ErrorKind::TimedOut)?;
        let (sending, receiving) = opened?;
        Ok(Duplex::new(sending, receiving, Arc::clone(self) as _))
    }

    /// Opens a session of datagrams.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the server serves none; too many are open.
    pub fn session(self: &Arc<Self>) -> io::Result<Session> {
        let Some(sessions) = &self.sessions else { return Err(io::ErrorKind::Unsupported.into()) };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        Ok(sessions.open(id, Arc::clone(self) as _).ok_or(io::ErrorKind::QuotaExceeded)?)
    }
}

fn read(answer: &Response<()>) -> io::Result<Welcome> {
    if answer.status().as_u16() != WELCOME {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, Unknown(answer.status().as_u16())));
    }
    let text = |headers: &HeaderMap, name: &str| headers.get(name)?.to_str().ok().map(str::to_ascii_lowercase);
    let udp = text(answer.headers(), UDP).is_some_and(|text| matches!(text.as_str(), "true" | "1" | "t"));
    let rate = text(answer.headers(), crate::proto::hysteria::auth::RATE).map(|text| Rate::read(&text));
    Ok(Welcome { rate: rate.unwrap_or_default(), udp })
}

impl Drop for Line {
    fn drop(&mut self) {
        self.close();
    }
}

/// The request holds the password.
impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
