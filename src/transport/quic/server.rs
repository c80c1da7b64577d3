//! The server's side of a handshake.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{Connection, ServerConfig};
use tokio::time::timeout;

use super::caller::Caller;
use super::params::Params;
use crate::tls;
use crate::transport::arrival::Hello;
use crate::transport::error::TransportError;

/// Runs handshakes, all in the same manner.
#[derive(Debug, Clone)]
pub struct Server {
    tls: tls::Server,
    config: Arc<ServerConfig>,
}

impl Server {
    /// With TLS of options for QUIC.
    ///
    /// # Errors
    /// TLS that cannot go inside QUIC.
    pub fn new(tls: tls::Server, params: &Params) -> Result<Self, TransportError> {
        let unfit = |_| TransportError::NotBuilt { what: "QUIC with these TLS settings" };
        let config = QuicServerConfig::try_from(tls.for_quic()).map_err(unfit)?;
        let mut config = ServerConfig::with_crypto(Arc::new(config));
        config.transport_config(params.config());
        Ok(Self { tls, config: Arc::new(config) })
    }

    pub(super) fn config(&self) -> ServerConfig {
        ServerConfig::clone(&self.config)
    }

    /// Runs the handshake with whoever called.
    ///
    /// # Errors
    /// It failed, or took longer than `limit`.
    pub async fn accept(&self, caller: Caller, limit: Duration) -> io::Result<(Connection, Hello)> {
        self.tls.refresh().await;
        let Caller { incoming, busy } = caller;
        let connecting = incoming.accept_with(Arc::clone(&self.config))?;
        let connection = timeout(limit, connecting).await.map_err(|_| io::ErrorKind::TimedOut)??;
        drop(busy);
        let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        let (alpn, name) = data.map(|data| (data.protocol, data.server_name)).unwrap_or_default();
        Ok((connection, Hello { server_name: name.map(Into::into), alpn: alpn.map(Into::into), tls13: true }))
    }
}
