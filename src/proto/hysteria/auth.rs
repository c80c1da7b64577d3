//! How a client shows who it is: one request of HTTP/3, and what is said to it.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use rand::{Rng, RngExt};
use zeroize::Zeroizing;

use crate::proto::credentials::Credentials;

/// The host that is asked.
pub const HOST: &str = "hysteria";
/// The path there.
pub const PATH: &str = "/auth";
/// The status that says who asks is known; any other is that of a web site.
pub const WELCOME: u16 = 233;
/// The header with the password.
pub const AUTH: &str = "hysteria-auth";
/// The header with what the sender can receive.
pub const RATE: &str = "hysteria-cc-rx";
/// The header that says whether datagrams are served.
pub const UDP: &str = "hysteria-udp";
/// The header that gives each request another length.
pub const PADDING: &str = "hysteria-padding";

/// What one side says it can receive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rate {
    /// It does not know, or has no limit.
    #[default]
    Unknown,
    /// The other side is to find out.
    Auto,
    /// So many bytes a second.
    Bytes(u64),
}

impl Rate {
    /// Reads a header; what is none is not known.
    #[must_use]
    pub fn read(text: &str) -> Self {
        match text.trim().parse() {
            Ok(0) => Self::Unknown,
            Ok(bytes) => Self::Bytes(bytes),
            Err(_) if text.trim().eq_ignore_ascii_case("auto") => Self::Auto,
            Err(_) => Self::Unknown,
        }
    }

    /// The rate at which to send to whoever says so, where we send at most `own` bytes a second and 0 is not known. None
    /// where the network is to be asked.
    #[must_use]
    pub fn agreed(self, own: u64) -> Option<u64> {
        match self {
            Self::Bytes(bytes) if own > 0 => Some(bytes.min(own)),
            _ => None,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("0"),
            Self::Auto => f.write_str("auto"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// Padding of a request or its answer.
#[must_use]
pub fn padding(rng: &mut impl Rng) -> String {
    let mut text = vec![];
    letters(rng.random_range(256..2048), &mut text, rng);
    String::from_utf8(text).unwrap_or_default()
}

/// Appends so many letters and digits.
pub(super) fn letters(len: usize, out: &mut Vec<u8>, rng: &mut impl Rng) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Ab";
    out.extend((0..len).map(|_| LETTERS[usize::from(rng.random::<u8>() & 63)]));
}

/// The users of a server, by what they show; kept as hashes, which all have one length.
pub struct Users<U>(Credentials<32, U>);

impl<U> Users<U> {
    /// Makes a table; of two users who show the same the last counts.
    pub fn new<'a>(users: impl IntoIterator<Item = (&'a str, U)>) -> Self {
        Self(Credentials::new(users.into_iter().map(|(auth, user)| (*hash(auth.as_bytes()), user))))
    }

    /// Whose this is.
    #[must_use]
    pub fn admit(&self, auth: &[u8]) -> Option<&U> {
        self.0.admit(&hash(auth))
    }
}

impl<U> fmt::Debug for Users<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn hash(auth: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut hash = Zeroizing::new([0; 32]);
    hash.copy_from_slice(digest(&SHA256, auth).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn rates_read_as_they_print() {
        for (text, rate) in [("0", Rate::Unknown), ("auto", Rate::Auto), ("65536", Rate::Bytes(65536))] {
            assert_eq!((Rate::read(text), rate.to_string().as_str()), (rate, text));
        }
        for odd in ["", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(Rate::read(odd), Rate::Unknown);
        }
    }

    #[test]
    fn the_lesser_of_two_known_rates_is_agreed_on() {
        assert_eq!((Rate::Bytes(5).agreed(9), Rate::Bytes(9).agreed(5)), (Some(5), Some(5)));
        assert_eq!((Rate::Bytes(5).agreed(0), Rate::Unknown.agreed(5), Rate::Auto.agreed(5)), (None, None, None));
    }

    #[test]
    fn a_password_names_its_user_and_is_not_shown() {
        let users = Users::new([("one", 1), ("user:two", 2)]);
        assert_eq!((users.admit(b"one"), users.admit(b"user:two"), users.admit(b"")), (Some(&1), Some(&2), None));
        assert_eq!(format!("{users:?}"), "Credentials(2)");
    }

    #[test]
    fn padding_is_letters_and_digits() {
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..20 {
            let text = padding(&mut rng);
            assert!((256..2048).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric()));
        }
    }
}
