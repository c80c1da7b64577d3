//! Users who are known by a secret of fixed length alone: VLESS ids, Trojan's hashes.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A table of users by their secrets. The hash of the table is keyed at random, and secrets are compared in constant time:
/// how long a look takes tells nothing of what was nearly right.
pub struct Credentials<const N: usize, U>(HashMap<Token<N>, U>);

struct Token<const N: usize>(Zeroizing<[u8; N]>);

impl<const N: usize> PartialEq for Token<N> {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl<const N: usize> Eq for Token<N> {}

impl<const N: usize> Hash for Token<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<const N: usize, U> Credentials<N, U> {
    /// Makes a table; of two users with one secret the last counts, as in Xray.
    pub fn new(users: impl IntoIterator<Item = ([u8; N], U)>) -> Self {
        Self(users.into_iter().map(|(secret, user)| (Token(Zeroizing::new(secret)), user)).collect())
    }

    /// Whose secret this is.
    #[must_use]
    pub fn admit(&self, secret: &[u8; N]) -> Option<&U> {
        self.0.get(&Token(Zeroizing::new(*secret)))
    }
}

impl<const N: usize, U> fmt::Debug for Credentials<N, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_names_its_user_and_is_not_shown() {
        let users = Credentials::new([(*b"aaaa", 1), (*b"bbbb", 2), (*b"aaaa", 3)]);
        assert_eq!((users.admit(b"aaaa"), users.admit(b"bbbb"), users.admit(b"aaab")), (Some(&3), Some(&2), None));
        assert_eq!(format!("{users:?}"), "Credentials(2)");
    }
}
