//! How the program ends.

use std::process::ExitCode;

/// The exit statuses that service units and panels go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Done = 0,
    /// A tool failed.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// No engine runs that could be asked.
    NoEngine = 3,
    /// Several engines run, and none was named.
    ManyEngines = 4,
    /// A name does not exist, or has no address.
    NoName = 5,
    /// The configuration is bad; units carry `RestartPreventExitStatus=23`.
    Config = 23,
    /// The configuration is good, but it cannot start now.
    Start = 255,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
