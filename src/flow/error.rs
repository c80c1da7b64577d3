//! How a dial fails, and how a flow ends.

use std::fmt;
use std::io;

/// A dial that failed: where, through whose fault, and why. The blame is what a balancer learns from.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {source}")]
pub struct DialError {
    /// Where it failed.
    pub stage: Stage,
    /// Whose fault it is, as far as that can be told.
    pub blame: Blame,
    /// The cause.
    pub source: io::Error,
}

impl DialError {
    /// Puts the three together.
    pub fn new(stage: Stage, blame: Blame, source: impl Into<io::Error>) -> Self {
        Self { stage, blame, source: source.into() }
    }

    /// A failure of ours: no route, no descriptor left, a setting.
    pub fn us(stage: Stage, source: impl Into<io::Error>) -> Self {
        Self::new(stage, Blame::Us, source)
    }

    /// A failure of the proxy server we dialed.
    pub fn server(stage: Stage, source: impl Into<io::Error>) -> Self {
        Self::new(stage, Blame::Server, source)
    }

    /// The same with another one to blame for what was laid at the target's door: the target of one dial may be the server
    /// of another.
    #[must_use]
    pub fn instead_of_target(self, blame: Blame) -> Self {
        if self.blame == Blame::Target { Self { blame, ..self } } else { self }
    }

    /// A failure of the target itself, which no other outbound would mend.
    pub fn target(stage: Stage, source: impl Into<io::Error>) -> Self {
        Self::new(stage, Blame::Target, source)
    }
}

/// The steps of a dial, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// A rule or a setting forbids it; nothing was tried.
    Policy,
    /// Finding the addresses of a name.
    Resolve,
    /// Opening the socket.
    Dial,
    /// TLS or what stands in its place.
    Secure,
    /// WebSocket, gRPC and the like.
    Carry,
    /// The protocol's own opening.
    Handshake,
    /// The server's word on the target.
    Answer,
}

impl Stage {
    /// The stage in words for a log line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "refused by policy",
            Self::Resolve => "resolving failed",
            Self::Dial => "dialing failed",
            Self::Secure => "securing failed",
            Self::Carry => "carrier failed",
            Self::Handshake => "handshake failed",
            Self::Answer => "server refused",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose fault a failed dial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// This machine or its configuration.
    Us,
    /// The proxy server, or the path to it.
    Server,
    /// The target behind it.
    Target,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Us => "us",
            Self::Server => "server",
            Self::Target => "target",
        })
    }
}

/// One of the two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Who came by the inbound.
    Client,
    /// Who was reached by the outbound.
    Server,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// Why a flow that was running ended.
#[derive(Debug)]
pub enum FlowEnd {
    /// Both halves came to their end.
    Done,
    /// Nothing moved for as long as the policy allows.
    Idle,
    /// One half had ended, and the other was quiet for as long as the policy allows.
    HalfIdle,
    /// Its inbound, its outbound or the process went away.
    Cancelled,
    /// Reading from or writing to one side failed.
    Broken {
        /// Which side.
        side: Side,
        /// How.
        source: io::Error,
    },
}

impl fmt::Display for FlowEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Idle => f.write_str("idle"),
            Self::HalfIdle => f.write_str("idle after half close"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Broken { side, source } => write!(f, "{side}: {source}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dial_error_says_stage_and_cause() {
        let error = DialError::server(Stage::Dial, io::ErrorKind::ConnectionRefused);
        assert_eq!(error.to_string(), "dialing failed: connection refused");
    }
}
