//! The loop: a signal or a change, the texts once more, and the engine goes over to them or stays.

use std::future::pending;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::files::{Changes, Watched};
use super::read::{Read, Refused, read};
use super::updates::Updates;
use crate::engine::{Engine, Handle, Plan};
use crate::frontend::Source;
use crate::geo::{Assets, Found};
use crate::model::geodata::Geodata;
use crate::telemetry::{Setup, Telemetry};
use crate::update::{Outcome, Staged, UpdateError};

/// Reads the texts of the configuration once more, or says why that cannot be.
pub type Gather = Arc<dyn Fn() -> Result<Vec<Source>, String> + Send + Sync>;

/// All that a reload needs.
pub struct Reloader {
    /// What is changed.
    pub engine: Engine,
    /// Where logs go and what they say changes too.
    pub telemetry: Arc<Telemetry>,
    /// Where texts come from.
    pub gather: Gather,
    /// Whether keys that nobody knows are errors.
    pub strict: bool,
    /// The texts that run, for a watch that is to see whether anything changed.
    pub print: u64,
    /// Who is to know of every configuration that was taken over.
    pub applied: Arc<Notify>,
    /// Where geodata files are looked for.
    pub assets: Assets,
    /// The lists that run.
    pub found: Arc<Found>,
    /// By what way new geodata files come.
    pub handle: Handle,
    /// Which, and when.
    pub geodata: Option<Geodata>,
}

/// Who asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A person. They are answered, and log files are opened anew, as those who rotate them expect.
    Asked,
    /// A file; nothing is said if its bytes are those that were read last.
    Changed,
    /// The schedule of geodata files.
    Due,
}

impl Reloader {
    /// Serves until the token falls. `asked` gives a turn for each signal.
    pub async fn run(mut self, mut asked: mpsc::Receiver<()>, watched: Option<Watched>, token: CancellationToken) {
        let mut changes = watched.and_then(|watched| {
            let started = watched.start();
            started
                .inspect_err(|error| tracing::warn!(target: "core", "the configuration cannot be watched: {error}"))
                .ok()
        });
        // What was written since the texts were read and before anybody watched.
        let mut missed = changes.is_some();
        let mut updates = Updates::default();
        loop {
            let cause = tokio::select! {
                () = token.cancelled() => return,
                Some(()) = asked.recv() => Cause::Asked,
                () = std::future::ready(()), if missed => Cause::Changed,
                () = changed(&mut changes) => Cause::Changed,
                fetched = updates.next(self.geodata.as_ref(), &self.handle, &self.assets) => {
                    if let Err(why) = self.update(fetched).await {
                        tracing::error!(target: "core", "geodata update: {why}");
                    }
                    continue;
                }
            };
            missed = false;
            if let Err(refused) = self.reload(cause).await {
                tracing::error!(target: "core", "{refused}");
            }
        }
    }

    /// Puts new geodata files in place if the configuration loads with them, and goes over to them.
    async fn update(&mut self, fetched: Result<Vec<Staged>, UpdateError>) -> Result<(), String> {
        let staged = fetched.map_err(|error| error.to_string())?;
        if !staged.is_empty() {
            let sources = self.gathered().await.map_err(|refused| refused.to_string())?;
            let (strict, before) = (self.strict, Arc::clone(&self.found));
            let trial = self.assets.with(staged.iter().map(Staged::trial));
            let put = move || {
                let tried = read(sources, strict, &trial, &before);
                tried.map_err(|refused| format!("the new files are not taken: {refused}"))?;
                Staged::put(staged).map_err(|error| UpdateError::Put(error).to_string())
            };
            let put = spawn_blocking(put).await.unwrap_or_else(|error| Err(error.to_string()))?;
            for (place, outcome) in put {
                let outcome = if outcome == Outcome::New { "updated" } else { "unchanged" };
                tracing::info!(target: "core", "geodata update: {}: {outcome}", place.display());
            }
        }
        self.reload(Cause::Due).await.map_err(|refused| refused.to_string())
    }

    async fn gathered(&self) -> Result<Vec<Source>, Refused> {
        let gather = Arc::clone(&self.gather);
        let gathered = spawn_blocking(move || gather()).await.unwrap_or_else(|error| Err(error.to_string()));
        gathered.map_err(Refused::Parse)
    }

    async fn reload(&mut self, cause: Cause) -> Result<(), Refused> {
        // A file that is just being replaced may be gone for a moment; the next change tells of what came.
        let sources = self.gathered().await?;
        let print = print(&sources);
        if cause == Cause::Changed && print == self.print {
            return Ok(());
        }
        self.print = print;
        let strict = self.strict;
        let (assets, before) = (self.assets.clone(), Arc::clone(&self.found));
        let told = spawn_blocking(move || read(sources, strict, &assets, &before)).await;
        let Read { config, found, warnings } = told.unwrap_or_else(|error| Err(Refused::Parse(error.to_string())))?;
        let build = |error: &dyn std::error::Error| Refused::Build(error.to_string());
        let setup = Setup::of(&config.log).map_err(|error| build(&error))?;
        setup.try_open().map_err(|error| build(&error))?;
        let geodata = config.services.geodata.clone();
        let applied =
            self.engine.apply(Plan { config, lists: found.lists.clone() }).await.map_err(|error| build(&error))?;
        self.found = Arc::new(found);
        self.geodata = geodata;
        self.applied.notify_one();
        if (cause == Cause::Asked || !applied.is_nothing())
            && let Err(error) = self.telemetry.apply(&setup)
        {
            tracing::warn!(target: "core", "logs stay as they were: {error}");
        }
        warnings.iter().for_each(|line| tracing::warn!(target: "core", "{line}"));
        tracing::info!(target: "core", "config reload: {applied}");
        for key in &applied.later {
            tracing::warn!(target: "core", "config reload: {key} counts from the next start");
        }
        Ok(())
    }
}

async fn changed(changes: &mut Option<Changes>) {
    if let Some(some) = changes {
        if some.next().await.is_some() {
            return;
        }
        *changes = None;
    }
    pending().await
}

/// A print of texts: whoever only touches a file changes nothing.
pub fn print(sources: &[Source]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for Source { name, bytes, .. } in sources {
        (name, bytes).hash(&mut hasher);
    }
    hasher.finish()
}
