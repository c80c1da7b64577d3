//! A hash table of names and of the trees below names, for any number of entries at the price of one.
//!
//! A name is hashed from its end, so the hash of every parent falls out on the way and one walk over the bytes asks for
//! all of them. A fixed hash is enough: entries come from the configuration, and a stranger who finds names that collide
//! with one of them gains a comparison.

/// Values by whole name and by suffix. The lowest value counts where one key is put twice.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Place in `entries` plus one, or 0; a power of two, at most half full.
    slots: Box<[u32]>,
    entries: Vec<Entry>,
    /// All keys, one behind the other.
    text: String,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    start: u32,
    len: u32,
    full: u32,
    suffix: u32,
}

/// How a key is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The name alone.
    Full,
    /// The name and all below it.
    Suffix,
}

/// No value.
const NONE: u32 = u32::MAX;

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts a value. Keys that no name can equal are passed over.
    pub(super) fn put(&mut self, key: &str, reach: Reach, value: u32) {
        if key.is_empty() || key.len() > crate::addr::DomainName::MAX {
            return;
        }
        let hash = key.bytes().rev().fold(SEED, mix);
        let at = match self.find(hash, key) {
            Some(at) => at,
            None => self.insert(hash, key),
        };
        let entry = &mut self.entries[at];
        let slot = if reach == Reach::Full { &mut entry.full } else { &mut entry.suffix };
        *slot = value.min(*slot);
    }

    /// Gives the value of every key that the name falls under, the shortest first, until `take` says that it has enough.
    pub(super) fn walk(&self, name: &Hashed<'_>, mut take: impl FnMut(u32) -> Enough) {
        if self.is_empty() {
            return;
        }
        for (hash, at) in name.parents() {
            if let Some(found) = self.find(hash, &name.text[at..])
                && let value = self.entries[found].suffix
                && value != NONE
                && take(value) == Enough::Yes
            {
                return;
            }
        }
        if let Some(found) = self.find(name.whole, name.text) {
            let Entry { full, suffix, .. } = self.entries[found];
            if suffix != NONE && take(suffix) == Enough::Yes {
                return;
            }
            if full != NONE {
                take(full);
            }
        }
    }

    /// Gives every key that the name falls under, how it is meant, and its value.
    pub(super) fn each(&self, name: &Hashed<'_>, mut take: impl FnMut(&str, Reach, u32)) {
        let whole = std::iter::once((name.whole, 0));
        for (hash, at) in name.parents().chain(whole) {
            let Some(found) = self.find(hash, &name.text[at..]) else { continue };
            let entry = &self.entries[found];
            if entry.suffix != NONE {
                take(self.key(entry), Reach::Suffix, entry.suffix);
            }
            if at == 0 && entry.full != NONE {
                take(self.key(entry), Reach::Full, entry.full);
            }
        }
    }

    /// Gives back what grew past its need.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    fn find(&self, hash: u64, key: &str) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = place(hash) & mask;
        loop {
            let at = (self.slots[slot] as usize).checked_sub(1)?;
            let entry = &self.entries[at];
            if entry.hash == hash && self.key(entry) == key {
                return Some(at);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, hash: u64, key: &str) -> usize {
        let at = self.entries.len();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (start, len) = (number(self.text.len()), number(key.len()));
        self.text.push_str(key);
        self.entries.push(Entry { hash, start, len, full: NONE, suffix: NONE });
        if self.entries.len() * 2 > self.slots.len() {
            self.slots = vec![0; (self.entries.len() * 2).next_power_of_two()].into();
            for at in 0..self.entries.len() {
                self.occupy(at);
            }
        } else {
            self.occupy(at);
        }
        at
    }

    fn occupy(&mut self, at: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = place(self.entries[at].hash) & mask;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = u32::try_from(at + 1).unwrap_or(0);
    }

    fn key(&self, entry: &Entry) -> &str {
        let start = entry.start as usize;
        self.text.get(start..start + entry.len as usize).unwrap_or_default()
    }
}

/// A name with the hashes of itself and its parents, made once for any number of tables.
#[derive(Debug, Clone, Copy)]
pub struct Hashed<'n> {
    text: &'n str,
    whole: u64,
    /// Hash and beginning of each parent, the shortest first.
    parents: [(u64, u8); LABELS],
    len: usize,
}

/// Parents that are asked for. Names have two to six labels; keys with more than these are found as whole names alone.
const LABELS: usize = 32;

impl<'n> Hashed<'n> {
    /// Of a name in lower case.
    #[must_use]
    pub fn new(text: &'n str) -> Self {
        let bytes = text.as_bytes();
        let (mut whole, mut parents, mut len) = (SEED, [(0, 0); LABELS], 0);
        for at in (0..bytes.len()).rev() {
            if bytes[at] == b'.'
                && let Ok(begin) = u8::try_from(at + 1)
                && let Some(place) = parents.get_mut(len)
            {
                *place = (whole, begin);
                len += 1;
            }
            whole = mix(whole, bytes[at]);
        }
        Self { text, whole, parents, len }
    }

    /// The name.
    #[must_use]
    pub fn text(&self) -> &'n str {
        self.text
    }

    fn parents(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.parents[..self.len].iter().map(|(hash, at)| (*hash, usize::from(*at)))
    }
}

/// Whether a search may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    No,
    Yes,
}

/// FNV-1a, because it goes byte by byte and has no table.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// FNV's low bits depend on the last bytes too much; its high ones do not.
#[allow(clippy::cast_possible_truncation, reason = "only the low bits are used")]
fn place(hash: u64) -> usize {
    (hash ^ (hash >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(table: &Table, name: &str) -> Vec<u32> {
        let mut all = vec![];
        table.walk(&Hashed::new(name), |value| {
            all.push(value);
            Enough::No
        });
        all
    }

    #[test]
    fn names_fall_under_themselves_and_their_parents() {
        let mut table = Table::default();
        table.put("example.com", Reach::Suffix, 1);
        table.put("www.example.com", Reach::Full, 2);
        table.put("com", Reach::Suffix, 3);
        table.put("www.example.com", Reach::Suffix, 4);
        table.put("com", Reach::Suffix, 9);
        table.put("", Reach::Suffix, 5);
        assert_eq!(values(&table, "www.example.com"), [3, 1, 4, 2]);
        assert_eq!(values(&table, "a.www.example.com"), [3, 1, 4]);
        assert_eq!(values(&table, "example.com"), [3, 1]);
        assert_eq!(values(&table, "notexample.com"), [3]);
        assert_eq!(values(&table, "example.org"), [0; 0]);
        assert_eq!(values(&Table::default(), "example.org"), [0; 0]);
    }

    #[test]
    fn many_keys_are_all_found_and_no_other() {
        let mut table = Table::default();
        for n in 0..5000 {
            let reach = if n % 2 == 0 { Reach::Full } else { Reach::Suffix };
            table.put(&format!("host{n}.zone{}.example", n % 7), reach, n);
        }
        for n in 0..5000 {
            let name = format!("host{n}.zone{}.example", n % 7);
            assert_eq!(values(&table, &name), [n]);
            let below = values(&table, &format!("x.{name}"));
            assert_eq!(below.is_empty(), n % 2 == 0, "{below:?}");
            assert!(values(&table, &format!("x{name}")).is_empty());
        }
    }
}
