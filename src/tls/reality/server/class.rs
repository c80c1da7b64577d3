//! What a site's first records depend on.

/// What a client offers to speak, as far as a site's first records depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// Nothing.
    Bare,
    /// HTTP/1.1, or anything but HTTP/2 first.
    Http1,
    /// HTTP/2 first.
    Http2,
}

impl Class {
    /// By the first protocol that is offered.
    pub(super) fn of(alpn: Option<&[u8]>) -> Self {
        match alpn {
            None => Self::Bare,
            Some(b"h2") => Self::Http2,
            Some(_) => Self::Http1,
        }
    }

    /// A list of protocols that is of this class.
    pub(super) fn protocols(self) -> &'static [&'static [u8]] {
        match self {
            Self::Bare => &[],
            Self::Http1 => &[b"http/1.1"],
            Self::Http2 => &[b"h2", b"http/1.1"],
        }
    }

    /// Every one, each at its own place.
    pub(super) const ALL: [Self; 3] = [Self::Bare, Self::Http1, Self::Http2];
}
