//! What can be wrong with bytes from a peer.

use std::io;

/// Why bytes are not what the protocol says. Peers cause these, so none of them carries the bytes themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The input ended too early. Inside a handshake this means "read on" ([`whole`](super::step::whole) turns it into
    /// [`Step::More`](super::step::Step::More)); in a datagram it is an error.
    #[error("the input ends {need} bytes too early")]
    Truncated {
        /// At least this many bytes are missing.
        need: usize,
    },
    /// A field holds what the protocol does not allow.
    #[error("malformed {what}")]
    Malformed {
        /// The field, in words that follow "malformed".
        what: &'static str,
    },
    /// The peer refused us, or we refuse the peer: a wrong password, a method nobody speaks, a rule.
    #[error("denied: {what}")]
    Denied {
        /// What was refused.
        what: &'static str,
    },
    /// A nonce, salt or timestamp that was seen before or is too old.
    #[error("replayed or expired")]
    Replayed,
    /// A time that is too far from ours. Clocks that are set wrong are by far the likeliest cause.
    #[error("the clocks of the two sides differ by {off} seconds; set both right (NTP)")]
    Clock {
        /// Seconds between the two.
        off: u64,
    },
    /// A length above what the protocol or our cap allows.
    #[error("longer than allowed")]
    TooLong,
}

impl From<WireError> for io::Error {
    fn from(error: WireError) -> Self {
        let kind = match error {
            WireError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            WireError::Malformed { .. } | WireError::TooLong => io::ErrorKind::InvalidData,
            WireError::Clock { .. } | WireError::Denied { .. } | WireError::Replayed => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, error)
    }
}
