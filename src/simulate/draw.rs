//! Chance, drawn by key: the same key gives the same luck on every machine and to every strategy.
//!
//! A draw is named by what it is for (world, member, item, purpose), never by how many were made before it. So all
//! strategies meet the same network (common random numbers), and a change in one of them moves nobody else's luck.

use std::convert::Infallible;

use rand::TryRng;

/// A named draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw(u64);

impl Draw {
    /// The draw that these words name, in their order.
    #[must_use]
    pub fn of<const N: usize>(words: [u64; N]) -> Self {
        words.into_iter().fold(Self(0x243F_6A88_85A3_08D3), Self::with)
    }

    /// The draw named by one more word. Each word goes through the output function of SplitMix64.
    #[must_use]
    pub fn with(self, word: u64) -> Self {
        let mut h = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 30;
        h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h ^= h >> 27;
        h = h.wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(h ^ (h >> 31))
    }

    /// 64 even bits.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Even between 0 and 1, neither included.
    #[must_use]
    pub fn uniform(self) -> f64 {
        ((self.0 >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// Even between two bounds.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Exponential with mean 1.
    #[must_use]
    pub fn exponential(self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    #[must_use]
    pub fn normal(self) -> f64 {
        (2.0 * self.with(1).exponential()).sqrt() * libm::cos(2.0 * std::f64::consts::PI * self.with(2).uniform())
    }
}

/// A run of draws under one name, for code that wants a generator.
#[derive(Debug, Clone)]
pub struct Stream {
    name: Draw,
    drawn: u64,
}

impl Stream {
    /// The run under this name, from its beginning.
    #[must_use]
    pub fn new(name: Draw) -> Self {
        Self { name, drawn: 0 }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|bits| (bits >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.drawn += 1;
        Ok(self.name.with(self.drawn).bits())
    }

    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), Infallible> {
        for part in into.chunks_mut(8) {
            let Ok(bits) = self.try_next_u64();
            part.copy_from_slice(&bits.to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_the_specification() {
        assert_eq!(Draw::of([1, 2, 3]).bits(), 0xcd8d_7059_9191_4ea1);
        assert_eq!(Draw::of([11, 0, 0, 1]).bits(), 0x590a_b9cf_3ac3_0346);
        let uniform = Draw::of([11, 0, 0, 1]).uniform();
        assert!((uniform - 0.347_819_912_999_295_2).abs() < f64::EPSILON, "{uniform}");
    }

    #[test]
    fn shapes_have_their_moments() {
        let mean = |of: &dyn Fn(u64) -> f64| (0..20_000).map(of).sum::<f64>() / 20_000.0;
        assert!(mean(&|n| Draw::of([5, n]).normal()).abs() < 0.02);
        assert!((mean(&|n| Draw::of([5, n]).normal().powi(2)) - 1.0).abs() < 0.03);
        assert!((mean(&|n| Draw::of([5, n]).exponential()) - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_stream_repeats_itself_and_fills_odd_lengths() {
        let take = || {
            let (mut stream, mut bytes) = (Stream::new(Draw::of([9])), [0u8; 11]);
            let Ok(()) = stream.try_fill_bytes(&mut bytes);
            bytes
        };
        assert_eq!(take(), take());
        assert_ne!(take()[8..], [0, 0, 0]);
    }
}
