//! Sessions of datagrams that ended, for as long as what they sent could be sent again.
//!
//! An association ends when it was quiet for long enough, and its packet numbers would be forgotten with it: whoever recorded a
//! datagram of its last seconds could open it anew. A client that goes on with its session goes on with its numbers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::proto::shadowsocks::Window;

/// Packet numbers of ended sessions. Two maps take turns, so that each is kept for one turn at least.
#[derive(Debug, Default)]
pub(super) struct Ended(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    now: HashMap<[u8; 8], Window>,
    before: HashMap<[u8; 8], Window>,
    since: u64,
}

/// Seconds for which numbers are kept at least: twice what clocks may differ.
const TURN: u64 = 60;

/// Sessions of a turn, at 264 bytes each; a turn that is full ends early.
const MOST: usize = 4096;

impl Ended {
    /// Remembers the numbers of a session that ends. Only sessions of users should come here.
    pub(super) fn put(&self, session: [u8; 8], window: Window, now: u64) {
        let mut turns = self.turns(now);
        if turns.now.len() >= MOST {
            turns.before = std::mem::take(&mut turns.now);
            turns.since = now;
        }
        turns.now.insert(session, window);
    }

    /// Those of a session that may go on.
    pub(super) fn get(&self, session: [u8; 8], now: u64) -> Option<Window> {
        let turns = self.turns(now);
        turns.now.get(&session).or_else(|| turns.before.get(&session)).cloned()
    }

    fn turns(&self, now: u64) -> std::sync::MutexGuard<'_, Turns> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_sub(turns.since);
        if passed >= TURN {
            let ended = std::mem::take(&mut turns.now);
            turns.before = if passed >= 2 * TURN { HashMap::new() } else { ended };
            turns.since = now;
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_remembered_for_a_minute_and_their_number_is_bounded() {
        let ended = Ended::default();
        let mut window = Window::default();
        assert!(window.admit(5));
        ended.put([1; 8], window, 1000);
        for now in [1000, 1061] {
            assert!(ended.get([1; 8], now).is_some_and(|mut window| !window.admit(5) && window.admit(6)), "{now}");
        }
        assert!(ended.get([2; 8], 1061).is_none() && ended.get([1; 8], 1200).is_none());
        for number in 0..3 * MOST as u64 {
            ended.put(number.to_be_bytes(), Window::default(), 1200);
        }
        let turns = ended.turns(1200);
        assert!(turns.now.len() <= MOST && turns.before.len() <= MOST);
    }
}
