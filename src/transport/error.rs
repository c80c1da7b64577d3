//! What can be wrong with a transport.

use std::io;

use crate::flow::Stage;
use crate::tls::TlsError;

/// Why transport settings cannot be used. Found when a configuration is loaded.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Something that the model knows and this program cannot do yet.
    #[error("{what} is not built yet")]
    NotBuilt {
        /// What, in the words of a configuration.
        what: &'static str,
    },
    /// Hysteria without TLS.
    #[error("network hysteria needs `\"security\": \"tls\"` in streamSettings")]
    NoTls,
    /// A REALITY server whose settings are those of a client.
    #[error("realitySettings of an inbound need a \"target\"")]
    NoTarget,
    /// A text that cannot stand where it is to be sent.
    #[error("{what} holds what cannot stand in a request")]
    Text {
        /// Which, in the words of a configuration.
        what: &'static str,
    },
    /// A REALITY client whose settings are those of a server.
    #[error("realitySettings of an outbound have no \"target\"")]
    Target,
    /// The TLS settings.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
}

/// Why a visitor's connection came to nothing before its protocol began.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {source}")]
pub struct AcceptError {
    /// [`Stage::Secure`] or [`Stage::Carry`].
    pub stage: Stage,
    /// The cause.
    pub source: io::Error,
}
