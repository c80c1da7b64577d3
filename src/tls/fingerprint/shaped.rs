//! Connections that begin with a hello in a browser's shape.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rustls::client::{EchGreaseConfig, EchMode, Resumption};
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_128;
use rustls::crypto::hpke::Hpke as _;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ALL_VERSIONS, ClientConfig, ConfigBuilder, Error, PeerMisbehaved, WantsVerifier};
use tokio_rustls::TlsConnector;

use super::brotli::Brotli;
use super::draft::Draft;
use super::hello::{Answer, server_hello};
use super::provider::{NoSessions, provider};
use super::script::{Proof, Script, Scripted, second_hello};
use super::shape::Shape;
use crate::flow::Stream;
use crate::model::browser::Browser;
use crate::tls::error::TlsError;
use crate::tls::records::Records;
use crate::tls::stream::TlsStream;

/// How to open connections in one shape.
#[derive(Debug)]
pub struct Shaped {
    shape: Shape,
    alpn: Vec<Vec<u8>>,
    /// For servers that choose TLS 1.3.
    new: Arc<ClientConfig>,
    /// For all others; absent, they are refused.
    old: Option<Arc<ClientConfig>>,
    /// This server takes up what the client cannot follow.
    careful: AtomicBool,
}

/// A connection, and whether the server has proved what was asked of it.
pub type Outcome<S> = (TlsStream<S>, bool);

impl Shaped {
    /// For that browser, with its own protocols unless `alpn` says otherwise. `old` allows TLS 1.2; `finish` makes a
    /// configuration of its beginning.
    pub fn new(
        browser: Browser,
        alpn: &[String],
        old: bool,
        finish: impl Fn(ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig, TlsError>,
    ) -> Result<Self, TlsError> {
        let shape = Shape::of(browser, &mut rng()?);
        let alpn: Vec<_> = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let provider = Arc::new(provider());
        let begin = || ClientConfig::builder_with_provider(Arc::clone(&provider));
        let new = if shape.has_ech() {
            let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
            let (key, _) = suite.generate_key_pair()?;
            // What servers answer to the empty one of the shape is then expected.
            begin().with_ech(EchMode::Grease(EchGreaseConfig::new(suite, key)))?
        } else {
            begin().with_protocol_versions(&[&TLS13])?
        };
        let finish = |builder| {
            let mut config = finish(builder)?;
            config.alpn_protocols.clone_from(&alpn);
            config.cert_decompressors = vec![&Brotli];
            config.resumption = Resumption::store(Arc::new(NoSessions));
            Ok::<_, TlsError>(Arc::new(config))
        };
        let new = finish(new)?;
        let old = old.then(|| finish(begin().with_protocol_versions(ALL_VERSIONS)?)).transpose()?;
        Ok(Self { shape, alpn, new, old, careful: AtomicBool::new(false) })
    }

    /// A hello for that name.
    pub fn draft(&self, name: &ServerName<'_>) -> io::Result<Draft> {
        let mut rng = rng().map_err(io::Error::other)?;
        let drafted = if self.careful.load(Relaxed) {
            Draft::new(&self.shape.careful(), name, &self.alpn, &mut rng)
        } else {
            Draft::new(&self.shape, name, &self.alpn, &mut rng)
        };
        drafted.map_err(io::Error::other)
    }

    /// Sends the hello and goes on from there.
    pub async fn connect<S: Stream>(
        &self,
        mut io: Records<S>,
        name: ServerName<'static>,
        draft: Draft,
        mut proof: Option<Proof>,
    ) -> io::Result<Outcome<S>> {
        io.send_hello(draft.hello()).await?;
        let answer = server_hello(io.look_ahead().await?);
        let chosen = answer.and_then(|message| Answer::read(message).ok());
        if let (Some(proof), Some(message)) = (&mut proof, answer) {
            proof.hellos = [draft.hello(), message].concat();
        }
        // An alert, or nonsense, is for rustls to name.
        let config = match (&self.old, chosen) {
            (Some(old), Some(Answer { tls13: false, .. })) => old,
            _ => &self.new,
        };
        let (random, session_id) = (draft.random, draft.session_id);
        let mut script = Some(Script::new(draft, chosen.and_then(|answer| answer.group), proof));
        io.rewrite(second_hello);
        let mut own = Vec::new();
        let future = Script::during(&mut script, || {
            TlsConnector::from(Arc::clone(config)).connect_with(name, io, |rustls| {
                // Its hello, for which another one is on its way. It cannot fail in memory.
                let _ = rustls.write_tls(&mut own);
            })
        });
        let message = own.get(5..).unwrap_or_default();
        if !script.as_mut().is_some_and(|script| script.note_first(message, &random, &session_id)) {
            return Err(io::Error::other("rustls does not ask for random values as expected"));
        }
        let mut scripted = Scripted { future, script };
        let mut stream = (&mut scripted).await.inspect_err(|error| self.learn(error))?;
        stream.get_mut().0.stop_rewriting();
        let proved = scripted.script.as_ref().is_some_and(Script::is_proved);
        Ok((TlsStream::new(stream.into()), proved))
    }

    /// Remembers that this server answers what only a browser can take.
    pub(super) fn learn(&self, error: &io::Error) {
        let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        let Some(Error::PeerMisbehaved(
            PeerMisbehaved::UnsolicitedEncryptedExtension
            | PeerMisbehaved::UnsolicitedServerHelloExtension
            | PeerMisbehaved::UnsolicitedCertExtension
            | PeerMisbehaved::SelectedUnofferedCertCompression,
        )) = error
        else {
            return;
        };
        if !self.careful.swap(true, Relaxed) {
            tracing::info!("a server takes up what only a browser can; hellos to it leave that out from now on");
        }
    }
}

fn rng() -> Result<StdRng, Error> {
    let mut seed = [0; 32];
    aws_lc_rs::rand::fill(&mut seed).map_err(|_| Error::FailedToGetRandomBytes)?;
    Ok(StdRng::from_seed(seed))
}
