//! Why somebody is handed through to the site.

use std::io;

/// The reason. Only the log learns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Its first bytes are no hello.
    #[error("no ClientHello")]
    NoHello,
    /// The site spoke before the hello was there.
    #[error("the site spoke first")]
    EagerSite,
    /// It does not speak TLS 1.3, or brings no X25519 key.
    #[error("no TLS 1.3 with X25519")]
    OldHello,
    /// It asks for a name that is not ours.
    #[error("another server name")]
    Name,
    /// The token does not open: a stranger, or somebody with another key.
    #[error("no token for this key")]
    Token,
    /// The client is too old or too new.
    #[error("client version {}.{}.{}", .0[0], .0[1], .0[2])]
    Version([u8; 3]),
    /// Its clock is wrong, or the hello is an old one.
    #[error("the client's time is too far off")]
    Time,
    /// The id is not on the list.
    #[error("unknown shortId")]
    ShortId,
    /// The hello was let in before.
    #[error("a hello that was seen before")]
    Replay,
    /// The site did not answer.
    #[error("the site gave no answer")]
    SilentSite,
    /// The site's answer is none that we could answer with.
    #[error("the site's answer is unusual")]
    OddSite,
    /// Our messages are longer than the site's.
    #[error("the site's records are too short for ours")]
    ShortSite,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, refusal)
    }
}
