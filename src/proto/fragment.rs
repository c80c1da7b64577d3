//! Cutting what is sent first into pieces, so that boxes on the way that look at single packets find no name.

use std::ops::RangeInclusive;
use std::time::Duration;

use rand::{Rng, RngExt};

/// How writes are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Which writes.
    pub writes: Writes,
    /// Bytes of a piece.
    pub length: RangeInclusive<usize>,
    /// Milliseconds between pieces.
    pub interval: RangeInclusive<u64>,
    /// Most pieces; 0 is no limit.
    pub most: RangeInclusive<usize>,
}

/// Which writes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Every one.
    All,
    /// The first, if it is a TLS record and whole: into several records.
    TlsHello,
    /// From one number to another, counted from 1.
    Between(u32, u32),
}

/// Bytes that are written at once, and how long the next ones wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The wait behind them.
    pub pause: Duration,
}

/// Bytes in front of a TLS record's payload.
const RECORD: usize = 5;
const HANDSHAKE: u8 = 22;

impl Fragment {
    /// The pieces of a write, or nothing where it is to stay whole; the first write has number 1.
    pub fn cut(&self, number: u32, write: &[u8], rng: &mut impl Rng) -> Option<Vec<Piece>> {
        match self.writes {
            Writes::TlsHello if number == 1 => self.records(write, rng),
            Writes::TlsHello => None,
            Writes::Between(from, to) if number < from || number > to => None,
            Writes::All | Writes::Between(..) => {
                let parts = self.parts(write, rng);
                Some(parts.into_iter().map(|part| self.piece(part.to_vec(), rng)).collect())
            }
        }
    }

    /// Whether no write from this number on is cut.
    #[must_use]
    pub fn is_over(&self, number: u32) -> bool {
        match self.writes {
            Writes::All => false,
            Writes::TlsHello => number > 1,
            Writes::Between(_, to) => number > to,
        }
    }

    fn records(&self, write: &[u8], rng: &mut impl Rng) -> Option<Vec<Piece>> {
        let (front, rest) = write.split_at_checked(RECORD)?;
        if front[0] != HANDSHAKE {
            return None;
        }
        let (payload, behind) = rest.split_at_checked(usize::from(u16::from_be_bytes([front[3], front[4]])))?;
        if payload.is_empty() {
            return None;
        }
        let record = |part: &[u8]| {
            let len = u16::try_from(part.len()).unwrap_or(u16::MAX);
            [&front[..3], &len.to_be_bytes(), part].concat()
        };
        let records = self.parts(payload, rng).into_iter().map(record);
        let mut pieces: Vec<Piece> = if *self.interval.end() == 0 {
            let bytes = records.collect::<Vec<_>>().concat();
            vec![Piece { bytes, pause: Duration::ZERO }]
        } else {
            records.map(|record| self.piece(record, rng)).collect()
        };
        if !behind.is_empty() {
            pieces.push(Piece { bytes: behind.to_vec(), pause: Duration::ZERO });
        }
        Some(pieces)
    }

    fn parts<'a>(&self, bytes: &'a [u8], rng: &mut impl Rng) -> Vec<&'a [u8]> {
        let most = rng.random_range(self.most.clone());
        let mut parts = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let last = most > 0 && parts.len() + 1 >= most;
            let len = if last { rest.len() } else { rng.random_range(self.length.clone()).clamp(1, rest.len()) };
            let (part, later) = rest.split_at(len);
            parts.push(part);
            rest = later;
        }
        parts
    }

    fn piece(&self, bytes: Vec<u8>, rng: &mut impl Rng) -> Piece {
        Piece { bytes, pause: Duration::from_millis(rng.random_range(self.interval.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn fragment(writes: Writes, length: RangeInclusive<usize>, interval: u64, most: usize) -> Fragment {
        Fragment { writes, length, interval: interval..=interval, most: most..=most }
    }

    fn cut(fragment: &Fragment, number: u32, write: &[u8]) -> Option<Vec<Vec<u8>>> {
        let pieces = fragment.cut(number, write, &mut StdRng::seed_from_u64(1))?;
        Some(pieces.into_iter().map(|piece| piece.bytes).collect())
    }

    #[test]
    fn a_record_with_nothing_in_it_is_not_swallowed() {
        for interval in [0, 10] {
            assert_eq!(cut(&fragment(Writes::TlsHello, 2..=2, interval, 0), 1, b"\x16\x03\x01\0\0more"), None);
        }
    }

    #[test]
    fn a_hello_becomes_records_of_its_own() {
        let hello = b"\x16\x03\x01\x00\x05abcdemore";
        let apart = fragment(Writes::TlsHello, 2..=2, 10, 0);
        let records: [&[u8]; 4] =
            [b"\x16\x03\x01\x00\x02ab", b"\x16\x03\x01\x00\x02cd", b"\x16\x03\x01\x00\x01e", b"more"];
        assert_eq!(cut(&apart, 1, hello), Some(records.map(<[u8]>::to_vec).to_vec()));
        let together = fragment(Writes::TlsHello, 2..=2, 0, 0);
        assert_eq!(cut(&together, 1, hello), Some(vec![records[..3].concat(), records[3].to_vec()]));
        assert_eq!(
            (cut(&apart, 2, hello), cut(&apart, 1, &hello[..9]), cut(&apart, 1, b"GET / HTTP/1.1")),
            (None, None, None)
        );
        assert!(apart.is_over(2) && !apart.is_over(1));
    }

    #[test]
    fn writes_are_counted_and_pieces_bounded() {
        let some = fragment(Writes::Between(2, 3), 1..=1, 5, 3);
        assert_eq!((cut(&some, 1, b"abcdef"), cut(&some, 4, b"abcdef")), (None, None));
        assert_eq!(cut(&some, 2, b"abcdef"), Some(vec![b"a".to_vec(), b"b".to_vec(), b"cdef".to_vec()]));
        assert!(some.is_over(4) && !some.is_over(3) && !fragment(Writes::All, 1..=1, 0, 0).is_over(9));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(write: Vec<u8>, from in 1usize..9, more in 0usize..9, most in 0usize..4, seed: u64) {
            let fragment = fragment(Writes::All, from..=from + more, 1, most);
            let pieces = fragment.cut(1, &write, &mut StdRng::seed_from_u64(seed)).unwrap_or_default();
            prop_assert!(pieces.iter().all(|piece| !piece.bytes.is_empty()));
            prop_assert_eq!(pieces.into_iter().flat_map(|piece| piece.bytes).collect::<Vec<_>>(), write);
        }
    }
}
