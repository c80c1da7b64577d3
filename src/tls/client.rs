//! The client's side.

use std::io;
use std::sync::Arc;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use tokio_rustls::TlsConnector;

use super::crypto::{Crypto, versions};
use super::error::TlsError;
use super::fingerprint::Shaped;
use super::keylog::FileLog;
use super::material::{certificates, certified};
use super::options::ClientOptions;
use super::records::Records;
use super::stream::TlsStream;
use super::verify::Verifier;
use crate::addr::Host;
use crate::flow::Stream;
use crate::model::browser::Browser;

/// A TLS client, ready for any number of connections.
#[derive(Debug, Clone)]
pub struct Client {
    hello: Hello,
    name: Option<ServerName<'static>>,
    can_end: bool,
}

/// Whose hello is sent.
#[derive(Debug, Clone)]
enum Hello {
    Own(Arc<ClientConfig>),
    Shaped(Arc<Shaped>),
}

impl Client {
    /// Reads all files and checks all settings.
    ///
    /// # Errors
    /// [`TlsError`] names the setting.
    pub fn new(crypto: &Crypto, options: &ClientOptions) -> Result<Self, TlsError> {
        let name = options.server_name.as_deref().map(server_name).transpose()?;
        let verifier = verifier(crypto, options)?;
        let common = &options.common;
        let hello = if options.browser == Browser::Own {
            let builder = ClientConfig::builder_with_provider(crypto.narrowed(common));
            let mut config = finish(builder.with_protocol_versions(&versions(common)?)?, &verifier, options)?;
            config.alpn_protocols = common.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
            config.resumption = if common.resumption { Resumption::default() } else { Resumption::disabled() };
            Hello::Own(Arc::new(config))
        } else {
            let finish = |builder| finish(builder, &verifier, options);
            Hello::Shaped(Arc::new(Shaped::new(options.browser, &common.alpn, true, finish)?))
        };
        Ok(Self { hello, name, can_end: common.can_end })
    }

    /// The configuration by which QUIC runs the handshake itself, and the name to ask for, if one is set. Nothing for a
    /// browser's hello, which options for [`Inner::Http3`](super::Inner::Http3) never ask for.
    #[must_use]
    pub fn for_quic(&self) -> Option<(Arc<ClientConfig>, Option<&ServerName<'static>>)> {
        match &self.hello {
            Hello::Own(config) => Some((Arc::clone(config), self.name.as_ref())),
            Hello::Shaped(_) => None,
        }
    }

    /// Runs the handshake over a stream. `host` is the server's address, for where no name is set.
    ///
    /// # Errors
    /// Whatever the stream says, and [`io::ErrorKind::InvalidData`] with rustls' reason.
    pub async fn connect<S: Stream>(&self, io: S, host: &Host) -> io::Result<TlsStream<S>> {
        let name = self.name.clone().map_or_else(|| name_of(host), Ok)?;
        let io = Records::new(io, self.can_end);
        let stream = match &self.hello {
            Hello::Own(config) => {
                let connector = TlsConnector::from(Arc::clone(config));
                TlsStream::new(connector.connect(name, io).await?.into())
            }
            Hello::Shaped(shaped) => {
                let draft = shaped.draft(&name)?;
                shaped.connect(io, name, draft, None).await?.0
            }
        };
        if self.can_end && !stream.is_tls13() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "Vision needs TLS 1.3, and the server chose TLS 1.2",
            ));
        }
        Ok(stream)
    }
}

/// What every configuration of these options has.
fn finish(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    verifier: &Arc<Verifier>,
    options: &ClientOptions,
) -> Result<ClientConfig, TlsError> {
    let provider = Arc::clone(builder.crypto_provider());
    // Named so because a verifier can be wrong; this one asks more, or what the configuration says it may skip.
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::clone(verifier) as _);
    let mut config = builder.with_no_client_auth();
    if let Some((chain, key)) = &options.identity {
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified(chain, key, &provider)?));
    }
    if let Some(path) = &options.common.key_log {
        config.key_log = Arc::new(FileLog::open(path)?);
    }
    Ok(config)
}

/// The name to ask for where none is set.
pub(super) fn name_of(host: &Host) -> io::Result<ServerName<'static>> {
    match host {
        Host::Ip(ip) => Ok(ServerName::IpAddress((*ip).into())),
        Host::Domain(name) => ServerName::try_from(name.as_str().to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error)),
    }
}

pub(super) fn server_name(text: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(text.to_owned()).map_err(|_| TlsError::Name(text.to_owned()))
}

fn verifier(crypto: &Crypto, options: &ClientOptions) -> Result<Arc<Verifier>, TlsError> {
    let mut trusted = Vec::new();
    for pem in &options.roots {
        trusted.extend(certificates(pem)?);
    }
    let by_roots = by_roots(crypto, options, &trusted);
    if by_roots.is_none() && trusted.is_empty() && options.pins.is_empty() && !options.insecure {
        return Err(TlsError::NoRoots);
    }
    Ok(Arc::new(Verifier {
        provider: Arc::clone(crypto.provider()),
        by_roots,
        trusted,
        pins: options.pins.clone(),
        names: options.verify_names.iter().map(|name| server_name(name)).collect::<Result<_, _>>()?,
        anything: options.insecure,
    }))
}

/// Absent where no root can be asked: none is trusted, or pins or carelessness decide before them.
fn by_roots(
    crypto: &Crypto,
    options: &ClientOptions,
    trusted: &[CertificateDer<'static>],
) -> Option<Arc<WebPkiServerVerifier>> {
    if options.insecure || !options.pins.is_empty() {
        return None;
    }
    let mut roots = if options.no_system_roots { Arc::new(RootCertStore::empty()) } else { crypto.system_roots() };
    if !trusted.is_empty() {
        // Only then a copy of its own: the system's list is large.
        Arc::make_mut(&mut roots).add_parsable_certificates(trusted.iter().cloned());
    }
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(crypto.provider())).build().ok()
}

#[cfg(test)]
mod tests;
