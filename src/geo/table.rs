//! A hash table of names and of the trees below names, for any number of entries at the price of one.
//!
//! Keys lie one behind the other in one run of bytes, each with its value; a slot is the place of one there and a byte of its
//! hash, by which nearly every search ends before it looks at a key. That makes eight or nine bytes an entry besides its text.
//! Slots lie in the order of hashes, so building costs a sort, whatever the keys are.

use super::hashed::{Hashed, hash};
use crate::addr::DomainName;

/// Values by whole name and by suffix. A key may have several.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A byte of the hash, or 0 where a slot is free. The last one is.
    marks: Box<[u8]>,
    /// Where the key of a slot lies in `records`.
    places: Box<[u32]>,
    /// Slots that hashes are spread over; those behind take what runs over.
    spread: u64,
    /// Length, key, and a number that is a [`Meaning`] and a bit.
    records: Box<[u8]>,
    /// Further values of keys that have more than one, by the place of the key.
    more: Box<[(u32, Meaning)]>,
}

/// How a key is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// The name alone.
    Full,
    /// The name and all below it.
    Suffix,
}

/// How a key is meant, and its value.
type Meaning = (Reach, u32);

/// Whether a search may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enough {
    No,
    Yes,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Gives the value of every key that the name falls under, the shortest first, until `take` says that it has enough.
    pub(super) fn walk(&self, name: &Hashed<'_>, mut take: impl FnMut(u32) -> Enough) {
        self.each(name, |_, _, value| take(value));
    }

    /// The same with the key and how it is meant.
    pub(super) fn each(&self, name: &Hashed<'_>, mut take: impl FnMut(&str, Reach, u32) -> Enough) {
        if self.is_empty() {
            return;
        }
        let whole = std::iter::once((name.whole, 0));
        for (hash, at) in name.parents().chain(whole) {
            let key = &name.text()[at..];
            let Some(found) = self.find(hash, key) else { continue };
            let mut offer = |(reach, value)| {
                if reach == Reach::Suffix || at == 0 { take(key, reach, value) } else { Enough::No }
            };
            if offer(found.meaning()) == Enough::Yes {
                return;
            }
            if found.number & MORE != 0 {
                let from = self.more.partition_point(|(place, _)| *place < found.place);
                let others = self.more[from..].iter().take_while(|(place, _)| *place == found.place);
                for (_, meaning) in others {
                    if offer(*meaning) == Enough::Yes {
                        return;
                    }
                }
            }
        }
    }

    fn find(&self, hash: u64, key: &str) -> Option<Record<'_>> {
        let (home, mark) = (home(hash, self.spread), mark(hash));
        let marks = self.marks.get(home..)?;
        for (slot, other) in (home..).zip(marks) {
            if *other == 0 {
                return None;
            }
            if *other == mark
                && let Some(record) = Record::read(&self.records, *self.places.get(slot)?)
                && record.key == key.as_bytes()
            {
                return Some(record);
            }
        }
        None
    }
}

/// Keys on their way into a table.
#[derive(Debug, Default)]
pub(super) struct Keys {
    records: Vec<u8>,
    count: usize,
}

impl Keys {
    /// Takes a key. Those that no name can equal are passed over, and so is what lies beyond 4 GiB.
    pub(super) fn put(&mut self, key: &str, reach: Reach, value: u32) {
        let Ok(len @ 1..) = u8::try_from(key.len()) else { return };
        if key.len() > DomainName::MAX || u32::try_from(self.records.len() + LONGEST).is_err() {
            return;
        }
        self.records.push(len);
        self.records.extend_from_slice(key.as_bytes());
        let mut number = u64::from(value) << 2 | if reach == Reach::Suffix { SUFFIX } else { 0 };
        while number >= 0x80 {
            self.records.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.records.push(number as u8);
        self.count += 1;
    }

    /// The table.
    pub(super) fn finish(self) -> Table {
        let mut records = self.records.into_boxed_slice();
        let mut all: Vec<(u64, u32)> = Vec::with_capacity(self.count);
        let mut place = 0;
        while let Some(record) = Record::read(&records, place) {
            all.push((record.hash(), place));
            place = record.end;
        }
        all.sort_unstable();
        let more = fold(&mut all, &records);
        for (place, _) in &more {
            let number = Record::read(&records, *place).map(|record| record.behind);
            if let Some(byte) = number.and_then(|at| records.get_mut(at)) {
                *byte |= MORE as u8;
            }
        }
        let spread = all.len() as u64 + all.len() as u64 / 3;
        let (mut marks, mut places) = (vec![], vec![]);
        for (hash, place) in all {
            let slot = home(hash, spread).max(marks.len());
            marks.resize(slot, 0);
            places.resize(slot, 0);
            marks.push(mark(hash));
            places.push(place);
        }
        marks.push(0);
        Table { marks: marks.into(), places: places.into(), spread, records, more: more.into() }
    }
}

/// Takes out keys that are there already, and gives what else those mean.
fn fold(all: &mut Vec<(u64, u32)>, records: &[u8]) -> Vec<(u32, Meaning)> {
    let read = |place: u32| Record::read(records, place);
    // Keys with one hash are nearly always equal; where they are not, equal ones become neighbours.
    for same in all.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        same.sort_by_key(|(_, place)| (read(*place).map(|record| record.key), *place));
    }
    let mut more = vec![];
    let mut first: Option<(u64, Record<'_>)> = None;
    all.retain(|(hash, place)| {
        let Some(record) = read(*place) else { return false };
        match &first {
            Some((before, first)) if before == hash && first.key == record.key => {
                if first.meaning() != record.meaning() {
                    more.push((first.place, record.meaning()));
                }
                false
            }
            _ => {
                first = Some((*hash, record));
                true
            }
        }
    });
    more.sort_unstable();
    more.dedup();
    more
}

/// A key as it lies among the others.
struct Record<'r> {
    place: u32,
    key: &'r [u8],
    number: u64,
    /// Where the number begins.
    behind: usize,
    /// Where the next one lies.
    end: u32,
}

impl<'r> Record<'r> {
    fn read(records: &'r [u8], place: u32) -> Option<Self> {
        let begin = place as usize + 1;
        let behind = begin + usize::from(*records.get(place as usize)?);
        let (mut number, mut end) = (0, behind);
        loop {
            let byte = *records.get(end)?;
            number |= u64::from(byte & 0x7f) << (7 * (end - behind));
            end += 1;
            if byte & 0x80 == 0 {
                let key = records.get(begin..behind)?;
                return Some(Self { place, key, number, behind, end: u32::try_from(end).ok()? });
            }
        }
    }

    fn meaning(&self) -> Meaning {
        let reach = if self.number & SUFFIX == 0 { Reach::Full } else { Reach::Suffix };
        (reach, u32::try_from(self.number >> 2).unwrap_or(u32::MAX))
    }

    fn hash(&self) -> u64 {
        std::str::from_utf8(self.key).map_or(0, hash)
    }
}

/// A bit of the number: the key is a suffix.
const SUFFIX: u64 = 2;
/// Another: the key has further values.
const MORE: u64 = 1;
/// Bytes that a record takes at most.
const LONGEST: usize = 1 + DomainName::MAX + 5;

/// The slot at which the search for a hash begins.
#[allow(clippy::cast_possible_truncation, reason = "it is below `spread`, which counts things in memory")]
fn home(hash: u64, spread: u64) -> usize {
    ((u128::from(hash) * u128::from(spread)) >> 64) as usize
}

#[allow(clippy::cast_possible_truncation, reason = "the low byte is what is wanted")]
fn mark(hash: u64) -> u8 {
    (hash as u8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<'k>(keys: impl IntoIterator<Item = (&'k str, Reach, u32)>) -> Table {
        let mut all = Keys::default();
        keys.into_iter().for_each(|(key, reach, value)| all.put(key, reach, value));
        all.finish()
    }

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
        let table = table([
            ("example.com", Reach::Suffix, 1),
            ("www.example.com", Reach::Full, 2),
            ("com", Reach::Suffix, 3),
            ("www.example.com", Reach::Suffix, 4),
            ("com", Reach::Suffix, 9),
            ("com", Reach::Suffix, 3),
            ("com", Reach::Suffix, 1 << 31),
            ("", Reach::Suffix, 5),
        ]);
        assert_eq!(values(&table, "www.example.com"), [3, 9, 1 << 31, 1, 2, 4]);
        assert_eq!(values(&table, "a.www.example.com"), [3, 9, 1 << 31, 1, 4]);
        assert_eq!(values(&table, "example.com"), [3, 9, 1 << 31, 1]);
        assert_eq!(values(&table, "notexample.com"), [3, 9, 1 << 31]);
        assert_eq!(values(&table, "example.org"), [0; 0]);
        assert_eq!(values(&Table::default(), "example.org"), [0; 0]);
    }

    #[test]
    fn many_keys_are_all_found_and_no_other() {
        let key = |n: u32| format!("host{n}.zone{}.example", n % 7);
        let keys: Vec<_> = (0..5000).map(key).collect();
        let reach = |n: u32| if n.is_multiple_of(2) { Reach::Full } else { Reach::Suffix };
        let table = table(keys.iter().zip(0..).map(|(key, n)| (key.as_str(), reach(n), n)));
        for n in 0..5000 {
            let name = key(n);
            assert_eq!(values(&table, &name), [n]);
            let below = values(&table, &format!("x.{name}"));
            assert_eq!(below.is_empty(), n % 2 == 0, "{below:?}");
            assert!(values(&table, &format!("x{name}")).is_empty());
        }
    }

    #[test]
    fn an_entry_takes_ten_bytes_besides_its_text() {
        let keys: Vec<_> = (0..1000).map(|n| format!("host{n}.example")).collect();
        let table = table(keys.iter().map(|key| (key.as_str(), Reach::Suffix, 0)));
        let text: usize = keys.iter().map(String::len).sum();
        let all = table.marks.len() + size_of_val(&*table.places) + table.records.len();
        assert!(all <= text + 10 * keys.len(), "{all} for {text}");
        assert!(table.more.is_empty());
    }
}
