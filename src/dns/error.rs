//! Why a name has no addresses.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::ask::fault::Fault;
use crate::geo::CompileError;
use crate::model::serverform::BadServer;
use crate::tls::TlsError;
use crate::transport::TransportError;

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    /// A server says that there is no such name.
    #[error("the name does not exist")]
    NoName,
    /// The name has no address of the families that are wanted.
    #[error("the name has no address")]
    NoAddress,
    /// The hosts answer with a code and nothing else.
    #[error("the hosts answer with code {code}{}", meaning(*.code))]
    Hosts {
        /// The response code.
        code: u16,
    },
    /// Every address that a server gave is one that the configuration does not want from it.
    #[error("{server} gave no address that is expected of it")]
    Unwanted {
        /// As the configuration writes it.
        server: Arc<str>,
    },
    /// A server failed or refused.
    #[error("{server} answered with code {code}{}", meaning(*.code))]
    Code {
        /// As the configuration writes it.
        server: Arc<str>,
        /// The response code.
        code: u16,
    },
    /// A server said nothing in its time.
    #[error("{server} did not answer within {limit:?}")]
    Silent {
        /// As the configuration writes it.
        server: Arc<str>,
        /// Its time.
        limit: Duration,
    },
    /// A server cannot be reached, or says what is no answer.
    #[error("{server}: {why}")]
    Unreachable {
        /// As the configuration writes it.
        server: Arc<str>,
        /// The cause.
        why: Fault,
    },
}

/// Why a `dns` section cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unbuilt {
    /// A condition.
    #[error(transparent)]
    Condition(#[from] CompileError),
    /// A server's address.
    #[error(transparent)]
    Server(#[from] BadServer),
    /// TLS around a server.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// QUIC to a server.
    #[error(transparent)]
    Quic(#[from] TransportError),
    /// What a server would be asked for by HTTP.
    #[error(transparent)]
    Http(#[from] http::Error),
}

impl DnsError {
    /// Whether it says something of the name; else it says something of a server.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::NoName | Self::NoAddress | Self::Hosts { .. })
    }

    /// The response code that tells a client the same: that there is no such name, that there is none of what was asked for,
    /// or that nobody could say.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::NoAddress | Self::Unwanted { .. } => 0,
            Self::NoName => 3,
            Self::Hosts { code } | Self::Code { code, .. } => *code,
            Self::Silent { .. } | Self::Unreachable { .. } => 2,
        }
    }

    /// Whether the server could not be asked at all.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Unreachable { .. })
    }
}

impl From<DnsError> for io::Error {
    fn from(error: DnsError) -> Self {
        let kind = match error {
            DnsError::NoName | DnsError::NoAddress | DnsError::Hosts { .. } | DnsError::Unwanted { .. } => {
                io::ErrorKind::NotFound
            }
            DnsError::Silent { .. } => io::ErrorKind::TimedOut,
            DnsError::Code { .. } | DnsError::Unreachable { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

fn meaning(code: u16) -> &'static str {
    match code {
        1 => " (it cannot read the question)",
        2 => " (it failed)",
        3 => " (there is no such name)",
        4 => " (it does not know how)",
        5 => " (it refuses)",
        _ => "",
    }
}
