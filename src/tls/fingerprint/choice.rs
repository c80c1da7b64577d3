//! Which shape a browser's name means.

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

use super::browsers::{SESSION_TICKET, STATUS_REQUEST, chrome, firefox, safari};
use super::shape::{Extension, GREASE, Shape};
use crate::model::browser::Browser;

impl Shape {
    /// A browser's. Where there is a choice it is made here.
    pub fn of(browser: Browser, rng: &mut StdRng) -> Self {
        match browser {
            Browser::Firefox => firefox(),
            Browser::Safari => safari(),
            Browser::Random => match rng.random_range(0..3) {
                0 => chrome(),
                1 => firefox(),
                _ => safari(),
            },
            Browser::Randomized { alpn } => Self::drawn(alpn, rng),
            // Whoever speaks with the library's own hello does not ask for a shape.
            Browser::Chrome | Browser::Own => chrome(),
        }
    }

    /// What any client may say, in some order, with some of it left out.
    fn drawn(alpn: bool, rng: &mut StdRng) -> Self {
        let mut shape = chrome();
        shape.suites.retain(|&suite| suite != GREASE);
        let (new, old) = shape.suites.split_at_mut(3);
        new.shuffle(rng);
        // The best of the older ones first, or servers would take the worse.
        let (good, bad) = old.split_at_mut(6);
        good.shuffle(rng);
        bad.shuffle(rng);
        let keep = rng.random_range(0..=bad.len());
        shape.suites.truncate(9 + keep);
        shape.extensions.retain(|extension| match extension {
            Extension::Grease(_) | Extension::Daring(..) | Extension::Alps | Extension::Ech(..) => false,
            Extension::Alpn => alpn,
            Extension::Fixed(STATUS_REQUEST | SESSION_TICKET, _) => rng.random(),
            _ => true,
        });
        shape.extensions.shuffle(rng);
        shape.shuffled = false;
        shape
    }
}
