//! What an engine is made of.

use crate::geo::Lists;
use crate::model::config::Config;

/// A config, and the geodata lists that it names. Whoever reads files has loaded them.
#[derive(Debug)]
pub struct Plan {
    /// The config.
    pub config: Config,
    /// The lists.
    pub lists: Lists,
}

impl From<Config> for Plan {
    /// A config that names no list.
    fn from(config: Config) -> Self {
        Self { config, lists: Lists::default() }
    }
}
