//! User names with passwords, as SOCKS5 and HTTP proxies check them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A table of logins. Passwords are compared in constant time, and an unknown name costs what a wrong password costs.
#[derive(Default)]
pub struct Logins(HashMap<Box<[u8]>, Login>);

struct Login {
    name: Arc<str>,
    password: Zeroizing<Vec<u8>>,
}

impl Logins {
    /// Makes a table; of two entries with one name the last counts, as in Xray.
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let login = |(user, password): (&'a str, &'a str)| {
            let password = Zeroizing::new(password.as_bytes().to_vec());
            (user.as_bytes().into(), Login { name: user.into(), password })
        };
        Self(entries.into_iter().map(login).collect())
    }

    /// The name of the user if the password is theirs.
    #[must_use]
    pub fn admit(&self, user: &[u8], password: &[u8]) -> Option<Arc<str>> {
        let found = self.0.get(user);
        let expected = found.map_or(password, |login| &login.password);
        let same = bool::from(expected.ct_eq(password));
        found.filter(|_| same).map(|login| Arc::clone(&login.name))
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody can log in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logins({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_and_its_own_password_are_needed() {
        let logins = Logins::new([("u", "one"), ("v", ""), ("u", "two")]);
        assert_eq!(logins.admit(b"u", b"two").as_deref(), Some("u"));
        assert_eq!(logins.admit(b"v", b"").as_deref(), Some("v"));
        for (user, password) in [(&b"u"[..], &b"one"[..]), (b"u", b""), (b"x", b""), (b"x", b"two"), (b"U", b"two")] {
            assert_eq!(logins.admit(user, password), None);
        }
        assert_eq!(Logins::default().admit(b"", b""), None);
    }

    #[test]
    fn no_secret_is_shown() {
        assert_eq!(format!("{:?}", Logins::new([("user", "secret")])), "Logins(1)");
    }
}
