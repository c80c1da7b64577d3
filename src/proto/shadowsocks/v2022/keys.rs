//! The keys of both sides, and how a server knows whose one is.

use std::collections::HashMap;
use std::fmt;

use subtle::ConstantTimeEq;

use super::super::method::{Key, Method};
use super::block::BLOCK;
use super::packet::Outer;
use crate::wire::WireError;

/// The front of a key's hash, by which a server knows its users.
pub(super) type Hash = [u8; BLOCK];

/// The keys of a client: those of the servers on the way, the last its own.
#[derive(Debug, Clone)]
pub struct ClientKeys {
    servers: Vec<Key>,
    user: Key,
}

impl ClientKeys {
    /// In the order of the way; all of one method. `None` if there is none, and for a way over several keys by a method
    /// that knows one only.
    #[must_use]
    pub fn new(mut keys: Vec<Key>) -> Option<Self> {
        let user = keys.pop()?;
        let fit = keys.iter().all(|key| key.method() == user.method() && user.method() != Method::Chacha20);
        fit.then_some(Self { servers: keys, user })
    }

    /// The client's own.
    #[must_use]
    pub fn user(&self) -> &Key {
        &self.user
    }

    /// The keys of the way, each with the hash of the one behind it.
    pub(super) fn way(&self) -> impl Iterator<Item = (&Key, Hash)> {
        let behind = self.servers.iter().skip(1).chain([&self.user]);
        self.servers.iter().zip(behind.map(hash))
    }

    /// The key of the first server on the way.
    pub(super) fn first(&self) -> &Key {
        self.servers.first().unwrap_or(&self.user)
    }
}

/// The keys of a server.
pub struct ServerKeys {
    own: Key,
    outer: Outer,
    /// Of its users; none where there is one user with the server's own key.
    users: Option<(Vec<Key>, HashMap<Hash, usize>)>,
}

impl ServerKeys {
    /// One user, who has the server's own key; `None` if it does not fit its method.
    #[must_use]
    pub fn single(own: Key) -> Option<Self> {
        Some(Self { outer: Outer::new(&own).ok()?, own, users: None })
    }

    /// Users with keys of their own. `None` if a method differs, or knows one user only.
    #[must_use]
    pub fn shared(own: Key, users: Vec<Key>) -> Option<Self> {
        let fit = users.iter().all(|key| key.method() == own.method()) && own.method() != Method::Chacha20;
        let by_hash = users.iter().enumerate().map(|(n, key)| (hash(key), n)).collect();
        let outer = Outer::new(&own).ok()?;
        fit.then_some(Self { own, outer, users: Some((users, by_hash)) })
    }

    /// The cipher of what stands outside of datagrams.
    pub(super) fn outer(&self) -> &Outer {
        &self.outer
    }

    /// Their method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.own.method()
    }

    /// The key of a user.
    pub(super) fn key(&self, user: usize) -> Result<&Key, WireError> {
        let key = match &self.users {
            None => Some(&self.own),
            Some((keys, _)) => keys.get(user),
        };
        key.ok_or(WireError::Malformed { what: "user" })
    }

    pub(super) fn own(&self) -> &Key {
        &self.own
    }

    /// Bytes of the identity header that clients must send.
    pub(super) fn identity_len(&self) -> usize {
        if self.users.is_some() { BLOCK } else { 0 }
    }

    /// Whose hash it is, and with which key; the only user needs none.
    pub(super) fn user(&self, found: impl FnOnce() -> Result<Hash, WireError>) -> Result<(usize, &Key), WireError> {
        let Some((keys, by_hash)) = &self.users else { return Ok((0, &self.own)) };
        let found = found()?;
        let user = by_hash.get(&found).copied();
        // Found by its hash, and compared once more without regard to how far it is equal.
        let same = |key: &&Key| bool::from(hash(key).ct_eq(&found));
        user.and_then(|n| Some((n, keys.get(n)?))).filter(|(_, key)| same(key)).ok_or(super::super::aead::DENIED)
    }
}

fn hash(key: &Key) -> Hash {
    let mut front = [0; BLOCK];
    front.copy_from_slice(&blake3::hash(key.bytes()).as_bytes()[..BLOCK]);
    front
}

/// Without the keys.
impl fmt::Debug for ServerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = self.users.as_ref().map_or(1, |(keys, _)| keys.len());
        write!(f, "ServerKeys({:?}, {users})", self.own.method())
    }
}
