//! What people do in a world: pages and large files, at random moments, on sites of unequal fame.

use super::draw::Draw;

/// Sites that exist.
const SITES: usize = 200;
/// Objects of a page behind its first one.
const OBJECTS: u64 = 8;
/// Items a second.
const RATE: f64 = 0.03;
/// No item begins in the last seconds of a world.
const QUIET_END: f64 = 120.0;

/// One object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Bytes.
    pub size: f64,
    /// What its luck is keyed by.
    pub id: u64,
}

/// A page, or a large file.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// When it begins.
    pub time: f64,
    /// Which site, the most famous being 0.
    pub site: usize,
    /// Its objects: the first is fetched alone, all others together after it. A large file is one object.
    pub objects: Vec<Object>,
}

impl Item {
    /// Whether it is a page.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.objects.len() > 1
    }
}

/// All items of a world of this length, in the order of their beginning.
#[must_use]
pub fn items(length: usize, seed: u64) -> Vec<Item> {
    // Zipf: the site at place n is asked for as often as 1/n says.
    let fame: Vec<f64> = (1..=SITES)
        .scan(0.0, |sum, place| {
            *sum += 1.0 / place as f64;
            Some(*sum)
        })
        .collect();
    let whole = fame[SITES - 1];
    let (mut time, mut next, mut found) = (0.0, 0, Vec::new());
    for number in 1.. {
        let draw = |purpose: u64| Draw::of([seed, number, purpose]);
        time += draw(11).exponential() / RATE;
        if time >= length as f64 - QUIET_END {
            break;
        }
        let asked = draw(12).uniform() * whole;
        let site = fame.partition_point(|&sum| sum < asked);
        let mut object = |purpose, median: f64, sigma: f64, most: f64| {
            next += 1;
            Object { size: (median * libm::exp(sigma * draw(purpose).normal())).min(most), id: next }
        };
        let objects = if draw(13).uniform() < 0.85 {
            (0..=OBJECTS).map(|place| object(14 + place, 25e3, 1.0, 2e6)).collect()
        } else {
            vec![object(14, 5e6, 0.8, 100e6)]
        };
        found.push(Item { time, site, objects });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_pages_files_and_famous_sites() {
        let items = items(86_400, 7000);
        let pages = items.iter().filter(|item| item.is_page()).count();
        assert!((2300..2900).contains(&items.len()), "{}", items.len());
        assert!((0.8..0.9).contains(&(pages as f64 / items.len() as f64)));
        let first = items.iter().filter(|item| item.site == 0).count();
        assert!(first > items.len() / 8, "a sixth of all goes to the first site: {first}");
        assert!(items.is_sorted_by(|a, b| a.time < b.time));
        assert!(items.iter().flat_map(|item| &item.objects).map(|object| object.id).is_sorted());
    }
}
