//! Datagrams put together from their pieces.

use bytes::BufMut;

use super::datagram::Fragment;

/// Most bytes of a datagram: no UDP carries more.
const MOST: usize = 65_535;

/// Gathers the pieces of one datagram at a time, as all implementations do: the first piece of another ends the wait for
/// those of the one before. What pieces do not fit together is dropped.
#[derive(Debug, Default)]
pub struct Gather {
    packet: u16,
    pieces: Vec<Option<Box<[u8]>>>,
    missing: usize,
    bytes: usize,
}

/// What a piece completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole<'a> {
    /// Nothing yet.
    Not,
    /// The datagram was one piece: these are its bytes.
    Itself(&'a [u8]),
    /// All pieces of a datagram are there, to be taken by [`Gather::take`].
    Gathered,
}

impl Gather {
    /// Takes a piece.
    pub fn add<'a>(&mut self, piece: &Fragment<'a>) -> Whole<'a> {
        if piece.count <= 1 {
            return Whole::Itself(piece.payload);
        }
        if piece.index >= piece.count {
            return Whole::Not;
        }
        if self.missing == 0 || self.packet != piece.packet || self.pieces.len() != usize::from(piece.count) {
            self.pieces.clear();
            self.pieces.resize(piece.count.into(), None);
            (self.packet, self.missing, self.bytes) = (piece.packet, piece.count.into(), 0);
        }
        let Some(place @ None) = self.pieces.get_mut(usize::from(piece.index)) else { return Whole::Not };
        if self.bytes + piece.payload.len() > MOST {
            self.forget();
            return Whole::Not;
        }
        *place = Some(piece.payload.into());
        self.bytes += piece.payload.len();
        self.missing -= 1;
        if self.missing == 0 { Whole::Gathered } else { Whole::Not }
    }

    /// Appends the datagram whose last piece came; nothing of it is kept.
    pub fn take(&mut self, out: &mut impl BufMut) {
        for piece in self.pieces.drain(..).flatten() {
            out.put_slice(&piece);
        }
        self.forget();
    }

    /// The bytes that are kept.
    #[must_use]
    pub fn held(&self) -> usize {
        self.bytes
    }

    fn forget(&mut self) {
        // What a hostile count made it grow to is not kept either.
        (self.pieces, self.missing, self.bytes) = (Vec::new(), 0, 0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(packet: u16, index: u8, count: u8, payload: &[u8]) -> Fragment<'_> {
        Fragment { session: 1, packet, index, count, target: "10.0.0.1:1".parse().unwrap(), payload }
    }

    fn taken(gather: &mut Gather) -> Vec<u8> {
        let mut out = vec![];
        gather.take(&mut out);
        out
    }

    #[test]
    fn pieces_come_in_any_order_and_twice() {
        let mut gather = Gather::default();
        for index in [2, 0, 2, 0] {
            assert_eq!(gather.add(&piece(5, index, 3, &[index; 2])), Whole::Not);
        }
        assert_eq!(gather.add(&piece(5, 1, 3, b"ab")), Whole::Gathered);
        assert_eq!(taken(&mut gather), [0, 0, b'a', b'b', 2, 2]);
        assert_eq!(gather.held(), 0);
    }

    #[test]
    fn one_that_is_whole_passes_those_that_wait() {
        let mut gather = Gather::default();
        assert_eq!(gather.add(&piece(5, 0, 2, b"a")), Whole::Not);
        assert_eq!(gather.add(&piece(0, 0, 1, b"whole")), Whole::Itself(b"whole"));
        assert_eq!(gather.add(&piece(0, 9, 0, b"odd")), Whole::Itself(b"odd"));
        assert_eq!(gather.add(&piece(5, 1, 2, b"b")), Whole::Gathered);
        assert_eq!(taken(&mut gather), b"ab");
    }

    #[test]
    fn another_one_ends_the_wait() {
        let mut gather = Gather::default();
        assert_eq!(gather.add(&piece(5, 0, 2, b"a")), Whole::Not);
        assert_eq!(gather.add(&piece(6, 0, 2, b"c")), Whole::Not);
        assert_eq!(gather.add(&piece(5, 1, 2, b"b")), Whole::Not);
        // Its own pieces of another number are another one too.
        assert_eq!(gather.add(&piece(5, 0, 3, b"d")), Whole::Not);
        assert_eq!(gather.held(), 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut gather = Gather::default();
        let large = [7; 1400];
        for index in 0..255 {
            let _ = gather.add(&piece(5, index, 255, &large));
            assert!(gather.held() <= MOST);
        }
        assert_eq!(gather.add(&piece(1, 9, 3, b"x")), Whole::Not);
        assert_eq!(gather.add(&piece(1, 200, 3, b"x")), Whole::Not);
    }

    proptest! {
        #[test]
        fn any_order_gives_the_whole(payload in proptest::collection::vec(any::<u8>(), 2..3000), seed: u64) {
            use rand::seq::SliceRandom;
            use rand::SeedableRng;
            let mut pieces: Vec<_> = payload.chunks(payload.len().div_ceil(7)).enumerate().collect();
            let count = pieces.len() as u8;
            pieces.shuffle(&mut rand::rngs::StdRng::seed_from_u64(seed));
            let mut gather = Gather::default();
            let mut whole = vec![];
            for (index, bytes) in pieces {
                if let Whole::Gathered = gather.add(&piece(1, index as u8, count, bytes)) {
                    gather.take(&mut whole);
                }
            }
            prop_assert!(count < 2 || whole == payload);
        }
    }
}
