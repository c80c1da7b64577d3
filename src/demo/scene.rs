//! The script: what the three lines are worth in each scene, and so who ought to serve.

use std::time::Duration;

/// The members, as the config names them.
pub const NAMES: [&str; 3] = ["north", "east", "west"];

/// Their weights, as the config gives them.
pub const WEIGHTS: [u32; 3] = [200, 100, 100];

/// Bytes of a speed test.
pub const TEST: usize = 200_000;

/// What a line is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quality {
    /// Bytes a second, for each connection; 0 is a dead line.
    pub speed: u64,
    /// Time of one exchange.
    pub delay: Duration,
}

impl Quality {
    /// A line of so many kB/s and so many milliseconds.
    const fn of(kilobytes: u64, millis: u64) -> Self {
        Self { speed: kilobytes * 1000, delay: Duration::from_millis(millis) }
    }

    /// Whether anything passes.
    #[must_use]
    pub fn alive(self) -> bool {
        self.speed > 0
    }

    /// The true rate of a speed test over this line: one exchange to connect, one to the first byte, then the body.
    #[must_use]
    pub fn rate(self) -> f64 {
        if !self.alive() {
            return 0.0;
        }
        TEST as f64 / (2.0 * self.delay.as_secs_f64() + TEST as f64 / self.speed as f64)
    }
}

/// A part of the demo during which the lines stay as they are.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// What happens, in words.
    pub title: &'static str,
    /// The lines, in the order of [`NAMES`].
    pub lines: [Quality; 3],
}

impl Scene {
    /// True rate x weight of each line.
    #[must_use]
    pub fn worth(&self) -> [f64; 3] {
        let mut worth = [0.0; 3];
        for ((worth, line), weight) in worth.iter_mut().zip(self.lines).zip(WEIGHTS) {
            *worth = line.rate() * f64::from(weight);
        }
        worth
    }

    /// The line that ought to serve.
    #[must_use]
    pub fn best(&self) -> usize {
        let worth = self.worth();
        // Of equals the first; the script has none.
        (0..worth.len()).rev().max_by(|&a, &b| worth[a].total_cmp(&worth[b])).unwrap_or_default()
    }
}

/// The script. Each best line is worth at least half as much again as the next, so that a busy machine does not decide.
pub const SCENES: [Scene; 5] = [
    Scene {
        title: "all lines are up; east is the fastest, but north has twice the weight",
        lines: [Quality::of(800, 15), Quality::of(1000, 15), Quality::of(400, 5)],
    },
    Scene { title: "north degrades", lines: [Quality::of(300, 60), Quality::of(1000, 15), Quality::of(400, 5)] },
    Scene {
        title: "east is killed, west gets better",
        lines: [Quality::of(300, 60), Quality::of(0, 0), Quality::of(1000, 5)],
    },
    Scene {
        title: "east is back, twice as fast as before",
        lines: [Quality::of(300, 60), Quality::of(2000, 10), Quality::of(1000, 5)],
    },
    Scene { title: "north recovers", lines: [Quality::of(1800, 10), Quality::of(2000, 10), Quality::of(1000, 5)] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_leaves_no_doubt_who_ought_to_serve() {
        let best: Vec<_> = SCENES.iter().map(|scene| NAMES[scene.best()]).collect();
        assert_eq!(best, ["north", "east", "west", "east", "north"]);
        for scene in SCENES {
            let mut worth = scene.worth();
            worth.sort_by(|a, b| b.total_cmp(a));
            assert!(worth[0] >= 1.5 * worth[1], "{}: {worth:?}", scene.title);
        }
    }

    #[test]
    fn the_first_scene_is_decided_by_weight_not_by_speed() {
        let [north, east, _] = SCENES[0].lines;
        assert!(north.rate() < east.rate());
    }
}
