//! The verdict on a scene: what the lines carried, against what they were worth.

use super::scene::{NAMES, Scene};

/// The least share of the users' bytes that the right line must have carried.
const ENOUGH: f64 = 0.9;

/// What came of one scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Who ought to have served, by true rate x weight.
    pub expected: usize,
    /// Users' bytes each line carried while it was watched.
    pub carried: [u64; 3],
}

impl Judgement {
    /// Judges a scene by the lines' own counters, before and after the time they were watched.
    #[must_use]
    pub fn new(scene: &Scene, before: [u64; 3], after: [u64; 3]) -> Self {
        let mut carried = [0; 3];
        for (carried, (before, after)) in carried.iter_mut().zip(before.into_iter().zip(after)) {
            *carried = after.saturating_sub(before);
        }
        Self { expected: scene.best(), carried }
    }

    /// The right line's share of all bytes; 0 if there were none.
    #[must_use]
    pub fn share(&self) -> f64 {
        let total: u64 = self.carried.iter().sum();
        if total == 0 { 0.0 } else { self.carried[self.expected] as f64 / total as f64 }
    }

    /// Whether the right line served.
    #[must_use]
    pub fn right(&self) -> bool {
        self.share() >= ENOUGH
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAMES[self.expected]
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::SCENES;
    use super::*;

    #[test]
    fn only_the_bytes_of_the_right_line_count() {
        let judge = |after| Judgement::new(&SCENES[0], [1000, 500, 0], after);
        assert!(judge([11_000, 500, 0]).right());
        assert!(judge([11_000, 1000, 0]).right(), "a flow that began before the switch");
        assert!(!judge([11_000, 5000, 0]).right());
        assert!(!judge([1000, 10_500, 0]).right(), "the wrong line served");
        assert!(!judge([1000, 500, 0]).right(), "nothing was served at all");
    }
}
