//! Answers that are kept. Pure: the time is an argument, in seconds since any beginning.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::family::Family;
use crate::addr::DomainName;

/// Answers by name and family.
#[derive(Debug)]
pub struct Cache {
    entries: HashMap<(DomainName, Family), Entry>,
    most: usize,
    rules: Rules,
}

/// What is done with old answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether answers are kept at all.
    pub keeps: bool,
    /// For how many seconds past its time an answer still serves while a new one is fetched; nothing: not at all.
    pub stale: Option<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    answer: Answer,
    until: u64,
}

/// An answer: addresses, or that there are none and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The addresses.
    pub ips: Arc<[IpAddr]>,
    /// The response code.
    pub code: u16,
}

/// What the cache has of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// An answer, good for so many seconds more.
    Fresh(Answer, u32),
    /// An answer past its time. It serves; a new one is to be fetched.
    Stale(Answer),
}

/// Answers that one server's cache holds; with more, those that end first go.
pub const MOST: usize = 65_536;

impl Cache {
    /// An empty one.
    #[must_use]
    pub fn new(rules: Rules, most: usize) -> Self {
        Self { entries: HashMap::new(), most: most.max(1), rules }
    }

    /// What is known of a name.
    #[must_use]
    pub fn get(&self, name: &DomainName, family: Family, now: u64) -> Kept {
        // The key is a shared text, so this clone counts one up.
        let Some(entry) = self.entries.get(&(name.clone(), family)) else { return Kept::Nothing };
        if now < entry.until {
            let left = u32::try_from(entry.until - now).unwrap_or(u32::MAX);
            return Kept::Fresh(entry.answer.clone(), left);
        }
        match self.rules.stale {
            Some(most) if now - entry.until <= most => Kept::Stale(entry.answer.clone()),
            _ => Kept::Nothing,
        }
    }

    /// Keeps an answer for its time.
    pub fn put(&mut self, name: DomainName, family: Family, answer: Answer, ttl: u32, now: u64) {
        if !self.rules.keeps {
            return;
        }
        if self.entries.len() >= self.most && !self.entries.contains_key(&(name.clone(), family)) {
            self.make_room(now);
        }
        let until = now.saturating_add(u64::from(ttl.max(1)));
        self.entries.insert((name, family), Entry { answer, until });
    }

    /// Drops what has ended, and if that is not enough, the eighth that ends first.
    fn make_room(&mut self, now: u64) {
        let stale = self.rules.stale.unwrap_or(0);
        self.entries.retain(|_, entry| entry.until.saturating_add(stale) > now);
        if self.entries.len() < self.most {
            return;
        }
        let mut ends: Vec<u64> = self.entries.values().map(|entry| entry.until).collect();
        let at = ends.len() / 8;
        let (_, limit, _) = ends.select_nth_unstable(at);
        let limit = *limit;
        let mut left = at + 1;
        self.entries.retain(|_, entry| {
            let goes = entry.until <= limit && left > 0;
            left -= usize::from(goes);
            !goes
        });
    }

    /// How many answers it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FOREVER: Rules = Rules { keeps: true, stale: Some(u64::MAX) };

    fn name(n: usize) -> DomainName {
        DomainName::new(&format!("n{n}.example")).unwrap()
    }

    fn answer(last: u8) -> Answer {
        Answer { ips: [IpAddr::from([192, 0, 2, last])].into(), code: 0 }
    }

    #[test]
    fn answers_are_good_for_their_time_and_families_are_apart() {
        let mut cache = Cache::new(Rules { keeps: true, stale: None }, MOST);
        cache.put(name(1), Family::V4, answer(1), 60, 100);
        assert_eq!(cache.get(&name(1), Family::V4, 100), Kept::Fresh(answer(1), 60));
        assert_eq!(cache.get(&name(1), Family::V4, 159), Kept::Fresh(answer(1), 1));
        assert_eq!(cache.get(&name(1), Family::V4, 160), Kept::Nothing);
        assert_eq!(cache.get(&name(1), Family::V6, 100), Kept::Nothing);
        cache.put(name(2), Family::V4, answer(2), 0, 100);
        assert_eq!(cache.get(&name(2), Family::V4, 100), Kept::Fresh(answer(2), 1), "at least a second");
    }

    #[test]
    fn old_answers_serve_as_long_as_is_said() {
        let mut cache = Cache::new(Rules { keeps: true, stale: Some(30) }, MOST);
        cache.put(name(1), Family::V4, answer(1), 10, 0);
        assert_eq!(cache.get(&name(1), Family::V4, 40), Kept::Stale(answer(1)));
        assert_eq!(cache.get(&name(1), Family::V4, 41), Kept::Nothing);
        let mut cache = Cache::new(FOREVER, MOST);
        cache.put(name(1), Family::V4, answer(1), 10, 0);
        assert_eq!(cache.get(&name(1), Family::V4, 1 << 40), Kept::Stale(answer(1)));
    }

    #[test]
    fn nothing_is_kept_where_that_is_not_wanted() {
        let mut cache = Cache::new(Rules { keeps: false, stale: None }, MOST);
        cache.put(name(1), Family::V4, answer(1), 60, 0);
        assert!(cache.is_empty());
    }

    #[test]
    fn it_is_bounded_and_drops_what_ends_first() {
        for rules in [Rules { keeps: true, stale: None }, FOREVER] {
            let mut cache = Cache::new(rules, 64);
            for n in 0..1000 {
                cache.put(name(n), Family::V4, answer(1), u32::try_from(n).unwrap() + 1, 0);
                assert!(cache.len() <= 64);
            }
            assert!(matches!(cache.get(&name(999), Family::V4, 0), Kept::Fresh(..)));
            assert_eq!(cache.get(&name(0), Family::V4, 0), Kept::Nothing);
            // All end at once.
            let mut cache = Cache::new(rules, 64);
            (0..1000).for_each(|n| cache.put(name(n), Family::V4, answer(1), 60, 0));
            assert!(cache.len() <= 64 && cache.len() > 40, "{}", cache.len());
        }
    }
}
