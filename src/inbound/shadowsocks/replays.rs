//! Salts of datagrams of the old generation, which carry no time: without them, what was recorded could be sent again.
//!
//! The filter is the server's, not an association's, since a replay may come from any address; and not that of its streams,
//! whose salts would be pushed out. shadowsocks-libev keeps filters for both too, Xray for neither.

use std::sync::{Mutex, PoisonError};

use crate::proto::shadowsocks::Salts;

/// The filter, in parts, so that associations hardly ever wait for one another.
#[derive(Debug)]
pub(super) struct Replays([Mutex<Salts>; PARTS]);

const PARTS: usize = 16;

/// Salts that are kept at least, and at most twice as many: some 9 MB where they are many, nothing where there are none.
const SALTS: usize = PARTS * 14_000;

impl Default for Replays {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(Salts::new(u64::MAX, SALTS / PARTS))))
    }
}

impl Replays {
    /// Whether this salt is new; it is not from now on. Only salts of those who have a key should come here.
    pub(super) fn fresh(&self, salt: &[u8]) -> bool {
        let part = usize::from(salt.last().copied().unwrap_or_default()) % PARTS;
        self.0[part].lock().unwrap_or_else(PoisonError::into_inner).admit(salt, 0)
    }
}
