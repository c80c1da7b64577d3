//! What was seen already: packet ids in a window that slides, salts for as long as they could be used again.

use std::collections::HashSet;

/// Numbers of packets that came, as far back as packets may be late.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// The highest number so far, and one more; 0 before the first.
    end: u64,
    /// One bit a number, in a ring of words.
    seen: [u64; WORDS],
}

const WORDS: usize = 32;

impl Window {
    /// Whether this number is new; it is not from now on. Numbers that are older than the window are not.
    pub fn admit(&mut self, number: u64) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let Some(end) = number.checked_add(1) else { return false };
        if end > self.end {
            let last = self.end.saturating_sub(1) / 64;
            let first = if self.end == 0 { word.saturating_sub(WORDS as u64 - 1) } else { last + 1 };
            let steps = (word + 1).saturating_sub(first).min(WORDS as u64);
            for back in 0..steps {
                self.seen[place(word - back)] = 0;
            }
            self.end = end;
        } else if word + (WORDS as u64) <= (self.end - 1) / 64 {
            return false;
        }
        let seen = &mut self.seen[place(word)];
        let new = *seen & bit == 0;
        *seen |= bit;
        new
    }
}

/// The word's place in the ring.
fn place(word: u64) -> usize {
    usize::try_from(word % WORDS as u64).unwrap_or(0)
}

/// Salts that were used. Two sets take turns, so that each is kept for one turn at least and two at most; a set that is full
/// ends its turn early, which bounds the memory.
#[derive(Debug)]
pub struct Salts {
    now: HashSet<u128>,
    before: HashSet<u128>,
    /// When this turn began.
    since: u64,
    /// Seconds of a turn.
    turn: u64,
    most: usize,
}

impl Salts {
    /// Keeps salts for `turn` seconds at least, and of those at most `most` in each of two sets.
    #[must_use]
    pub fn new(turn: u64, most: usize) -> Self {
        Self { now: HashSet::new(), before: HashSet::new(), since: 0, turn, most }
    }

    /// Whether this salt is new; it is not from now on. Only salts of those who have a key should come here. Of long salts
    /// the front counts: they are random.
    pub fn admit(&mut self, salt: &[u8], now: u64) -> bool {
        let mut front = [0; 16];
        for (to, from) in front.iter_mut().zip(salt) {
            *to = *from;
        }
        let front = u128::from_ne_bytes(front);
        let passed = now.saturating_sub(self.since);
        if passed >= self.turn || self.now.len() >= self.most {
            let ended = std::mem::take(&mut self.now);
            self.before = if passed >= self.turn.saturating_mul(2) { HashSet::new() } else { ended };
            self.since = now;
        }
        !self.before.contains(&front) && self.now.insert(front)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_counts_once_and_late_ones_as_long_as_the_window_is() {
        let mut window = Window::default();
        assert!(window.admit(0) && !window.admit(0));
        assert!(window.admit(5) && window.admit(3) && !window.admit(5) && !window.admit(3));
        assert!(window.admit(2100));
        assert!(!window.admit(4), "older than the window");
        assert!(window.admit(2000) && !window.admit(2000));
        assert!(window.admit(1 << 40) && window.admit((1 << 40) - 1000) && !window.admit(2101));
        assert!(!window.admit(u64::MAX));
    }

    #[test]
    fn a_session_may_begin_anywhere() {
        let mut window = Window::default();
        assert!(window.admit(1_000_003) && window.admit(1_000_000) && !window.admit(1_000_003));
    }

    proptest! {
        #[test]
        fn the_window_agrees_with_a_set(numbers in proptest::collection::vec(0u64..3000, 1..300)) {
            let (mut window, mut set, mut top) = (Window::default(), HashSet::new(), 0);
            for number in numbers {
                top = top.max(number);
                let new = set.insert(number);
                if number / 64 + 32 > top / 64 {
                    prop_assert_eq!(window.admit(number), new);
                } else {
                    prop_assert!(!window.admit(number));
                }
            }
        }
    }

    #[test]
    fn a_salt_is_remembered_for_a_turn_and_forgotten_after_two() {
        let mut salts = Salts::new(60, 100);
        assert!(salts.admit(b"a salt of this..", 1000) && !salts.admit(b"a salt of this..", 1059));
        assert!(!salts.admit(b"a salt of this..", 1061));
        assert!(salts.admit(b"another of these", 1100));
        assert!(salts.admit(b"a salt of this..", 1300));
    }

    #[test]
    fn the_number_of_salts_is_bounded() {
        let mut salts = Salts::new(u64::MAX, 10);
        for n in 0..1000u128 {
            assert!(salts.admit(&n.to_ne_bytes(), 5));
            assert!(salts.now.len() <= 10 && salts.before.len() <= 10);
        }
        assert!(!salts.admit(&995u128.to_ne_bytes(), 5));
    }
}
