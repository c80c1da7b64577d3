//! The operating system as a server.
//!
//! It answers when it likes: each name that it is asked for holds a thread until then, and nobody can call it back. So a name
//! is asked for once at a time, so many names hold a thread at most, and whoever asks waits no longer than it wants to.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::addr::DomainName;

/// What all who ask the operating system share.
pub(super) struct System {
    flights: Mutex<HashMap<DomainName, watch::Receiver<Option<Looked>>>>,
    threads: Semaphore,
}

type Looked = Result<Arc<[IpAddr]>, Arc<str>>;

/// Why the operating system has no addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It says so. What it says of a name that does not exist cannot be told from its other failures.
    Failed(Arc<str>),
    /// It said nothing in time.
    Silent,
}

/// Names that hold a thread.
const THREADS: usize = 32;

/// Names that are asked for or wait for a thread.
const MOST: usize = 1024;

/// As long as Xray waits for a dial, where nothing says how long names may take.
pub(super) const LIMIT: Duration = Duration::from_secs(16);

impl System {
    /// The addresses of a name, in its order.
    pub(super) async fn look(self: &Arc<Self>, name: &DomainName, limit: Duration) -> Result<Arc<[IpAddr]>, Unknown> {
        let mut flight = self.fetch(name, limit)?;
        let landed = timeout(limit, flight.wait_for(Option::is_some)).await.map_err(|_| Unknown::Silent)?;
        let landed = landed.ok().and_then(|landed| landed.clone());
        landed.unwrap_or_else(|| Err("the question was given up".into())).map_err(Unknown::Failed)
    }

    /// Joins a question that is on its way, or sends one. It goes on without whoever asked first.
    fn fetch(self: &Arc<Self>, name: &DomainName, limit: Duration) -> Result<watch::Receiver<Option<Looked>>, Unknown> {
        let mut flights = self.lock();
        if let Some(flight) = flights.get(name).filter(|flight| flight.has_changed().is_ok()) {
            return Ok(flight.clone());
        }
        if flights.len() >= MOST {
            return Err(Unknown::Failed("too many names are on their way".into()));
        }
        let (landing, flight) = watch::channel(None);
        flights.insert(name.clone(), flight.clone());
        drop(flights);
        let (me, name) = (Arc::clone(self), name.clone());
        tokio::spawn(async move {
            let looked = me.ask(&name, limit).await;
            me.lock().remove(&name);
            landing.send_replace(Some(looked));
        });
        Ok(flight)
    }

    async fn ask(&self, name: &DomainName, limit: Duration) -> Looked {
        let thread = timeout(limit, self.threads.acquire()).await;
        let Ok(Ok(_thread)) = thread else { return Err("it is busy with other names".into()) };
        let found = tokio::net::lookup_host((name.as_str(), 0)).await;
        let found = found.map_err(|error| Arc::from(error.to_string()))?;
        Ok(found.map(|at| at.ip().to_canonical()).collect())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DomainName, watch::Receiver<Option<Looked>>>> {
        // Nothing that is done under it can leave it half done.
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for System {
    fn default() -> Self {
        Self { flights: Mutex::default(), threads: Semaphore::new(THREADS) }
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_thread_waits_no_longer_than_it_wants_to() {
        let system = Arc::new(System::default());
        let name = DomainName::new("localhost").unwrap();
        let busy = system.threads.acquire_many(u32::try_from(THREADS).unwrap()).await.unwrap();
        let soon = Duration::from_millis(50);
        let (a, b) = tokio::join!(system.look(&name, soon), system.look(&name, soon));
        assert!(a.is_err() && b.is_err(), "no thread was free: {a:?}, {b:?}");
        drop(busy);
        assert!(system.look(&name, Duration::from_secs(60)).await.is_ok());
    }

    #[tokio::test]
    async fn only_so_many_names_wait_and_each_once() {
        let system = Arc::new(System::default());
        let _busy = system.threads.acquire_many(u32::try_from(THREADS).unwrap()).await.unwrap();
        let (long, name) = (Duration::from_secs(60), |n: usize| DomainName::new(&format!("n{n}.invalid")).unwrap());
        let first = system.fetch(&name(0), long).unwrap();
        assert!(first.same_channel(&system.fetch(&name(0), long).unwrap()));
        for n in 1..MOST {
            system.fetch(&name(n), long).unwrap();
        }
        let more = system.look(&name(MOST), long).await;
        assert_eq!(more, Err(Unknown::Failed("too many names are on their way".into())));
    }
}
