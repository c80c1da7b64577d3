//! How long a word and its answer take, and when an answer is overdue.

/// What is known of it, in milliseconds (RFC 6298, with numbers of mKCP's own).
#[derive(Debug)]
pub(super) struct Trip {
    smooth: u32,
    variation: u32,
    overdue: u32,
    /// No trip is taken for shorter than a beat.
    least: u32,
    measured: u32,
}

/// Before anything is known.
const FIRST: u32 = 100;
/// Longer trips are taken for this.
const MOST: u32 = 10_000;
/// What was measured counts for so long against what the peer says.
const FRESH: u32 = 3000;

impl Trip {
    pub(super) fn new(beat: u32) -> Self {
        Self { smooth: 0, variation: 0, overdue: FIRST, least: beat, measured: 0 }
    }

    /// After so many an answer is overdue.
    pub(super) fn overdue(&self) -> u32 {
        self.overdue
    }

    /// A trip took so long.
    pub(super) fn measure(&mut self, trip: u32, now: u32) {
        if trip >= MOST {
            return;
        }
        if self.smooth == 0 {
            (self.smooth, self.variation) = (trip, trip / 2);
        } else {
            self.variation = (3 * self.variation + self.smooth.abs_diff(trip)) / 4;
            self.smooth = ((7 * self.smooth + trip) / 8).max(self.least);
        }
        let factor = if self.least < 4 * self.variation { 4 } else { 1 };
        self.overdue = (self.smooth + factor * self.variation).min(MOST) * 5 / 4;
        self.measured = now;
    }

    /// What the peer holds for overdue.
    pub(super) fn hear(&mut self, overdue: u32, now: u32) {
        if now.wrapping_sub(self.measured) >= FRESH {
            (self.overdue, self.measured) = (overdue.clamp(1, MOST), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_trip_is_learnt_and_a_wild_one_bounded() {
        let mut trip = Trip::new(50);
        assert_eq!(trip.overdue(), FIRST);
        for now in 0..100 {
            trip.measure(80, now);
        }
        assert!((100..=110).contains(&trip.overdue()), "{}", trip.overdue());
        for now in 0..100 {
            trip.measure(if now % 2 == 0 { 9999 } else { 1 }, now);
        }
        assert!(trip.overdue() <= MOST * 5 / 4);
        trip.measure(u32::MAX, 0);
        trip.hear(u32::MAX, 1_000_000);
        assert_eq!(trip.overdue(), MOST);
    }
}
