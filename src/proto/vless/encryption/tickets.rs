//! The tickets that a server gave, and what each was used for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use super::memory::Pfs;
use crate::wire::WireError;

/// Most tickets, and most uses of all of them together: the oldest go first. A client whose ticket is gone shakes hands.
const TICKETS: usize = 16 * 1024;
const USES: usize = 64 * 1024;

/// How much longer a ticket is kept than its client was told, since its time began later there.
const GRACE: Duration = Duration::from_secs(60);

/// All tickets of a server.
#[derive(Default)]
pub(super) struct Tickets {
    given: HashMap<[u8; 16], Given>,
    /// In the order of their end, which is the order in which they were given.
    order: VecDeque<([u8; 16], Instant)>,
    uses: usize,
}

struct Given {
    pfs: Pfs,
    used: HashSet<[u8; 32]>,
}

impl Tickets {
    /// Keeps a new one; all that a server gives must live as long.
    pub(super) fn give(&mut self, ticket: [u8; 16], pfs: Pfs, now: Instant, life: Duration) {
        self.forget(now);
        while self.order.len() >= TICKETS {
            self.drop_oldest();
        }
        let Some(until) = now.checked_add(life + GRACE) else { return };
        if self.given.insert(ticket, Given { pfs, used: HashSet::new() }).is_none() {
            self.order.push_back((ticket, until));
        }
    }

    /// The keys of a ticket that a client brings together with this other key, which it may use once.
    pub(super) fn redeem(&mut self, ticket: &[u8; 16], key: [u8; 32], now: Instant) -> Result<Option<Pfs>, WireError> {
        self.forget(now);
        while self.uses >= USES {
            self.drop_oldest();
        }
        let Some(given) = self.given.get_mut(ticket) else { return Ok(None) };
        if !given.used.insert(key) {
            return Err(WireError::Replayed);
        }
        self.uses += 1;
        Ok(Some(given.pfs.clone()))
    }

    fn forget(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(_, until)| *until <= now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        match self.order.pop_front() {
            Some((ticket, _)) => self.uses -= self.given.remove(&ticket).map_or(0, |given| given.used.len()),
            None => self.uses = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfs() -> Pfs {
        Pfs::new([0; 64])
    }

    #[test]
    fn a_ticket_counts_for_its_time_and_once_for_each_key() {
        let (now, life) = (Instant::now(), Duration::from_secs(600));
        let mut tickets = Tickets::default();
        tickets.give([1; 16], pfs(), now, life);
        assert!(tickets.redeem(&[1; 16], [1; 32], now).is_ok_and(|pfs| pfs.is_some()));
        assert_eq!(tickets.redeem(&[1; 16], [1; 32], now).err(), Some(WireError::Replayed));
        assert!(tickets.redeem(&[1; 16], [2; 32], now + life).is_ok_and(|pfs| pfs.is_some()));
        assert!(tickets.redeem(&[2; 16], [1; 32], now).is_ok_and(|pfs| pfs.is_none()));
        assert!(tickets.redeem(&[1; 16], [3; 32], now + life + GRACE).is_ok_and(|pfs| pfs.is_none()));
        assert_eq!((tickets.given.len(), tickets.order.len(), tickets.uses), (0, 0, 0));
    }

    #[test]
    fn memory_is_bounded() {
        let (now, life) = (Instant::now(), Duration::from_secs(600));
        let mut tickets = Tickets::default();
        let name = |n: usize| (n as u128).to_be_bytes();
        for n in 0..=TICKETS {
            tickets.give(name(n), pfs(), now, life);
        }
        assert_eq!((tickets.given.len(), tickets.order.len()), (TICKETS, TICKETS));
        assert!(!tickets.given.contains_key(&name(0)));
        for n in 0..=USES {
            let mut key = [0; 32];
            key[..16].copy_from_slice(&name(n));
            assert!(tickets.redeem(&name(1 + n % 2), key, now).is_ok_and(|pfs| pfs.is_some() || n == USES));
        }
        assert!(tickets.uses <= USES && !tickets.given.contains_key(&name(1)));
    }
}
