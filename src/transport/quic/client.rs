//! The client's side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, VarInt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::params::Params;
use super::port::{Opened, Port};
use crate::addr::Host;
use crate::tls;
use crate::transport::error::TransportError;

/// Opens connections, all in the same manner.
#[derive(Debug, Clone)]
pub struct Client {
    config: ClientConfig,
    name: Option<String>,
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
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).map_err(|_| unfit)?));
        config.transport_config(params.config());
        Ok(Self { config, name })
    }

    /// Opens a connection. `host` is the server's address, for where no name is set.
    ///
    /// # Errors
    /// Whatever the kernel says of the socket; the handshake failed, or took too long.
    pub async fn connect(&self, port: Port, host: &Host) -> io::Result<Connection> {
        let Opened { endpoint, to, mut driver } = port.open()?;
        let name = self.name.clone().unwrap_or_else(|| match host {
            Host::Ip(ip) => ip.to_string(),
            Host::Domain(name) => name.as_str().to_owned(),
        });
        let connecting = endpoint.connect_with(self.config.clone(), to, &name);
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
        Ok(connection)
    }
}

/// Waits until there is no way any more, for ever where there always is.
async fn ended(driver: &mut Option<JoinHandle<()>>) {
    match driver {
        Some(driver) => drop(driver.await),
        None => std::future::pending().await,
    }
}
