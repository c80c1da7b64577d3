//! The HTTP services of a config: one part, made, opened, served and ended as a whole.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::error::{BindError, BuildError};
use crate::flow::Services;
use crate::inbound::{ListenError, Place};
use crate::model::config::Config;
use crate::model::policy::LevelPolicy;
use crate::service::{HttpServices, Listening, Times};
use crate::tls::Crypto;

/// Services that can run.
#[derive(Debug)]
pub(super) struct Web {
    services: Arc<HttpServices>,
    times: Times,
}

/// Services whose doors are open.
#[derive(Debug)]
pub(super) struct OpenWeb {
    listening: Listening,
    times: Times,
}

impl Web {
    /// Makes the services of a config.
    ///
    /// # Errors
    /// [`BuildError`] where TLS to a server cannot be had.
    pub(super) fn new(config: &Config) -> Result<Self, BuildError> {
        let level = config.policy.level(0);
        // As for inbounds: 0 means that nothing is ended, but a client that never says what it wants must not stay.
        let handshake = Some(level.handshake.0).filter(|limit| !limit.is_zero());
        let times = Times {
            handshake: handshake.unwrap_or_else(|| LevelPolicy::default().handshake.0),
            idle: Some(level.conn_idle.0).filter(|limit| !limit.is_zero()),
            drain: config.policy.drain.0,
        };
        Ok(Self { services: Arc::new(HttpServices::new(&config.http_services, &Crypto::default())?), times })
    }

    /// Opens every door. A second set of services may open doors at the same addresses while the first still drains.
    ///
    /// # Errors
    /// [`BindError`] names the service; all that were open are closed again.
    pub(super) fn bind(self) -> Result<OpenWeb, BindError> {
        let listening = self.services.listen().map_err(|(tag, at, source)| BindError {
            door: format!("service {tag}"),
            source: ListenError { place: Place::Tcp(at), source },
        })?;
        Ok(OpenWeb { listening, times: self.times })
    }
}

impl OpenWeb {
    /// Where each service listens.
    pub(super) fn local(&self) -> impl Iterator<Item = (String, SocketAddr)> + '_ {
        self.listening.local()
    }

    /// Serves until the token falls, then for as long as running requests need and the policy allows.
    pub(super) async fn run(self, house: Arc<dyn Services>, token: CancellationToken) {
        self.listening.run(house, self.times, token).await;
    }
}
