//! What keeps a config from running.

use crate::addr::Tag;
use crate::dns::Unbuilt;
use crate::inbound::ListenError;
use crate::probe::Unfit;
use crate::route::RuleError;
use crate::tls::TlsError;

/// Why a config cannot become a snapshot. Nothing was opened yet.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A rule.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// Something of the `dns` section.
    #[error("dns: {0}")]
    Dns(#[source] Unbuilt),
    /// A balancer whose members cannot be probed as it is written.
    #[error(transparent)]
    Probes(#[from] Unfit),
    /// Something of an inbound.
    #[error("inbound {name}: {what}")]
    Inbound {
        /// Its tag, or its place.
        name: String,
        /// What cannot be used.
        what: String,
    },
    /// A service whose servers need TLS.
    #[error("services: {0}")]
    Services(#[from] TlsError),
    /// Something of an outbound.
    #[error("outbound {name}: {what}")]
    Outbound {
        /// Its tag, or its place.
        name: String,
        /// What cannot be used.
        what: String,
    },
}

/// A door could not be opened. None is open then.
#[derive(Debug, thiserror::Error)]
#[error("{door}: {source}")]
pub struct BindError {
    /// Which: `inbound TAG` or `service TAG`.
    pub door: String,
    /// Where, and why.
    pub source: ListenError,
}

/// Why a config cannot take the place of another. The other runs on unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Something in it cannot run.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An inbound cannot listen.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Nothing runs: not yet, or not any more.
    #[error("the engine is not running")]
    NotRunning,
}

/// An item's tag, or its place in the list if it has none.
pub(super) fn name_of(list: &str, at: usize, tag: &Tag) -> String {
    if tag.is_empty() { format!("{list}[{at}]") } else { tag.to_string() }
}
