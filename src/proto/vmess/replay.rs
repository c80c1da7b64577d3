//! What came before must not come again.

use std::collections::HashSet;
use std::hash::Hash;

use aws_lc_rs::digest::{Context, SHA256};

use super::account::{Account, AuthId};
use super::request::Request;

/// The connections of the last minutes, by what they began with.
#[derive(Debug)]
pub struct History {
    ids: Seen<AuthId>,
    sessions: Seen<SessionId>,
}

/// A user's keys for one connection, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 16]);

impl SessionId {
    /// Of a request.
    #[must_use]
    pub fn new(account: &Account, request: &Request) -> Self {
        let mut hash = Context::new(&SHA256);
        [account.command(), &*request.key, &request.iv].iter().for_each(|part| hash.update(*part));
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finish().as_ref()[..16]);
        Self(id)
    }
}

/// Seconds for which an id could be taken: two minutes before the time in it, and two minutes behind.
const IDS: u64 = 240;

/// Seconds for which the keys of a connection are remembered, as in Xray.
const SESSIONS: u64 = 180;

impl History {
    /// With nothing in it.
    #[must_use]
    pub fn new(now: u64) -> Self {
        Self { ids: Seen::new(IDS, now), sessions: Seen::new(SESSIONS, now) }
    }

    /// Remembers an id; whether it is new.
    pub fn is_new_id(&mut self, id: &AuthId, now: u64) -> bool {
        self.ids.is_new(*id, now)
    }

    /// Remembers the keys of a connection; whether they are new.
    pub fn is_new_session(&mut self, id: SessionId, now: u64) -> bool {
        self.sessions.is_new(id, now)
    }
}

/// Things seen in this turn and in the one before, so that each is remembered for a turn at least and for two at most.
#[derive(Debug)]
struct Seen<K> {
    turn: u64,
    since: u64,
    now: HashSet<K>,
    before: HashSet<K>,
}

impl<K: Eq + Hash> Seen<K> {
    fn new(turn: u64, now: u64) -> Self {
        Self { turn, since: now, now: HashSet::new(), before: HashSet::new() }
    }

    fn is_new(&mut self, key: K, now: u64) -> bool {
        // A clock that was set back begins no turn.
        let age = now.saturating_sub(self.since);
        if age >= self.turn {
            self.before = std::mem::take(&mut self.now);
            if age >= 2 * self.turn {
                self.before.clear();
            }
            self.since = now;
        }
        !self.before.contains(&key) && self.now.insert(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_twice_while_it_could() {
        let mut history = History::new(1000);
        assert!(history.is_new_id(&[1; 16], 1000));
        for now in [1000, 1239, 1240, 1300, 1479] {
            assert!(!history.is_new_id(&[1; 16], now), "{now}");
        }
        assert!(history.is_new_id(&[1; 16], 1480) && !history.is_new_id(&[1; 16], 1481));
        assert!(history.is_new_id(&[2; 16], 5000) && !history.is_new_id(&[2; 16], 1));
        let id = SessionId([3; 16]);
        assert!(history.is_new_session(id, 5000) && !history.is_new_session(id, 5179));
    }
}
