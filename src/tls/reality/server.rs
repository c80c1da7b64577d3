//! The server: whoever knows the key is served, everybody else speaks with the site.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use rustls::KeyLog;
use rustls::crypto::CryptoProvider;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use self::answer::Answer;
use self::certificate::Identity;
use self::class::Class;
use self::refusal::Refusal;
use self::reply::{KeyLine, reply};
use self::rules::{Admitted, Rules};
use self::site::{Ends, Site};
use self::tails::{Lengths, Tails};
use self::throttle::{Rate, throttled};
use super::super::crypto::Crypto;
use super::super::error::TlsError;
use super::super::keylog::FileLog;
use super::super::tls13::{ClientHello, Opener, Sealer};
use crate::flow::{BoxStream, Meter, Stream};
use crate::net::{Bounds, Framed, Limits, boxed, drive, relay};
use crate::proto::hello::handshake_message;
use crate::wire::WireError;

pub use self::options::RealityServerOptions;

mod answer;
mod certificate;
mod class;
mod options;
mod probe;
mod refusal;
mod reply;
mod rules;
mod site;
mod tails;
mod throttle;

#[cfg(test)]
mod tests;

/// A REALITY server, ready for any number of connections.
#[derive(Debug, Clone)]
pub struct RealityServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Rules,
    site: Site,
    identity: Identity,
    upload: Rate,
    download: Rate,
    tails: Tails,
    provider: Arc<CryptoProvider>,
    key_log: Option<FileLog>,
    show: bool,
}

/// The stream of somebody who was let in.
pub type RealityStream<S> = Framed<S, Sealer, Opener>;

/// Most that is read at a time while a hello is put together.
const PIECE: usize = 4 * 1024;
/// Longest hello that is put together, with however many records it is cut into.
const HELLO: usize = 64 * 1024;
/// Longest first answer of a site that is put together: records of full length for each of the messages we look at.
const ANSWER: usize = 8 * 17 * 1024;

impl RealityServer {
    /// Checks all settings. Nothing is dialed yet.
    ///
    /// # Errors
    /// [`TlsError`] names the setting.
    pub fn new(crypto: &Crypto, options: &RealityServerOptions) -> Result<Self, TlsError> {
        let identity = Identity::new(options.mldsa65_seed.as_ref().map(|seed| seed.as_slice()));
        let inner = Inner {
            rules: Rules::new(options, crypto.replays())?,
            site: options.site.clone(),
            identity: identity.map_err(|_| TlsError::Key { what: "mldsa65Seed" })?,
            upload: options.upload,
            download: options.download,
            tails: Tails::new(&options.server_names),
            provider: Arc::clone(crypto.provider()),
            key_log: options.key_log.as_deref().map(FileLog::open).transpose()?,
            show: options.show,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Begins to find out what the site sends behind a handshake, unless that was begun. The first visitors would wait for
    /// it otherwise.
    pub fn begin(&self) {
        if !self.0.tails.begin() {
            return;
        }
        for name in self.0.tails.names() {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.tails.learn(&name, &inner.site, &inner.provider).await });
        }
    }

    /// Lets a visitor in, with the name it asked for; or hands it through to the site and comes back when that is over.
    /// Only what happens behind an accepted hello has to happen within `limit`: for others the site's own patience counts.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] with the reason after somebody was handed through; else whatever the streams say.
    pub async fn accept<S: Stream + 'static>(
        &self,
        mut io: S,
        limit: Duration,
    ) -> io::Result<(RealityStream<S>, Box<str>)> {
        self.begin();
        let inner = &self.0;
        let begun = Instant::now();
        let mut site = inner.site.dial(Ends::of(&io), limit).await?;
        let dialed = begun.elapsed();
        let (mut seen, mut said) = (BytesMut::new(), BytesMut::new());
        let refusal = match inner.hear(&mut io, &mut site, &mut seen, &mut said).await? {
            Ok(admitted) => {
                let asked = Instant::now();
                let learnt = timeout(limit, learn(&mut site, &mut said)).await;
                let took = dialed + asked.elapsed();
                match learnt.unwrap_or(Err(Refusal::SilentSite)).and_then(|answer| inner.reply(&seen, admitted, answer))
                {
                    Ok(reply) => return inner.shake(io, site, reply, took, limit).await,
                    Err(refusal) => refusal,
                }
            }
            Err(refusal) => refusal,
        };
        inner.say(&refusal);
        inner.hand_through(io, site, said).await;
        Err(refusal.into())
    }
}

impl Inner {
    /// Hands a hello on while it comes in, and judges it once it is whole. `said` gets what the site said before that.
    async fn hear<S: Stream>(
        &self,
        io: &mut S,
        site: &mut BoxStream,
        seen: &mut BytesMut,
        said: &mut BytesMut,
    ) -> io::Result<Result<Admitted, Refusal>> {
        loop {
            seen.reserve(PIECE);
            said.reserve(PIECE);
            let before = seen.len();
            tokio::select! {
                biased;
                came = io.read_buf(seen) => {
                    if came? == 0 {
                        return Ok(Err(Refusal::NoHello));
                    }
                }
                came = site.read_buf(said) => {
                    came?;
                    return Ok(Err(Refusal::EagerSite));
                }
            }
            site.write_all(&seen[before..]).await?;
            site.flush().await?;
            match handshake_message(seen) {
                Err(WireError::Truncated { .. }) if seen.len() < HELLO => {}
                Err(_) => return Ok(Err(Refusal::NoHello)),
                Ok(message) => {
                    let Ok(hello) = ClientHello::read(&message) else { return Ok(Err(Refusal::NoHello)) };
                    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                    return Ok(self.rules.judge(&hello, now));
                }
            }
        }
    }

    fn reply(&self, seen: &[u8], admitted: Admitted, answer: Answer) -> Result<Reply, Refusal> {
        let message = handshake_message(seen).map_err(|_| Refusal::NoHello)?;
        let hello = ClientHello::read(&message).map_err(|_| Refusal::NoHello)?;
        let log = |KeyLine { label, secret }: KeyLine<'_>| {
            if let Some(log) = &self.key_log {
                log.log(label, hello.random, secret);
            }
        };
        let private = Zeroizing::new(rand::random());
        let patience = self.tails.patience(&admitted.name);
        let (bytes, waiting) = reply(&hello, &admitted, answer, &self.identity, &private, patience, log)?;
        Ok(Reply { bytes, waiting, admitted, class: Class::of(hello.alpn) })
    }

    /// `took` is what the site itself needed for its first answer.
    async fn shake<S: Stream>(
        self: &Arc<Self>,
        mut io: S,
        mut site: BoxStream,
        mut reply: Reply,
        took: Duration,
        limit: Duration,
    ) -> io::Result<(RealityStream<S>, Box<str>)> {
        let shaking = async {
            io.write_all(&reply.bytes).await?;
            io.flush().await?;
            let mut held = BytesMut::new();
            let ready = tokio::select! {
                ready = drive(&mut io, &mut held, &mut reply.waiting, Bounds::within(limit)) => ready?,
                // What it waits for never comes; when it gives up, so do we.
                () = gone(&mut site) => return Err(io::ErrorKind::TimedOut.into()),
            };
            drop(site);
            let mut sealer = ready.sealer;
            let mut tail = BytesMut::new();
            for len in self.tail(&reply.admitted.name, reply.class, took).await {
                // A length that we cannot make was none of a site either.
                let _ = sealer.seal_nothing(len, &mut tail);
            }
            if !tail.is_empty() {
                io.write_all(&tail).await?;
                io.flush().await?;
            }
            if self.show {
                tracing::info!(name = %reply.admitted.name, "REALITY: let in");
            }
            Ok((Framed::new(io, held, sealer, ready.opener), reply.admitted.name))
        };
        timeout(limit, shaking).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// What the site sends behind a handshake. Where that is not known yet, no visitor waits longer for it than the site's own
    /// handshake would have taken; the first ones after the start get on without. (The reference server lets them wait for
    /// five seconds, and five more, until it knows.)
    async fn tail(self: &Arc<Self>, name: &str, class: Class, wait: Duration) -> Lengths {
        if let Some(known) = self.tails.known(name, class) {
            return known;
        }
        let (inner, name) = (Arc::clone(self), Box::<str>::from(name));
        // By itself, so that the next visitor knows even if this one is gone.
        let asked = tokio::spawn(async move { inner.tails.of(&name, class, &inner.site, &inner.provider).await });
        timeout(wait, asked).await.ok().and_then(Result::ok).unwrap_or_default()
    }

    async fn hand_through<S: Stream + 'static>(&self, io: S, site: BoxStream, said: BytesMut) {
        let client = throttled(Box::new(io), self.upload);
        let site = throttled(boxed(site, said), self.download);
        // As long as they like: when it ends is the site's decision, and an end of ours would tell us apart.
        let limits = Limits { idle: None, uplink_only: Duration::MAX, downlink_only: Duration::MAX };
        relay(client, site, limits, &Meter::default(), &CancellationToken::new()).await;
    }

    fn say(&self, refusal: &Refusal) {
        if self.show {
            tracing::info!(%refusal, "REALITY: handed through to the site");
        } else {
            tracing::debug!(%refusal, "REALITY: handed through to the site");
        }
    }
}

/// An answer on its way.
struct Reply {
    bytes: BytesMut,
    waiting: super::super::tls13::Waiting,
    admitted: Admitted,
    class: Class,
}

/// Reads the site's first answer.
async fn learn(site: &mut BoxStream, said: &mut BytesMut) -> Result<Answer, Refusal> {
    loop {
        match Answer::read(said) {
            Err(WireError::Truncated { need }) if said.len() < ANSWER => said.reserve(need.max(PIECE)),
            Err(_) => return Err(Refusal::OddSite),
            Ok(answer) => return Ok(answer),
        }
        match site.read_buf(said).await {
            Ok(0) | Err(_) => return Err(Refusal::SilentSite),
            Ok(_) => {}
        }
    }
}

/// Reads over whatever is said, until that ends.
async fn gone(site: &mut BoxStream) {
    let mut scrap = [0; 1024];
    while !matches!(site.read(&mut scrap).await, Ok(0) | Err(_)) {}
}
