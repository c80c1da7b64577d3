//! A pool of fake addresses: each stands for a name until so many others were asked for that it is the least used.
//!
//! Which address a name gets is Xray's rule (`app/dns/fakedns/fake.go`): the one at the present millisecond, counted from
//! the network's first and around its end, or the next that is free. So what was given before a start is seldom given again
//! soon after it, for another name.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hashbrown::HashTable;
use ipnet::IpNet;

use crate::addr::DomainName;

/// Names and the addresses that stand for them.
///
/// Both tables hold places of `entries`, so a name is stored once.
#[derive(Debug)]
pub struct Pool {
    net: IpNet,
    most: u32,
    hasher: RandomState,
    by_name: HashTable<u32>,
    by_address: HashTable<u32>,
    entries: Vec<Entry>,
    /// The address behind the one that was given last.
    next: u64,
    /// The ends of the chain from the entry that was used last to the one that was not for longest; [`NOBODY`] while empty.
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Entry {
    name: DomainName,
    /// Counted from the first address of the network.
    address: u64,
    newer: u32,
    older: u32,
}

/// What an address is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Faked {
    /// None of the pools.
    No,
    /// Of a pool, and stands for nothing: it was given before the start, or too long ago.
    Nameless,
    /// It stands for this name.
    Name(DomainName),
}

/// Addresses that are tried one after the other. Where many names came within a few milliseconds, as many lie side by side.
const LOOKS: usize = 64;

/// No entry.
const NOBODY: u32 = u32::MAX;

impl Pool {
    /// A pool of the addresses of a network, which must be more than the names that it holds at most, and those at least one.
    /// The hasher should be one that nobody outside can foresee.
    #[must_use]
    pub fn new(net: IpNet, most: u32, hasher: RandomState) -> Self {
        Self {
            net: net.trunc(),
            most: most.clamp(1, NOBODY - 1),
            hasher,
            by_name: HashTable::new(),
            by_address: HashTable::new(),
            entries: Vec::new(),
            next: 0,
            newest: NOBODY,
            oldest: NOBODY,
        }
    }

    /// Whether an address is one of the network's.
    #[must_use]
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.net.contains(&ip)
    }

    /// How many names have an address.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The address of a name, which gets one if it has none. `now` is the time in milliseconds since 1970.
    pub fn give(&mut self, name: &DomainName, now: u64) -> IpAddr {
        let hash = self.hasher.hash_one(name.as_str());
        let found = self.by_name.find(hash, |at| self.entries.get(*at as usize).is_some_and(|one| one.name == *name));
        if let Some(at) = found.copied() {
            self.touch(at);
            return self.ip(self.entries.get(at as usize).map_or(0, |one| one.address));
        }
        // Of a full pool the oldest goes now, so its address is free if no other is found soon.
        let oldest = self.entries.get(self.oldest as usize).map(|one| one.address);
        let address = self.free_from(now).or(oldest).unwrap_or_default();
        self.next = address.wrapping_add(1);
        let entry = Entry { name: name.clone(), address, newer: NOBODY, older: NOBODY };
        let at = if self.entries.len() < self.most as usize {
            self.entries.push(entry);
            // `most` is below `NOBODY`.
            u32::try_from(self.entries.len() - 1).unwrap_or(NOBODY)
        } else {
            let at = self.oldest;
            self.forget(at);
            if let Some(slot) = self.entries.get_mut(at as usize) {
                *slot = entry;
            }
            at
        };
        let (entries, hasher) = (&self.entries, &self.hasher);
        let name_of = |at: &u32| entries.get(*at as usize).map_or("", |one| one.name.as_str());
        let address_of = |at: &u32| entries.get(*at as usize).map_or(0, |one| one.address);
        self.by_name.insert_unique(hash, at, |at| hasher.hash_one(name_of(at)));
        self.by_address.insert_unique(hasher.hash_one(address), at, |at| hasher.hash_one(address_of(at)));
        self.link(at);
        self.ip(address)
    }

    /// What an address is. Its name counts as used.
    pub fn look(&mut self, ip: IpAddr) -> Faked {
        if !self.holds(ip) {
            return Faked::No;
        }
        let Some(at) = self.address(ip).and_then(|address| self.at(address)) else { return Faked::Nameless };
        self.touch(at);
        self.entries.get(at as usize).map_or(Faked::Nameless, |one| Faked::Name(one.name.clone()))
    }

    /// How many addresses there are, where that can be said.
    fn count(&self) -> Option<u64> {
        1_u64.checked_shl(u32::from(self.net.max_prefix_len() - self.net.prefix_len()))
    }

    /// An address that stands for nothing: one from that of this time on, else from the one that was given last on, both
    /// around the end. Only of a full pool it may be that none is found.
    fn free_from(&self, now: u64) -> Option<u64> {
        let found = self.free_among(now, LOOKS).or_else(|| self.free_among(self.next, LOOKS));
        // There are more addresses than names, so one is free among the next as many as there are names and one more.
        found
            .or_else(|| (self.len() < self.most as usize).then(|| self.free_among(self.next, self.len() + 1)).flatten())
    }

    fn free_among(&self, from: u64, looks: usize) -> Option<u64> {
        let count = self.count();
        let around = |address: u64| count.map_or(address, |count| address % count);
        (0_u64..).take(looks).map(|far| around(from.wrapping_add(far))).find(|address| self.at(*address).is_none())
    }

    /// The entry of an address.
    fn at(&self, address: u64) -> Option<u32> {
        let hash = self.hasher.hash_one(address);
        let same = |at: &u32| self.entries.get(*at as usize).is_some_and(|one| one.address == address);
        self.by_address.find(hash, same).copied()
    }

    fn ip(&self, address: u64) -> IpAddr {
        match self.net {
            // It is below the number of addresses, which fits.
            IpNet::V4(net) => {
                let far = u32::try_from(address).unwrap_or_default();
                Ipv4Addr::from(u32::from(net.network()).wrapping_add(far)).into()
            }
            IpNet::V6(net) => Ipv6Addr::from(u128::from(net.network()).wrapping_add(address.into())).into(),
        }
    }

    /// The reverse, of an address that the network holds. No other was ever given than those that can be counted.
    fn address(&self, ip: IpAddr) -> Option<u64> {
        match (self.net, ip) {
            (IpNet::V4(net), IpAddr::V4(ip)) => Some(u32::from(ip).wrapping_sub(u32::from(net.network())).into()),
            (IpNet::V6(net), IpAddr::V6(ip)) => {
                u64::try_from(u128::from(ip).wrapping_sub(u128::from(net.network()))).ok()
            }
            _ => None,
        }
    }

    /// Makes an entry the one that was used last.
    fn touch(&mut self, at: u32) {
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
    }

    fn link(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        if let Some(one) = self.entries.get_mut(at as usize) {
            (one.newer, one.older) = (NOBODY, before);
        }
        match self.entries.get_mut(before as usize) {
            Some(before) => before.newer = at,
            None => self.oldest = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let Some(one) = self.entries.get(at as usize) else { return };
        let (newer, older) = (one.newer, one.older);
        match self.entries.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Takes an entry out of the chain and both tables; its place is used again.
    fn forget(&mut self, at: u32) {
        self.unlink(at);
        let Some(one) = self.entries.get(at as usize) else { return };
        for (table, hash) in [
            (&mut self.by_name, self.hasher.hash_one(one.name.as_str())),
            (&mut self.by_address, self.hasher.hash_one(one.address)),
        ] {
            if let Ok(entry) = table.find_entry(hash, |other| *other == at) {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
