//! The runtime around a running engine: threads, signals, and an end that does not drag on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::state::{self, Keeping};
use super::words::Wording;
use crate::balance::{Witness, Witnesses};
use crate::control::{Gallery, Live, PlaceError, Server, Surroundings};
use crate::engine::{BindError, BuildError, Engine, Plan};
use crate::geo::{Assets, Found};
use crate::journal::{Journal, Limit};
use crate::model::config::Config;
use crate::model::control::{Control, Socket};
use crate::reload::{Gather, Reloader, Watched};
use crate::telemetry::Telemetry;

/// Why a good configuration does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something in it cannot run; nothing was opened.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An inbound cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The control socket cannot be where it was asked for.
    #[error("control socket: {0}")]
    Control(#[from] PlaceError),
    /// The journal cannot be written.
    #[error("journal {path}: {source}")]
    Journal {
        /// Which file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The machine gives no threads or signals.
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
}

/// Names that are being looked up hold a thread each, and no call can end them; the process does not wait for those.
const LAST: Duration = Duration::from_millis(100);

/// How long a disk may take, once all else has ended, to keep what is known. The file of before is whole all the same.
const KEPT: Duration = Duration::from_secs(2);

/// What must be there before anything is read: a HUP that comes while we start must not end us.
pub struct Early {
    runtime: Runtime,
    /// A turn for each HUP, or for several that came together.
    asked: mpsc::Receiver<()>,
}

impl Early {
    /// Begins to hear.
    pub fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (sender, asked) = mpsc::channel(1);
        let guard = runtime.enter();
        hear(sender)?;
        drop(guard);
        Ok(Self { runtime, asked })
    }
}

/// How changes are taken over.
pub struct Reloading {
    /// The logs.
    pub telemetry: Arc<Telemetry>,
    /// Reads everything once more.
    pub gather: Gather,
    /// Whether unknown keys are errors.
    pub strict: bool,
    /// The files to watch, if any.
    pub watched: Option<Watched>,
    /// A print of the texts that run.
    pub print: u64,
    /// Where geodata files are looked for.
    pub assets: Assets,
    /// The lists that run.
    pub found: Found,
}

/// Runs the configuration until TERM or INT. Another one ends at once what still drains.
pub fn until_told(early: Early, config: Config, wording: Wording, reloading: Reloading) -> Result<(), StartError> {
    let settings = config.services.control.clone();
    let geodata = config.services.geodata.clone();
    let engine = Engine::prepare(Plan { config, lists: reloading.found.lists.clone() })?;
    raise_file_limit();
    let Early { runtime, asked } = early;
    let ended = runtime.block_on(async {
        let mut told = told()?;
        let bound = engine.bind()?;
        let journal = open_journal(&settings)?;
        let control = open_control(&settings.socket)?;
        let gallery = Arc::new(Gallery::default());
        let mut witnesses = Witnesses(vec![Arc::clone(&gallery) as Arc<dyn Witness>]);
        witnesses.0.extend(journal);
        let file = state::file_of(&settings.state_file);
        let bound = bound.watched_by(witnesses).recalling(state::recalled(file.as_ref()).await);
        // Panels wait for this line, and it must pass the level that most configurations have.
        tracing::warn!(target: "core", "{}", wording.started());
        let (ending, stop, applied) = (CancellationToken::new(), CancellationToken::new(), Arc::new(Notify::new()));
        let keeping = Keeping {
            engine: bound.engine(),
            applied: Arc::clone(&applied),
            ending: ending.clone(),
            stop: stop.clone(),
        };
        let kept = keeping.begin(file);
        let live = Arc::new(Live::new(bound.handle()));
        let control = control.map(|server| tokio::spawn(server.run(live, gallery, stop.clone())));
        let Reloading { telemetry, gather, strict, watched, print, assets, found } = reloading;
        let found = Arc::new(found);
        let (engine, handle) = (bound.engine(), bound.handle());
        let reloader = Reloader { engine, telemetry, gather, strict, print, applied, assets, found, handle, geodata };
        tokio::spawn(reloader.run(asked, watched, stop.clone()));
        let running = async {
            bound.run(stop).await;
            if let Some(control) = control {
                // Its socket goes with it.
                let _ = control.await;
            }
        };
        let twice = async {
            told.recv().await;
            ending.cancel();
            told.recv().await;
            tracing::warn!(target: "core", "told again to end: what still runs is ended");
        };
        tokio::select! {
            () = running => {}
            () = twice => {}
        }
        let _ = timeout(KEPT, kept).await;
        Ok(())
    });
    runtime.shutdown_timeout(LAST);
    ended
}

/// Opens the journal, if there is to be one.
fn open_journal(settings: &Control) -> Result<Option<Arc<dyn Witness>>, StartError> {
    if settings.journal.is_empty() {
        return Ok(None);
    }
    let engine = format!("etemenanki {}", env!("CARGO_PKG_VERSION"));
    let journal = Journal::open(Path::new(&settings.journal), Limit(settings.journal_max_bytes), &engine);
    let journal = journal.map_err(|source| StartError::Journal { path: settings.journal.clone(), source })?;
    Ok(Some(Arc::new(journal)))
}

/// Opens the control socket. Where the usual place cannot be used the engine runs all the same: traffic comes first. One
/// that was asked for must be there.
fn open_control(socket: &Socket) -> Result<Option<Server>, PlaceError> {
    match Server::open(socket, &Surroundings::here()) {
        Err(error) if *socket == Socket::Auto => {
            tracing::warn!(target: "core", "no control socket: {error}");
            Ok(None)
        }
        opened => opened.inspect(|server| {
            if let Some(server) = server {
                tracing::info!(target: "core", "control socket {}", server.path().display());
            }
        }),
    }
}

/// A tunnel takes two files, and many systems still begin with 1024. The soft limit is there for programs that cannot do
/// with more; Go's runtime, and so Xray, raises it too.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            if let Err(error) = setrlimit(Resource::Nofile, limit) {
                tracing::debug!(%error, "the limit of open files stays");
            }
        }
    }
}

/// Gives a turn for each HUP.
#[cfg(unix)]
fn hear(sender: mpsc::Sender<()>) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // One that waits already will see what this one means.
            let _ = sender.try_send(());
        }
    });
    Ok(())
}

/// There is no such signal here.
#[cfg(not(unix))]
fn hear(_: mpsc::Sender<()>) -> io::Result<()> {
    Ok(())
}

/// Gives a turn for each signal that ends us. Those are heard from here on, not from the first poll.
#[cfg(unix)]
fn told() -> io::Result<mpsc::Receiver<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, told) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            if sender.send(()).await.is_err() {
                return;
            }
        }
    });
    Ok(told)
}

/// The same for Ctrl-C.
#[cfg(not(unix))]
fn told() -> io::Result<mpsc::Receiver<()>> {
    let (sender, told) = mpsc::channel(1);
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).await.is_ok() {} });
    Ok(told)
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::process::{Resource, getrlimit};

    #[test]
    fn as_many_files_as_the_system_allows() {
        super::raise_file_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
