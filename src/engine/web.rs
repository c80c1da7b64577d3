//! The HTTP services of a config: one part, made, opened, served and ended as a whole.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use super::error::{BindError, BuildError};
use super::shared::Shared;
use super::snapshot::Snapshot;
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

/// Services that run.
pub(super) struct RunningWeb {
    /// What they ask the house.
    bench: Arc<Bench>,
    times: Times,
    token: CancellationToken,
}

impl RunningWeb {
    /// Goes on in a later snapshot.
    pub(super) fn renew(&self, snapshot: Arc<Snapshot>) {
        self.bench.renew(snapshot);
    }

    /// Whether other services are like these, if their configs are.
    pub(super) fn is_like(&self, other: &Web) -> bool {
        self.times == other.times
    }

    /// Takes no further request; those that run have their time to end.
    pub(super) fn end(&self) {
        self.token.cancel();
    }
}

impl OpenWeb {
    /// Where each service listens.
    pub(super) fn local(&self) -> impl Iterator<Item = (String, SocketAddr)> + '_ {
        self.listening.local()
    }

    /// Serves until it is ended or the token falls, then for as long as running requests need and the policy allows.
    pub(super) fn start(self, shared: &Arc<Shared>, token: &CancellationToken) -> RunningWeb {
        let Self { listening, times } = self;
        let services = listening.services();
        if let Some(earlier) = shared.web.swap(Some(Arc::clone(&services))) {
            services.inherit(&earlier);
        }
        let bench = Arc::new(Bench::new(Arc::clone(shared), shared.snapshot()));
        let token = token.child_token();
        let house: Arc<dyn Services> = Arc::clone(&bench) as _;
        shared.webs.spawn(listening.run(house, times, token.clone()));
        RunningWeb { bench, times, token }
    }
}
