//! What is known of balancers, kept in a file while the engine runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use crate::balance::Memory;
use crate::engine::Engine;
use crate::journal::{StateError, StateFile};

/// How often it is written while nothing happens.
const EVERY: Duration = Duration::from_secs(300);

/// How long those who know may take to tell it when the engine is to end.
const TOLD: Duration = Duration::from_millis(200);

/// Reads the file, if there is to be one. One that cannot be used costs a line in the log and nothing else.
pub(super) async fn recalled(file: Option<&StateFile>) -> Memory {
    let Some(file) = file.cloned() else { return Memory::default() };
    let path = file.0.clone();
    let read = spawn_blocking(move || file.read()).await.unwrap_or_else(|error| Err(StateError::Io(error.into())));
    read.unwrap_or_else(|error| {
        tracing::warn!(target: "core", "state file {}: {error}; starting without it", path.display());
        Memory::default()
    })
}

/// Who keeps it.
pub(super) struct Keeping {
    pub(super) engine: Engine,
    /// Whether another configuration was taken over.
    pub(super) applied: Arc<Notify>,
    /// Somebody wants the engine to end.
    pub(super) ending: CancellationToken,
    /// Ends the engine, once what is known was asked for: those who know end with it.
    pub(super) stop: CancellationToken,
}

impl Keeping {
    /// Keeps it until the engine ends. What comes back is done once the last of it was written.
    pub(super) fn begin(self, file: Option<StateFile>) -> JoinHandle<()> {
        tokio::spawn(async move {
            let Some(file) = file else {
                self.ending.cancelled().await;
                self.stop.cancel();
                return;
            };
            // The disk may be slow, and nobody here waits for it.
            let (write, last) = watch::channel(Arc::default());
            let writer = tokio::spawn(written(file, last));
            self.run(write).await;
            let _ = writer.await;
        })
    }

    async fn run(self, write: watch::Sender<Arc<Memory>>) {
        let Self { engine, applied, ending, stop } = self;
        let mut beat = interval_at(Instant::now() + EVERY, EVERY);
        loop {
            tokio::select! {
                () = ending.cancelled() => break,
                _ = beat.tick() => {}
                () = applied.notified() => {}
            }
            let known = tokio::select! {
                () = ending.cancelled() => break,
                known = engine.remember() => known,
            };
            known.into_iter().for_each(|known| _ = write.send(known.into()));
        }
        let known = timeout(TOLD, engine.remember()).await.ok().flatten();
        stop.cancel();
        known.into_iter().for_each(|known| _ = write.send(known.into()));
    }
}

/// Writes the newest, whenever there is one. A disk that refuses is told of once, and again when it refuses for another reason.
async fn written(file: StateFile, mut newest: watch::Receiver<Arc<Memory>>) {
    let mut last = None;
    while newest.changed().await.is_ok() {
        let (to, memory) = (file.clone(), Arc::clone(&newest.borrow_and_update()));
        let done = spawn_blocking(move || to.write(&memory)).await;
        let fault = done.unwrap_or_else(|error| Err(StateError::Io(error.into()))).err().map(|error| error.to_string());
        if let Some(fault) = fault.as_ref().filter(|fault| last.as_ref() != Some(*fault)) {
            tracing::warn!(target: "core", "state file {} is not written: {fault}", file.0.display());
        }
        last = fault;
    }
}

/// The file that a path names; empty is none.
pub(super) fn file_of(path: &str) -> Option<StateFile> {
    (!path.is_empty()).then(|| StateFile(PathBuf::from(path)))
}
