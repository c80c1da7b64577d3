//! The server's side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs::Ticketer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use super::crypto::{Crypto, versions};
use super::error::TlsError;
use super::keylog::FileLog;
use super::material::certified;
use super::options::{Pem, ServerOptions};
use super::resolver::Resolver;
use super::stream::TlsStream;
use crate::flow::Stream;

/// A TLS server, ready for any number of connections.
#[derive(Debug, Clone)]
pub struct Server {
    config: Arc<ServerConfig>,
    resolver: Arc<Resolver>,
    /// To read the files again.
    certificates: Arc<[(Pem, Pem)]>,
    provider: Arc<CryptoProvider>,
}

impl Server {
    /// How often certificate files should be read again ([`refresh`](Self::refresh)), as Xray does.
    pub const REFRESH: Duration = Duration::from_secs(3600);

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
        Ok(Self { config: Arc::new(config), resolver, certificates: options.certificates.as_slice().into(), provider })
    }

    /// Reads the certificate files again; new connections get what they hold now.
    ///
    /// # Errors
    /// [`TlsError`] names the file; what was loaded before stays.
    pub fn refresh(&self) -> Result<(), TlsError> {
        self.resolver.replace(load(&self.certificates, &self.provider)?);
        Ok(())
    }

    /// Runs the handshake over a stream.
    ///
    /// # Errors
    /// Whatever the stream says, and [`io::ErrorKind::InvalidData`] with rustls' reason.
    pub async fn accept<S: Stream>(&self, io: S) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(Arc::clone(&self.config)).accept(io).await.map(|stream| TlsStream::new(stream.into()))
    }
}

fn load(pairs: &[(Pem, Pem)], provider: &CryptoProvider) -> Result<Vec<Arc<CertifiedKey>>, TlsError> {
    pairs.iter().map(|(chain, key)| certified(chain, key, provider).map(Arc::new)).collect()
}
