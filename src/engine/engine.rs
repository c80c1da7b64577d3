//! The engine: built from a config, bound to its sockets, run until it is told to stop, changed while it runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::apply::{Standing, apply, probe};
use super::bench::Bench;
use super::build::{Built, Made, build};
use super::diff::Applied;
use super::error::{ApplyError, BindError, BuildError};
use super::handle::Handle;
use super::plan::Plan;
use super::shared::Shared;
use super::tasks::Running;
use super::web::{OpenWeb, Web};
use crate::balance::{Balancer, Memory, Witnesses};
use crate::inbound::Listener;
use crate::probe::Watched;

/// A running engine, for whoever changes it or wants to know of it. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// What runs; nothing before it began and after it ended.
    standing: Arc<Mutex<Option<Standing>>>,
}

impl Engine {
    /// Makes everything that flows will need.
    ///
    /// # Errors
    /// [`BuildError`] names the first part that cannot run.
    pub fn prepare(plan: impl Into<Plan>) -> Result<Ready, BuildError> {
        let plan = plan.into();
        let Built { snapshot, entries, watched } = build(&plan.config, &plan.lists, None)?;
        let shared = Arc::new(Shared::new(snapshot));
        let web = Web::new(&plan.config)?;
        let made = entries.into_iter().filter_map(|entry| entry.made()).collect();
        Ok(Ready { shared, plan, made, watched, web })
    }

    /// Goes over to another config: the one way in which anything is changed, whoever asks for it. Parts that are the same
    /// in both go on with their flows, connections and what is known of them; flows of others may go on for as long as
    /// the policy's `drain` says. One call waits for the other.
    ///
    /// # Errors
    /// [`ApplyError`] says why not; nothing was changed then.
    pub async fn apply(&self, next: impl Into<Plan>) -> Result<Applied, ApplyError> {
        let next = next.into();
        let mut standing = self.standing.lock().await;
        apply(&self.shared, standing.as_mut().ok_or(ApplyError::NotRunning)?, next).await
    }

    /// The balancers of this moment.
    #[must_use]
    pub fn balancers(&self) -> Vec<Arc<Balancer>> {
        self.shared.snapshot().groups.iter().map(|group| Arc::clone(&group.balancer)).collect()
    }

    /// Writes down what is known of balancers, for a file; nothing unless the engine runs.
    pub async fn remember(&self) -> Option<Memory> {
        // Whoever changes the engine may just be replacing those who know.
        let standing = self.standing.lock().await;
        let prober = standing.is_some().then(|| self.shared.prober.load_full())?;
        Some(prober?.remember().await)
    }

    /// Where each inbound listens at this moment, by tag (or place) in their order.
    pub async fn local(&self) -> Vec<(String, SocketAddr)> {
        let standing = self.standing.lock().await;
        let inbounds = standing.iter().flat_map(|standing| &standing.inbounds);
        let local = |one: &Running| {
            let places = one.seats.iter().filter_map(|seat| seat.local);
            places.map(|at| (one.name.clone(), at)).collect::<Vec<_>>()
        };
        inbounds.flat_map(local).collect()
    }
}

/// A config that can run. Nothing is open yet.
#[derive(Debug)]
pub struct Ready {
    pub(super) shared: Arc<Shared>,
    pub(super) plan: Plan,
    made: Vec<Made>,
    watched: Vec<Watched>,
    web: Web,
}

impl Ready {
    /// A hold on it. Flows of the program itself can go by it before anything listens.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.shared))
    }

    /// Opens every listener of every inbound. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`BindError`] names the inbound and the address; all that were open are closed again.
    pub fn bind(self) -> Result<Bound, BindError> {
        let Self { shared, plan, made, watched, web } = self;
        let open = |made: Made| {
            let listen = |place| Listener::open(&made.inbound, place);
            let listeners = made.inbound.places.iter().map(listen).collect::<Result<_, _>>();
            let listeners = listeners.map_err(|source| BindError { door: format!("inbound {}", made.name), source })?;
            Ok(Open { made, listeners })
        };
        let open = made.into_iter().map(open).collect::<Result<_, BindError>>()?;
        let engine = Engine { shared, standing: Arc::default() };
        // Nobody has it yet, so it is free; whoever wants to change the engine waits until it runs.
        let begun = Arc::clone(&engine.standing).try_lock_owned().ok();
        Ok(Bound { engine, plan, open, watched, memory: Memory::default(), web: web.bind()?, begun })
    }
}

/// An engine whose listeners are open. Clients can connect already; they are served by [`Bound::run`].
pub struct Bound {
    engine: Engine,
    plan: Plan,
    open: Vec<Open>,
    watched: Vec<Watched>,
    memory: Memory,
    web: OpenWeb,
    begun: Option<OwnedMutexGuard<Option<Standing>>>,
}

struct Open {
    made: Made,
    listeners: Vec<Listener>,
}

/// How long flows may take to end once they were told to. Service managers and panels kill after a second.
const LAST: Duration = Duration::from_millis(500);

impl Bound {
    /// The engine, to change it while it runs.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Where each inbound listens, by tag (or place) in their order, then each service; ports that were 0 are known now.
    #[must_use]
    pub fn local(&self) -> Vec<(String, SocketAddr)> {
        let each = |open: &Open| {
            let name = open.made.name.clone();
            let local: Vec<_> = open.listeners.iter().filter_map(Listener::local).collect();
            local.into_iter().map(move |at| (name.clone(), at))
        };
        self.open.iter().flat_map(each).chain(self.web.local()).collect()
    }

    /// The balancers, for whoever shows what they know.
    #[must_use]
    pub fn balancers(&self) -> Vec<Arc<Balancer>> {
        self.engine.balancers()
    }

    /// Tells these what balancers learn and decide, from the first moment to the last. Asked twice, it keeps the first.
    #[must_use]
    pub fn watched_by(self, witnesses: Witnesses) -> Self {
        self.engine.shared.witnesses.get_or_init(|| witnesses);
        self
    }

    /// Begins with what an engine before it knew. It counts where members and their checks are the same.
    #[must_use]
    pub fn recalling(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// A hold on it, which lasts while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.engine.shared))
    }

    /// Serves until the token falls, then ends every flow and waits for a moment until they are gone.
    pub async fn run(self, token: CancellationToken) {
        let Self { engine: Engine { shared, standing }, plan, open, watched, memory, web, begun: held } = self;
        let bench = Arc::new(Bench::new(Arc::clone(&shared), shared.snapshot()));
        let web = web.start(&shared, &token);
        let Plan { config, lists } = plan;
        let mut begun = Standing { config, lists, inbounds: vec![], draining: vec![], bench, web, stop: token.clone() };
        // Before the first flow, so that none slips past a balancer that is to hold it.
        probe(&shared, &begun, watched, memory).await;
        for Open { made, listeners } in open {
            let mut inbound = Running::new(&shared, made, &token);
            listeners.into_iter().for_each(|listener| inbound.open(&shared, listener, &token));
            begun.inbounds.push(inbound);
        }
        match held {
            Some(mut held) => *held = Some(begun),
            None => *standing.lock().await = Some(begun),
        }
        token.cancelled().await;
        standing.lock().await.take();
        shared.doors.close();
        shared.doors.wait().await;
        shared.end.cancel();
        shared.flows.close();
        if timeout(LAST, shared.flows.wait()).await.is_err() {
            tracing::debug!(flows = shared.flows.len(), "some flows did not end in time");
        }
        shared.prober.store(None);
        // Requests of services have longer: a client that waits for an answer cannot tell why none comes.
        shared.webs.close();
        shared.webs.wait().await;
    }
}
