//! The server's side.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs::Ticketer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::crypto::{Crypto, versions};
use super::error::TlsError;
use super::keylog::FileLog;
use super::material::certified;
use super::options::{Pem, ServerOptions};
use super::records::Records;
use super::resolver::Resolver;
use super::stream::TlsStream;
use crate::flow::Stream;

/// A TLS server, ready for any number of connections.
#[derive(Debug, Clone)]
pub struct Server {
    config: Arc<ServerConfig>,
    resolver: Arc<Resolver>,
    files: Option<Arc<Files>>,
    can_end: bool,
}

/// What it takes to read certificate files again, and when that was done.
#[derive(Debug)]
struct Files {
    certificates: Vec<(Pem, Pem)>,
    provider: Arc<CryptoProvider>,
    every: Duration,
    read: Mutex<Instant>,
}

impl Server {
    /// Reads all files and checks all settings.
    ///
    /// # Errors
    /// [`TlsError`] names the setting.
    pub fn new(crypto: &Crypto, options: &ServerOptions) -> Result<Self, TlsError> {
        if options.certificates.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let provider = crypto.narrowed(&options.common);
        let loaded = load(&options.certificates, &provider)?;
        let resolver = Arc::new(Resolver::new(loaded, options.reject_unknown_name));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions(&options.common)?)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&resolver) as _);
        config.alpn_protocols = options.common.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if options.common.resumption {
            config.ticketer = Ticketer::new()?;
        } else {
            config.send_tls13_tickets = 0;
        }
        if let Some(path) = &options.common.key_log {
            config.key_log = Arc::new(FileLog::open(path)?);
        }
        let from_files = options.certificates.iter().any(|(chain, _)| matches!(chain, Pem::File(_)));
        let files = options.refresh.filter(|_| from_files).map(|every| {
            let (certificates, read) = (options.certificates.clone(), Mutex::new(Instant::now()));
            Arc::new(Files { certificates, provider, every, read })
        });
        Ok(Self { config: Arc::new(config), resolver, files, can_end: options.common.can_end })
    }

    /// Runs the handshake over a stream.
    ///
    /// # Errors
    /// Whatever the stream says, and [`io::ErrorKind::InvalidData`] with rustls' reason.
    pub async fn accept<S: Stream>(&self, io: S) -> io::Result<TlsStream<S>> {
        self.refresh().await;
        let io = Records::new(io, self.can_end);
        TlsAcceptor::from(Arc::clone(&self.config)).accept(io).await.map(|stream| TlsStream::new(stream.into()))
    }

    /// The configuration by which QUIC runs the handshake itself. [`Server::refresh`] is the caller's then.
    #[must_use]
    pub fn for_quic(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Reads certificate files again when their time has come, at the next visitor: renewed certificates are served without
    /// a restart, and without a task that waits for nobody. What cannot be read leaves what is there.
    pub async fn refresh(&self) {
        let Some(files) = self.files.as_ref().filter(|files| files.are_due()) else { return };
        // A disk may be slow, and other connections must not wait for it.
        let files = Arc::clone(files);
        match spawn_blocking(move || load(&files.certificates, &files.provider)).await {
            Ok(Ok(loaded)) => self.resolver.replace(loaded),
            Ok(Err(error)) => tracing::warn!(%error, "certificates could not be read again; the old ones stay"),
            // The runtime ends.
            Err(_) => {}
        }
    }
}

impl Files {
    /// Whether it is time, and this visitor's to see to it: whoever comes meanwhile is served with what is there.
    fn are_due(&self) -> bool {
        let Ok(mut read) = self.read.try_lock() else { return false };
        let due = read.elapsed() >= self.every;
        if due {
            *read = Instant::now();
        }
        due
    }
}

fn load(pairs: &[(Pem, Pem)], provider: &CryptoProvider) -> Result<Vec<Arc<CertifiedKey>>, TlsError> {
    pairs.iter().map(|(chain, key)| certified(chain, key, provider).map(Arc::new)).collect()
}
