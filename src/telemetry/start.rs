//! Puts the parts together and keeps the handles by which they can be changed.

use std::io;
use std::path::Path;
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
use crate::model::log::{Level, Log, Sink};

/// How long the end of the program waits for a reader that does not read.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What is said and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// What the general log says.
    pub threshold: Threshold,
    /// Where the general log goes.
    pub error: Sink,
    /// Where the access log goes.
    pub access: Sink,
    /// Whether it says which names were asked about.
    pub names: bool,
    /// What is hidden of addresses, in both.
    pub mask: Option<Mask>,
}

/// Log settings that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file that cannot be opened.
    #[error("cannot open the log file {path}: {source}")]
    Open {
        /// Its path.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// No thread to write with.
    #[error("cannot start the thread that writes logs: {0}")]
    Thread(io::Error),
    /// A mask of addresses that is none.
    #[error("the address mask \"{0}\" is none of quarter, half, full, and /N+/M (bits kept of IPv4 and IPv6)")]
    Mask(String),
}

/// The running telemetry. Dropping it writes out what waits.
#[derive(Debug)]
pub struct Telemetry {
    queue: Arc<Queue>,
    control: Arc<Control>,
}

impl Setup {
    /// What the configuration says.
    pub fn of(log: &Log) -> Result<Self, SetupError> {
        let threshold = match log.level {
            Level::None => Threshold::None,
            Level::Error => Threshold::Error,
            Level::Warning => Threshold::Warning,
            Level::Info => Threshold::Info,
            Level::Debug => Threshold::Debug,
        };
        let bad = || SetupError::Mask(log.mask_address.clone());
        let mask = match log.mask_address.as_str() {
            "" => None,
            text => Some(Mask::parse(text).ok_or_else(bad)?),
        };
        Ok(Self { threshold, error: log.error.clone(), access: log.access.clone(), names: log.dns_log, mask })
    }

    /// Opens its files (making them where they are missing) and closes them again: what `--test` wants to know.
    pub fn try_open(&self) -> Result<(), SetupError> {
        self.open().map(drop)
    }

    fn open(&self) -> Result<Outlets, SetupError> {
        let open = |sink: &Sink| match sink {
            Sink::Off => Ok(Outlet::Off),
            Sink::Stdout => Ok(Outlet::Stdout),
            Sink::File(path) => {
                let failed = |source| SetupError::Open { path: path.clone(), source };
                LogFile::open(Path::new(path)).map(Outlet::File).map_err(failed)
            }
        };
        Ok([open(&self.error)?, open(&self.access)?])
    }

    fn has_access(&self) -> bool {
        self.access != Sink::Off
    }

    fn threshold(&self) -> Threshold {
        if self.error == Sink::Off && !self.has_access() { Threshold::None } else { self.threshold }
    }
}

impl Telemetry {
    /// Opens the logs and begins to write; [`Telemetry::install`] makes the program speak to it.
    pub fn start(setup: &Setup) -> Result<Self, SetupError> {
        let outlets = setup.open()?;
        let queue = Queue::start(outlets).map_err(SetupError::Thread)?;
        let control = Arc::new(Control::new(setup.threshold(), setup.has_access(), setup.names, setup.mask));
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
    pub fn apply(&self, setup: &Setup) -> Result<(), SetupError> {
        self.queue.redirect(setup.open()?);
        self.control.set(setup.threshold(), setup.has_access(), setup.names, setup.mask);
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
