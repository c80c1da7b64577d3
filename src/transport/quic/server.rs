//! The server's side of a handshake.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto;
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{Connection, ServerConfig};
use tokio::time::timeout;

use super::caller::Caller;
use super::pace::Pace;
use super::params::Params;
use super::unannounced::Completed;
use crate::proto::mask::Masks;
use crate::tls;
use crate::transport::arrival::Hello;
use crate::transport::error::TransportError;

/// Runs handshakes, all in the same manner.
#[derive(Debug, Clone)]
pub struct Server {
    tls: tls::Server,
    params: Params,
    config: Arc<ServerConfig>,
    masks: Option<Arc<Masks>>,
}

impl Server {
    /// With TLS of options for QUIC.
    ///
    /// # Errors
    /// TLS that cannot go inside QUIC.
    pub fn new(tls: tls::Server, params: &Params) -> Result<Self, TransportError> {
        let unfit = |_| TransportError::NotBuilt { what: "QUIC with these TLS settings" };
        let config = Arc::new(QuicServerConfig::try_from(tls.for_quic()).map_err(unfit)?);
        let config: Arc<dyn crypto::ServerConfig> =
            if params.datagrams { Arc::new(Completed::<dyn crypto::ServerConfig>(config)) } else { config };
        let config = Arc::new(ServerConfig::with_crypto(config));
        Ok(Self { tls, params: params.clone(), config, masks: None })
    }

    /// The same, whose packets wear masks.
    #[must_use]
    pub fn masked(self, masks: Masks) -> Self {
        Self { masks: (!masks.is_empty()).then(|| Arc::new(masks)), ..self }
    }

    /// The masks of its packets.
    #[must_use]
    pub fn masks(&self) -> Option<Arc<Masks>> {
        self.masks.clone()
    }

    pub(super) fn config(&self) -> ServerConfig {
        ServerConfig::clone(&self.config)
    }

    /// Runs the handshake with whoever called. What comes with it says how fast the connection sends.
    ///
    /// # Errors
    /// It failed, or took longer than `limit`.
    pub async fn accept(&self, caller: Caller, limit: Duration) -> io::Result<(Connection, Hello, Arc<Pace>)> {
        self.tls.refresh().await;
        let Caller { incoming, socket, busy } = caller;
        let (pace, mut config) = (self.params.pace(), ServerConfig::clone(&self.config));
        config.transport_config(self.params.config(&pace, self.masks.as_ref().map_or(0, |masks| masks.overhead())));
        let connecting = socket.begin(&pace, || incoming.accept_with(Arc::new(config)))?;
        let connection = timeout(limit, connecting).await.map_err(|_| io::ErrorKind::TimedOut)??;
        drop(busy);
        let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        let (alpn, name) = data.map(|data| (data.protocol, data.server_name)).unwrap_or_default();
        let hello = Hello { server_name: name.map(Into::into), alpn: alpn.map(Into::into), tls13: true };
        Ok((connection, hello, pace))
    }
}
