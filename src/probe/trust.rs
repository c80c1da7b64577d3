//! The TLS settings of speed tests: whom to trust, which HTTP versions, and no memory of earlier connections.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

/// Certificates are read when the first test needs them, and only once.
#[derive(Debug, Default)]
pub struct Trust {
    full: OnceCell<ClientConfig>,
}

impl Trust {
    /// Settings for a scheme: plain HTTP needs no certificates, but the client wants settings all the same.
    pub async fn settings(&self, scheme: &str) -> ClientConfig {
        if scheme != "https" {
            return config(RootCertStore::empty());
        }
        self.full
            .get_or_init(|| async { config(spawn_blocking(roots).await.unwrap_or_else(|_| shipped())) })
            .await
            .clone()
    }

    /// Trusts these certificates and no others.
    #[cfg(test)]
    pub fn only(roots: RootCertStore) -> Self {
        Self { full: OnceCell::new_with(Some(config(roots))) }
    }
}

/// The certificates this machine trusts, and those of Mozilla where it has none.
fn roots() -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() { shipped() } else { store }
}

fn shipped() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn config(roots: RootCertStore) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        // The provider carries both versions; if it ever does not, its own choice is the next best thing.
        .unwrap_or_else(|_| ClientConfig::builder());
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Each attempt pays the full price: a resumed session would make later members look faster than the first.
    config.resumption = Resumption::disabled();
    config
}
