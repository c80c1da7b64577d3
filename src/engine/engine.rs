//! The engine: built from a config, bound to its sockets, run until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::build::{Entry, build};
use super::dispatch::Door;
use super::error::{BindError, BuildError};
use super::handle::Handle;
use super::services::Always;
use super::shared::Shared;
use super::web::{OpenWeb, Web};
use crate::balance::Balancer;
use crate::flow::{Services, Sink};
use crate::inbound::Listening;
use crate::model::config::Config;
use crate::probe::{Prober, Watched};

/// A config that can run. Nothing is open yet.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    entries: Vec<Entry>,
    watched: Vec<Watched>,
    web: Web,
}

impl Engine {
    /// Makes everything that flows will need.
    ///
    /// # Errors
    /// [`BuildError`] names the first part that cannot run.
    pub fn new(config: &Config) -> Result<Self, BuildError> {
        let built = build(config)?;
        let shared = Arc::new(Shared::new(built.snapshot));
        Ok(Self { shared, entries: built.entries, watched: built.watched, web: Web::new(config)? })
    }

    /// Opens every listener of every inbound. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`BindError`] names the inbound and the address; all that were open are closed again.
    pub fn bind(self) -> Result<Bound, BindError> {
        let Self { shared, entries, watched, web } = self;
        let open = |entry: Entry| {
            let door = || format!("inbound {}", entry.name);
            let listening = entry.inbound.listen().map_err(|source| BindError { door: door(), source })?;
            Ok(Open { entry, listening })
        };
        let open = entries.into_iter().map(open).collect::<Result<_, BindError>>()?;
        Ok(Bound { shared, open, watched, web: web.bind()? })
    }
}

/// An engine whose listeners are open. Clients can connect already; they are served by [`Bound::run`].
#[derive(Debug)]
pub struct Bound {
    shared: Arc<Shared>,
    open: Vec<Open>,
    watched: Vec<Watched>,
    web: OpenWeb,
}

#[derive(Debug)]
struct Open {
    entry: Entry,
    listening: Listening,
}

/// How long flows may take to end once they were told to. Service managers and panels kill after a second.
const LAST: Duration = Duration::from_millis(500);

impl Bound {
    /// Where each inbound listens, by tag (or place) in their order, then each service; ports that were 0 are known now.
    #[must_use]
    pub fn local(&self) -> Vec<(String, SocketAddr)> {
        let each = |open: &Open| {
            let name = open.entry.name.clone();
            let local = open.listening.local().unwrap_or_default();
            local.into_iter().map(move |at| (name.clone(), at))
        };
        self.open.iter().flat_map(each).chain(self.web.local()).collect()
    }

    /// The balancers that something probes, for whoever shows what they know.
    #[must_use]
    pub fn balancers(&self) -> Vec<Arc<Balancer>> {
        self.shared.snapshot().groups.iter().map(|group| Arc::clone(&group.balancer)).collect()
    }

    /// A hold on it, which lasts while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.shared))
    }

    /// Serves until the token falls, then ends every flow and waits for a moment until they are gone.
    pub async fn run(self, token: CancellationToken) {
        let Self { shared, open, watched, web } = self;
        let services = Arc::new(Always(Arc::clone(&shared)));
        let mut served = JoinSet::new();
        served.spawn(web.run(Arc::clone(&services) as Arc<dyn Services>, token.clone()));
        // Before the first flow, so that none slips past a balancer that is to hold it.
        shared.prober.store(Some(Arc::new(Prober::start(watched, services, &token))));
        let mut doors = JoinSet::new();
        for Open { entry, listening } in open {
            let sink: Arc<dyn Sink> = Arc::new(Door { shared: Arc::clone(&shared), sniffing: entry.sniffing });
            doors.spawn(listening.run(sink, token.clone()));
        }
        token.cancelled().await;
        while doors.join_next().await.is_some() {}
        shared.end.cancel();
        shared.flows.close();
        if timeout(LAST, shared.flows.wait()).await.is_err() {
            tracing::debug!(flows = shared.flows.len(), "some flows did not end in time");
        }
        shared.prober.store(None);
        // Requests of services have longer: a client that waits for an answer cannot tell why none comes.
        while served.join_next().await.is_some() {}
    }
}
