//! The client's side.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::ServerName;

use super::token::{Token, auth_key};
use crate::addr::Host;
use crate::flow::Stream;
use crate::model::browser::Browser;
use crate::model::reality as model;
use crate::tls::client::{name_of, server_name};
use crate::tls::crypto::Crypto;
use crate::tls::error::TlsError;
use crate::tls::fingerprint::{Proof, Shaped};
use crate::tls::keylog::FileLog;
use crate::tls::options::Inner;
use crate::tls::records::Records;
use crate::tls::settings::browsers_alpn;
use crate::tls::stream::TlsStream;

mod certificate;
mod verifier;

use verifier::Verifier;

/// What a client may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealityClientOptions {
    /// Name to ask for; absent, the server's address.
    pub server_name: Option<String>,
    /// The server's X25519 key.
    pub public_key: [u8; 32],
    /// The id to show.
    pub short_id: [u8; 8],
    /// A key that the server's certificate must be signed with as well, ML-DSA-65.
    pub mldsa65: Option<Vec<u8>>,
    /// Whose hello is sent.
    pub browser: Browser,
    /// Protocols to offer.
    pub alpn: Vec<String>,
    /// Let a connection end behind any of its records, and go on without TLS.
    pub can_end: bool,
    /// Append every session's secrets to this file (NSS format), for debugging one's own traffic.
    pub key_log: Option<PathBuf>,
}

/// A REALITY client, ready for any number of connections.
#[derive(Debug, Clone)]
pub struct RealityClient {
    shaped: Arc<Shaped>,
    name: Option<ServerName<'static>>,
    public_key: [u8; 32],
    short_id: [u8; 8],
    can_end: bool,
}

/// The version of Xray that this passes for. Servers refuse what is older than they are told, by default 26.3.27.
const VERSION: [u8; 3] = [26, 7, 28];

impl RealityClientOptions {
    /// What a client is asked for. `inner` is what will be spoken.
    ///
    /// # Errors
    /// [`TlsError::Key`] if the server's key has another length.
    pub fn of(reality: &model::RealityClient, inner: Inner) -> Result<Self, TlsError> {
        let key = reality.public_key.bytes().try_into();
        Ok(Self {
            server_name: Some(reality.server_name.clone()).filter(|name| !name.is_empty()),
            public_key: key.map_err(|_| TlsError::Key { what: "publicKey" })?,
            short_id: reality.short_id.bytes(),
            mldsa65: reality.mldsa65_verify.0.as_ref().map(|key| key.bytes().to_vec()),
            browser: reality.fingerprint.browser().0,
            alpn: browsers_alpn(&[], inner),
            can_end: inner == Inner::Vision,
            key_log: Some(&reality.master_key_log).filter(|path| !path.is_empty()).map(Into::into),
        })
    }
}

impl RealityClient {
    /// Checks all settings.
    ///
    /// # Errors
    /// [`TlsError`] names the setting.
    pub fn new(crypto: &Crypto, options: &RealityClientOptions) -> Result<Self, TlsError> {
        let name = options.server_name.as_deref().map(server_name).transpose()?;
        let site = WebPkiServerVerifier::builder_with_provider(crypto.system_roots(), Arc::clone(crypto.provider()))
            .build()
            .map_err(|_| TlsError::NoRoots)?;
        let verifier = Arc::new(Verifier::new(site, crypto.provider(), options.mldsa65.clone()));
        let shaped = Shaped::new(options.browser, &options.alpn, false, |builder| {
            // Named so because a verifier can be wrong; this one decides between the server and the site it hides behind.
            let builder = builder.dangerous().with_custom_certificate_verifier(Arc::clone(&verifier) as _);
            let mut config = builder.with_no_client_auth();
            if let Some(path) = &options.key_log {
                config.key_log = Arc::new(FileLog::open(path)?);
            }
            Ok(config)
        })?;
        let (public_key, short_id, can_end) = (options.public_key, options.short_id, options.can_end);
        Ok(Self { shaped: Arc::new(shaped), name, public_key, short_id, can_end })
    }

    /// Runs the handshake over a stream. `host` is the server's address, for where no name is set.
    ///
    /// # Errors
    /// Whatever the stream says, and [`io::ErrorKind::InvalidData`] if it is not our server that answers.
    pub async fn connect<S: Stream>(&self, io: S, host: &Host) -> io::Result<TlsStream<S>> {
        let name = self.name.clone().map_or_else(|| name_of(host), Ok)?;
        let mut draft = self.shaped.draft(&name)?;
        let unusable = |_| io::Error::new(io::ErrorKind::InvalidInput, "publicKey is no usable X25519 key");
        let key = auth_key(&draft.own, &self.public_key, &draft.random).map_err(unusable)?;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // The clock of the protocol ends in 2106.
        let time = u32::try_from(seconds).unwrap_or(u32::MAX);
        draft.set_session_id([0; 32]);
        let token = Token { version: VERSION, time, short_id: self.short_id };
        let sealed = token.seal(&key, &draft.random, draft.hello()).map_err(io::Error::other)?;
        draft.set_session_id(sealed);
        let proof = Proof { key, hellos: Vec::new(), given: false };
        let io = Records::new(io, self.can_end);
        let (stream, proved) = self.shaped.connect(io, name, draft, Some(proof)).await?;
        if !proved {
            let text = "the server answered as the real site: wrong publicKey, shortId or serverName";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(stream)
    }
}

#[cfg(test)]
mod tests;
