//! The engine of the demo: what `run` does with a user's file, done with a text.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::config::{BALANCER, text};
use crate::balance::Balancer;
use crate::engine::{BindError, BuildError, Engine};
use crate::frontend::{Format, Options, Source, headline, load};

/// A running engine.
#[derive(Debug)]
pub struct House {
    inbound: SocketAddr,
    balancer: Arc<Balancer>,
    token: CancellationToken,
    running: JoinHandle<()>,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener could not be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A part of it could not be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The embedded configuration was refused.
    #[error("the embedded configuration: {0}")]
    Config(String),
    /// It runs, but not as the configuration says.
    #[error("the engine has no {0}")]
    Missing(&'static str),
}

impl House {
    /// Reads the embedded configuration and starts the engine with it.
    ///
    /// # Errors
    /// [`StartError`] with the reason.
    pub fn start(members: [SocketAddr; 3], tests: SocketAddr, token: &CancellationToken) -> Result<Self, StartError> {
        let json =
            Source { name: "demo.json".into(), bytes: text(0, members, tests).into(), format: Some(Format::Json) };
        let mut loaded = load(vec![json], &Options { strict: true, env: &|_| None });
        let config = loaded.link().filter(|_| !loaded.failed()).ok_or_else(|| {
            let first = loaded.first_error().map(|(problem, _)| headline(&loaded.sources, problem));
            StartError::Config(first.unwrap_or_default())
        })?;
        let bound = Engine::prepare(config)?.bind()?;
        let inbound = bound.local().first().map(|(_, at)| *at).ok_or(StartError::Missing("inbound"))?;
        let balancer = bound.balancers().into_iter().find(|balancer| balancer.tag().as_str() == BALANCER);
        let balancer = balancer.ok_or(StartError::Missing("balancer"))?;
        let token = token.child_token();
        let running = tokio::spawn(bound.run(token.clone()));
        Ok(Self { inbound, balancer, token, running })
    }

    /// Where users connect.
    #[must_use]
    pub fn inbound(&self) -> SocketAddr {
        self.inbound
    }

    /// The balancer under test.
    #[must_use]
    pub fn balancer(&self) -> &Arc<Balancer> {
        &self.balancer
    }

    /// Stops the engine as a signal would.
    pub async fn stop(self) {
        self.token.cancel();
        // A panic in the engine has been shown by the runtime; the demo's verdict stands on what was carried.
        let _ = self.running.await;
    }
}
