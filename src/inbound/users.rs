//! Who may come in. The table can be replaced while the inbound runs, and flows never notice.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::proto::login::Logins;

/// The users of one inbound, in the table that its protocol looks them up in.
#[derive(Debug, Default)]
pub struct Users<T = Logins>(ArcSwap<T>);

/// What a flow gets from the user who began it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// The label by which rules and logs know the user.
    pub email: Option<Arc<str>>,
    /// Policy level.
    pub level: u32,
    /// Place among the users of the inbound.
    pub place: u32,
}

impl Member {
    /// Of a configuration, where an empty label is none.
    #[must_use]
    pub fn new(email: &str, level: u32) -> Self {
        Self { email: (!email.is_empty()).then(|| email.into()), level, place: 0 }
    }

    /// The same, at this place among the users of the inbound.
    #[must_use]
    pub fn at(self, place: usize) -> Self {
        Self { place: u32::try_from(place).unwrap_or(u32::MAX), ..self }
    }
}

impl<T> Users<T> {
    /// Begins with a table.
    #[must_use]
    pub fn new(table: T) -> Self {
        Self(ArcSwap::from_pointee(table))
    }

    /// Replaces the table.
    pub fn replace(&self, table: T) {
        self.0.store(Arc::new(table));
    }

    /// Takes over the table of another; whether there was one to take and a place to put it.
    pub(super) fn take_over(own: Option<&Self>, other: Option<&Self>) -> bool {
        let Some((own, other)) = own.zip(other) else { return false };
        own.0.store(other.now());
        true
    }

    /// The table as it is now.
    #[must_use]
    pub fn now(&self) -> Arc<T> {
        self.0.load_full()
    }
}

impl Users {
    /// The name of the user if the password is theirs.
    #[must_use]
    pub fn admit(&self, user: &[u8], password: &[u8]) -> Option<Arc<str>> {
        self.0.load().admit(user, password)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_table_counts_at_once() {
        let users = Users::new(Logins::new([("u", "p")]));
        let held = users.now();
        users.replace(Logins::new([("v", "q")]));
        assert!(users.admit(b"u", b"p").is_none() && users.admit(b"v", b"q").is_some());
        assert!(held.admit(b"u", b"p").is_some());
    }
}
