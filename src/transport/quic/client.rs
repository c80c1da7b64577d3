//! The client's side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, VarInt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::pace::Pace;
use super::params::Params;
use super::port::{Opened, Port};
use super::unannounced::Completed;
use crate::addr::Host;
use crate::proto::mask::Masks;
use crate::tls;
use crate::transport::error::TransportError;

/// Opens connections, all in the same manner.
#[derive(Debug, Clone)]
pub struct Client {
    config: ClientConfig,
    params: Params,
    name: Option<String>,
    masks: Option<Arc<Masks>>,
}

/// Time for the handshake.
const LIMIT: Duration = Duration::from_secs(16);

impl Client {
    /// With TLS of options for QUIC.
    ///
    /// # Errors
    /// TLS that cannot go inside QUIC.
    pub fn new(tls: &tls::Client, params: &Params) -> Result<Self, TransportError> {
        let unfit = TransportError::NotBuilt { what: "QUIC with these TLS settings" };
        let Some((config, name)) = tls.for_quic() else { return Err(unfit) };
        let name = name.map(|name| name.to_str().into_owned());
        let config = Arc::new(QuicClientConfig::try_from(config).map_err(|_| unfit)?);
        let config: Arc<dyn crypto::ClientConfig> =
            if params.datagrams { Arc::new(Completed::<dyn crypto::ClientConfig>(config)) } else { config };
        Ok(Self { config: ClientConfig::new(config), params: params.clone(), name, masks: None })
    }

    /// The same, whose packets wear masks.
    #[must_use]
    pub fn masked(self, masks: Masks) -> Self {
        Self { masks: (!masks.is_empty()).then(|| Arc::new(masks)), ..self }
    }

    /// Opens a connection. `host` is the server's address, for where no name is set.
    ///
    /// # Errors
    /// Whatever the kernel says of the socket; the handshake failed, or took too long.
    pub async fn connect(&self, port: Port, host: &Host) -> io::Result<Connection> {
        self.connect_paced(port, host).await.map(|(connection, _)| connection)
    }

    /// The same, and what says how fast the connection sends.
    ///
    /// # Errors
    /// As there.
    pub async fn connect_paced(&self, port: Port, host: &Host) -> io::Result<(Connection, Arc<Pace>)> {
        let Opened { endpoint, socket, to, mut driver } = port.open(self.masks.as_ref(), self.params.hop.as_ref())?;
        let name = self.name.clone().unwrap_or_else(|| match host {
            Host::Ip(ip) => ip.to_string(),
            Host::Domain(name) => name.as_str().to_owned(),
        });
        let (pace, mut config) = (self.params.pace(), self.config.clone());
        config.transport_config(self.params.config(&pace, self.masks.as_ref().map_or(0, |masks| masks.overhead())));
        let connecting = socket.begin(&pace, || endpoint.connect_with(config, to, &name));
        let connecting = connecting.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let connection = tokio::select! {
            shaken = timeout(LIMIT, connecting) => shaken.map_err(|_| io::ErrorKind::TimedOut)??,
            () = ended(&mut driver) => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        if driver.is_some() {
            let connection = connection.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = connection.closed() => {}
                    () = ended(&mut driver) => connection.close(VarInt::from_u32(0), b""),
                }
            });
        }
        Ok((connection, pace))
    }
}

/// Waits until there is no way any more, for ever where there always is.
async fn ended(driver: &mut Option<JoinHandle<()>>) {
    match driver {
        Some(driver) => drop(driver.await),
        None => std::future::pending().await,
    }
}
