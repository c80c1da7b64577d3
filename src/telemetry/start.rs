//! Puts the parts together and keeps the handles by which they can be changed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::Dispatch;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use super::file::LogFile;
use super::layer::{Control, Lines};
use super::level::Threshold;
use super::mask::Mask;
use super::writer::{Outlet, Outlets, Queue};

/// How long the end of the program waits for a reader that does not read.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What is said and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// What the general log says.
    pub threshold: Threshold,
    /// Where the general log goes.
    pub error: Destination,
    /// Where the access log goes.
    pub access: Destination,
    /// What is hidden of addresses, in both.
    pub mask: Option<Mask>,
}

/// Where a log goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Destination {
    /// Nowhere.
    Off,
    /// Standard output.
    #[default]
    Stdout,
    /// A file, made with mode 0600 and appended to.
    File(PathBuf),
}

/// A log file that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the log file {}: {source}", path.display())]
pub struct OpenError {
    path: PathBuf,
    source: io::Error,
}

/// The running telemetry. Dropping it writes out what waits.
#[derive(Debug)]
pub struct Telemetry {
    queue: Arc<Queue>,
    control: Arc<Control>,
}

impl Setup {
    /// Opens its files (making them where they are missing) and closes them again: what `--test` wants to know.
    pub fn try_open(&self) -> Result<(), OpenError> {
        self.open().map(drop)
    }

    fn open(&self) -> Result<Outlets, OpenError> {
        let open = |destination: &Destination| match destination {
            Destination::Off => Ok(Outlet::Off),
            Destination::Stdout => Ok(Outlet::Stdout),
            Destination::File(path) => {
                LogFile::open(path).map(Outlet::File).map_err(|source| OpenError { path: path.clone(), source })
            }
        };
        Ok([open(&self.error)?, open(&self.access)?])
    }

    fn has_access(&self) -> bool {
        self.access != Destination::Off
    }

    fn threshold(&self) -> Threshold {
        if self.error == Destination::Off && !self.has_access() { Threshold::None } else { self.threshold }
    }
}

impl Telemetry {
    /// Opens the logs and begins to write; [`Telemetry::install`] makes the program speak to it.
    pub fn start(setup: &Setup) -> Result<Self, OpenError> {
        let outlets = setup.open()?;
        let thread = |source| OpenError { path: Path::new("(no thread for it)").to_owned(), source };
        let queue = Queue::start(outlets).map_err(thread)?;
        let control = Arc::new(Control::new(setup.threshold(), setup.has_access(), setup.mask));
        Ok(Self { queue, control })
    }

    /// What `tracing` speaks to.
    #[must_use]
    pub fn dispatch(&self) -> Dispatch {
        let lines = Lines { queue: Arc::clone(&self.queue), control: Arc::clone(&self.control) };
        Dispatch::new(Registry::default().with(lines))
    }

    /// Makes it the one that the whole program speaks to; only the first of a process can be.
    pub fn install(&self) {
        let _ = tracing::dispatcher::set_global_default(self.dispatch());
    }

    /// Goes over to other settings; if a file cannot be opened nothing changes.
    pub fn apply(&self, setup: &Setup) -> Result<(), OpenError> {
        self.queue.redirect(setup.open()?);
        self.control.set(setup.threshold(), setup.has_access(), setup.mask);
        Ok(())
    }

    /// Changes only how much the general log says.
    pub fn set_threshold(&self, threshold: Threshold) {
        self.control.set_threshold(threshold);
    }

    /// Waits, but not for long, until all that was said is written.
    pub fn flush(&self) {
        self.queue.flush(LAST_WORDS);
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.queue.flush(LAST_WORDS);
        self.queue.close();
    }
}

#[cfg(test)]
mod tests;
