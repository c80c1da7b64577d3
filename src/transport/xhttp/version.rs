//! Which version of HTTP is spoken.

use crate::model::stream::{Security, Stream};

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
    /// HTTP/3, over QUIC.
    Three,
}

impl Version {
    /// What a client speaks: HTTP/2 always behind REALITY, never without security, and with TLS unless its ALPN is exactly one
    /// of the others. A server speaks HTTP/3 alone in the same case, else both of the rest.
    #[must_use]
    pub fn of(stream: &Stream) -> Self {
        let Security::Tls(tls) = &stream.security else {
            return if matches!(stream.security, Security::None) { Self::One } else { Self::Two };
        };
        match tls.alpn.0.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["http/1.1"] => Self::One,
            ["h3"] => Self::Three,
            _ => Self::Two,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tls::Tls;
    use crate::shape::TextList;

    #[test]
    fn a_list_of_one_decides() {
        for (alpn, expected) in [
            (&[][..], Version::Two),
            (&["http/1.1"], Version::One),
            (&["h3"], Version::Three),
            (&["h3", "h2"], Version::Two),
            (&["h2", "http/1.1"], Version::Two),
        ] {
            let alpn = TextList(alpn.iter().map(|name| (*name).to_owned()).collect());
            let security = Security::Tls(Box::new(Tls { alpn, ..Tls::default() }));
            assert_eq!(Version::of(&Stream { security, ..Stream::default() }), expected);
        }
        assert_eq!(Version::of(&Stream::default()), Version::One);
    }
}
