//! Whose turn it is in round robin.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::member::{Member, rotation};

/// The rotation of round robin with its shared cursor. The cursor is a place in the rotation, not a count of picks, so
/// shares stay even while members drop out and return.
#[derive(Debug)]
pub(super) struct Turn {
    rotation: Box<[u32]>,
    cursor: AtomicUsize,
}

impl Turn {
    pub(super) fn new(members: &[Member]) -> Self {
        let weights: Vec<u32> = members.iter().map(|member| member.weight).collect();
        Self { rotation: rotation(&weights), cursor: AtomicUsize::new(0) }
    }

    /// The first candidate at or behind the cursor.
    pub(super) fn next(&self, fit: impl Fn(&usize) -> bool) -> Option<usize> {
        let len = self.rotation.len();
        let mut from = self.place();
        loop {
            let place = (from..len).chain(0..from).find(|&place| fit(&self.at(place)))?;
            match self.cursor.compare_exchange_weak(from, (place + 1) % len, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(self.at(place)),
                Err(now) => from = now,
            }
        }
    }

    /// Where the rotation stands.
    pub(super) fn place(&self) -> usize {
        self.cursor.load(Ordering::Relaxed)
    }

    /// Goes on from a place; one that this rotation does not have is no place at all.
    pub(super) fn go_on(&self, place: usize) {
        if place < self.rotation.len() {
            self.cursor.store(place, Ordering::Relaxed);
        }
    }

    /// Goes on where another rotation stands: at the same place of the same rotation, else with the first turn of the
    /// member that would have been next.
    pub(super) fn go_on_from(&self, members: &[Member], other: &Self, others: &[Member]) {
        let (place, tags) =
            (other.place(), |members: &[Member]| members.iter().map(|m| m.tag.clone()).collect::<Vec<_>>());
        if self.rotation == other.rotation && tags(members) == tags(others) {
            return self.go_on(place);
        }
        let next = other.rotation.get(place).and_then(|&at| others.get(at as usize)).map(|member| &member.tag);
        let same = |at: &u32| members.get(*at as usize).map(|member| &member.tag) == next;
        if let Some(place) = next.and_then(|_| self.rotation.iter().position(same)) {
            self.go_on(place);
        }
    }

    fn at(&self, place: usize) -> usize {
        self.rotation[place] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::OutboundId;

    fn members(tags: &[&str]) -> Vec<Member> {
        let member = |tag: &&str| Member { tag: (*tag).into(), hop: OutboundId(0).into(), udp: true, weight: 1 };
        tags.iter().map(member).collect()
    }

    #[test]
    fn a_rotation_goes_on_with_the_member_that_was_next() {
        let (old, new) = (members(&["a", "b", "c"]), members(&["z", "c", "a"]));
        let (was, now) = (Turn::new(&old), Turn::new(&new));
        was.go_on(2);
        now.go_on_from(&new, &was, &old);
        assert_eq!(now.next(|_| true), Some(1), "c was next");
        let same = Turn::new(&old);
        same.go_on_from(&old, &was, &old);
        assert_eq!(same.place(), 2);
    }

    #[test]
    fn a_place_that_is_not_there_changes_nothing() {
        let (some, none) = (members(&["a", "b"]), members(&[]));
        let turn = Turn::new(&some);
        turn.go_on(7);
        turn.go_on_from(&some, &Turn::new(&none), &none);
        assert_eq!(turn.next(|_| true), Some(0));
        Turn::new(&none).go_on_from(&none, &turn, &some);
    }
}
