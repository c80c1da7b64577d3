//! Why a server could not be asked.

use std::io;

use crate::dns::message::BadReply;
use crate::flow::DialError;

/// Why a server could not be asked, or what is wrong with its answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The way to it failed.
    #[error("{0}")]
    Io(String),
    /// What it shows in TLS is not what it should.
    #[error("TLS: {0}")]
    Tls(String),
    /// It ended the connection.
    #[error("the connection ended before the answer")]
    Ended,
    /// It takes no further question on this connection.
    #[error("the connection takes no further question")]
    Full,
    /// It speaks no HTTP/2.
    #[error("it agreed to {0} in place of HTTP/2")]
    NotHttp2(String),
    /// It answers with a status that means no answer.
    #[error("it answered with HTTP status {0}")]
    Status(u16),
    /// It answers with something else than a DNS message.
    #[error("it answered with {0} in place of application/dns-message")]
    Type(String),
    /// Its answer is longer than any DNS message.
    #[error("its answer is longer than a DNS message can be")]
    TooLong,
    /// It reset the stream of the question.
    #[error("it reset the question's stream with code {0}")]
    Reset(u64),
    /// What it said answers nothing.
    #[error("its answer is none: {0}")]
    NoAnswer(BadReply),
    /// There are more questions under way than there may be.
    #[error("too many questions are on their way")]
    Busy,
    /// No message can carry the name.
    #[error("no DNS message can carry this name")]
    Name,
}

impl Fault {
    /// Whether it says something of a connection rather than of whoever is behind it.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Ended | Self::Full)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

impl From<DialError> for Fault {
    fn from(error: DialError) -> Self {
        Self::Io(error.to_string())
    }
}
