//! What hides how long a handshake is, and how it comes.

use std::time::Duration;

use rand::{Rng, RngExt};

/// How long each piece of padding is to be, and how long the wait behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    lens: Vec<Draw>,
    gaps: Vec<Draw>,
}

/// A number that is drawn: how probable it is, in percent, that it is not 0, and between what it is then.
type Draw = [u32; 3];

/// Bytes to write at once, and the wait behind them.
pub type Piece = (Vec<u8>, Duration);

impl Default for Padding {
    fn default() -> Self {
        Self { lens: vec![[100, 111, 1111], [50, 0, 3333]], gaps: vec![[75, 0, 111]] }
    }
}

impl Padding {
    /// Of triples that stand for a piece and a wait in turns; none of them is the default.
    #[must_use]
    pub fn new(triples: &[Draw]) -> Self {
        if triples.is_empty() {
            return Self::default();
        }
        Self {
            lens: triples.iter().step_by(2).copied().collect(),
            gaps: triples.iter().skip(1).step_by(2).copied().collect(),
        }
    }

    /// Draws for one handshake. What is padding carries its sealed length and a tag itself, and is at least so long.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> Drawn {
        let mut lens: Vec<_> = self.lens.iter().map(|draw| one(draw, rng) as usize).collect();
        let whole: usize = lens.iter().sum();
        if let Some(first) = lens.first_mut() {
            *first += LEAST.saturating_sub(whole);
        }
        let gaps = self.gaps.iter().map(|draw| Duration::from_millis(one(draw, rng).into()));
        let gaps = gaps.chain(std::iter::repeat(Duration::ZERO)).take(lens.len()).collect();
        Drawn { lens, gaps }
    }
}

/// The sealed length (2 + 16), and a tag behind at least a byte.
const LEAST: usize = 18 + 17;

fn one([percent, from, to]: &Draw, rng: &mut impl Rng) -> u32 {
    if rng.random_range(0..100) >= *percent {
        return 0;
    }
    let (from, to) = (from.min(to), from.max(to));
    rng.random_range(*from..=*to)
}

/// What was drawn.
pub(super) struct Drawn {
    lens: Vec<usize>,
    gaps: Vec<Duration>,
}

impl Drawn {
    /// Bytes of all padding.
    pub(super) fn whole(&self) -> usize {
        self.lens.iter().sum()
    }

    /// Cuts a handshake, whose last bytes are the padding, into pieces.
    pub(super) fn cut(&self, mut message: Vec<u8>) -> Vec<Piece> {
        let ahead = message.len().saturating_sub(self.whole());
        let mut pieces: Vec<Piece> = Vec::new();
        for (at, (len, gap)) in self.lens.iter().zip(&self.gaps).enumerate() {
            let len = if at == 0 { ahead + len } else { *len };
            let rest = message.split_off(len.min(message.len()));
            let piece = std::mem::replace(&mut message, rest);
            match pieces.last_mut() {
                Some((_, wait)) if piece.is_empty() => *wait += *gap,
                _ => pieces.push((piece, *gap)),
            }
        }
        pieces
    }
}
