//! The answers of a SOCKS5 server.

use std::net::SocketAddr;

use super::address::write_address;

/// A reply code of RFC 1928 section 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// 0
    Succeeded,
    /// 1
    Failure,
    /// 2
    NotAllowed,
    /// 3
    NetworkUnreachable,
    /// 4
    HostUnreachable,
    /// 5
    ConnectionRefused,
    /// 6
    TtlExpired,
    /// 7
    CommandNotSupported,
    /// 8
    AddressNotSupported,
    /// Anything else.
    Other(u8),
}

/// The server said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the SOCKS server answered {} ({})", .0.code(), .0.words())]
pub struct Refused(pub Reply);

impl Refused {
    /// Whether the refusal is about the target and not about us or the server.
    #[must_use]
    pub fn is_about_target(&self) -> bool {
        matches!(
            self.0,
            Reply::NetworkUnreachable | Reply::HostUnreachable | Reply::ConnectionRefused | Reply::TtlExpired
        )
    }
}

impl Reply {
    /// The meaning of a code.
    #[must_use]
    pub fn of(code: u8) -> Self {
        match code {
            0 => Self::Succeeded,
            1 => Self::Failure,
            2 => Self::NotAllowed,
            3 => Self::NetworkUnreachable,
            4 => Self::HostUnreachable,
            5 => Self::ConnectionRefused,
            6 => Self::TtlExpired,
            7 => Self::CommandNotSupported,
            8 => Self::AddressNotSupported,
            other => Self::Other(other),
        }
    }

    /// The code on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failure => 1,
            Self::NotAllowed => 2,
            Self::NetworkUnreachable => 3,
            Self::HostUnreachable => 4,
            Self::ConnectionRefused => 5,
            Self::TtlExpired => 6,
            Self::CommandNotSupported => 7,
            Self::AddressNotSupported => 8,
            Self::Other(code) => code,
        }
    }

    /// The code in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failure => "general failure",
            Self::NotAllowed => "not allowed by its rules",
            Self::NetworkUnreachable => "network unreachable",
            Self::HostUnreachable => "host unreachable",
            Self::ConnectionRefused => "connection refused",
            Self::TtlExpired => "time to live expired",
            Self::CommandNotSupported => "command not supported",
            Self::AddressNotSupported => "address type not supported",
            Self::Other(_) => "unknown code",
        }
    }

    /// The reply of a SOCKS5 server with the address it serves from.
    #[must_use]
    pub fn socks5(self, bound: SocketAddr) -> Vec<u8> {
        let mut out = vec![5, self.code(), 0];
        write_address(&bound.into(), &mut out);
        out
    }

    /// The reply of a SOCKS4 server, which only knows yes and no.
    #[must_use]
    pub fn socks4(self) -> [u8; 8] {
        let code = if self == Self::Succeeded { 0x5a } else { 0x5b };
        [0, code, 0, 0, 0, 0, 0, 0]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_as_the_rfc_writes_them() {
        let at = "127.0.0.1:1080".parse().unwrap();
        assert_eq!(Reply::Succeeded.socks5(at), b"\x05\x00\x00\x01\x7f\x00\x00\x01\x04\x38");
        assert_eq!(Reply::Failure.socks4(), *b"\x00\x5b\0\0\0\0\0\0");
        assert!((0..=255).all(|code| Reply::of(code).code() == code));
    }

    #[test]
    fn refusals_tell_server_and_target_apart() {
        assert!(Refused(Reply::ConnectionRefused).is_about_target());
        assert!(!Refused(Reply::NotAllowed).is_about_target());
        let text = Refused(Reply::Other(99)).to_string();
        assert_eq!(text, "the SOCKS server answered 99 (unknown code)");
    }
}
