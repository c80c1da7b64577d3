//! Which part of the new config goes on with which part of the old one: by tag, and where there is none by what it is.

use std::collections::HashMap;

use crate::addr::Tag;
use crate::model::config::Config;
use crate::model::inbound::Inbound;
use crate::model::outbound::Outbound;

/// What becomes of a part of the new config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The old config had no such part.
    New,
    /// It is the part at this place of the old config.
    Same(usize),
    /// It takes the place of that one, and is another.
    Changed(usize),
}

impl Fate {
    /// The part it goes on with or replaces.
    pub(super) fn old(self) -> Option<usize> {
        match self {
            Self::New => None,
            Self::Same(old) | Self::Changed(old) => Some(old),
        }
    }

    /// The part it goes on with.
    pub(super) fn same(self) -> Option<usize> {
        match self {
            Self::Same(old) => Some(old),
            Self::New | Self::Changed(_) => None,
        }
    }
}

/// The fate of every part of one list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Of the new parts, in their order.
    pub(super) fates: Vec<Fate>,
    /// The places of old parts that nothing goes on with or replaces.
    pub(super) gone: Vec<usize>,
}

impl Pairs {
    /// Whether the two lists are one, place by place.
    pub(super) fn all_same(&self) -> bool {
        self.gone.is_empty() && self.fates.iter().enumerate().all(|(at, fate)| *fate == Fate::Same(at))
    }
}

/// The inbounds of two configs.
pub(super) fn inbounds(old: &Config, new: &Config) -> Pairs {
    pair(&old.inbounds, &new.inbounds, |inbound: &Inbound| &inbound.tag, PartialEq::eq)
}

/// The outbounds of two configs.
pub(super) fn outbounds(old: &Config, new: &Config) -> Pairs {
    pair(&old.outbounds, &new.outbounds, |outbound: &Outbound| &outbound.tag, PartialEq::eq)
}

/// Pairs two lists.
pub(super) fn pair<T>(old: &[T], new: &[T], tag: impl Fn(&T) -> &Tag, same: impl Fn(&T, &T) -> bool) -> Pairs {
    let mut free: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, part) in old.iter().enumerate().rev() {
        free.entry(tag(part).as_str()).or_default().push(at);
    }
    let mut fates = vec![Fate::New; new.len()];
    // Equal ones first: of parts with the same name, or none, those that changed take what is left.
    for wanted_equal in [true, false] {
        for (fate, part) in fates.iter_mut().zip(new).filter(|(fate, _)| **fate == Fate::New) {
            let Some(places) = free.get_mut(tag(part).as_str()) else { continue };
            let equal = places.iter().rposition(|at| same(&old[*at], part));
            match (equal, wanted_equal) {
                (Some(at), true) => *fate = Fate::Same(places.remove(at)),
                (None, false) => *fate = places.pop().map_or(Fate::New, Fate::Changed),
                _ => {}
            }
        }
    }
    let mut gone: Vec<usize> = free.into_values().flatten().collect();
    gone.sort_unstable();
    Pairs { fates, gone }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tag and what it stands for.
    type Part = (Tag, u32);

    fn parts(list: &[(&str, u32)]) -> Vec<Part> {
        list.iter().map(|(tag, what)| (Tag::new(tag), *what)).collect()
    }

    fn paired(old: &[(&str, u32)], new: &[(&str, u32)]) -> Pairs {
        pair(&parts(old), &parts(new), |part: &Part| &part.0, PartialEq::eq)
    }

    #[test]
    fn tags_pair_wherever_they_stand() {
        let pairs = paired(&[("a", 1), ("b", 2), ("c", 3)], &[("c", 3), ("d", 4), ("a", 9)]);
        assert_eq!(pairs.fates, [Fate::Same(2), Fate::New, Fate::Changed(0)]);
        assert_eq!(pairs.gone, [1]);
        assert!(!pairs.all_same());
        assert!(paired(&[("a", 1), ("", 2)], &[("a", 1), ("", 2)]).all_same());
    }

    #[test]
    fn parts_without_a_tag_pair_by_what_they_are() {
        let pairs = paired(&[("", 1), ("", 2), ("", 3)], &[("", 3), ("", 7), ("", 1), ("", 8)]);
        assert_eq!(pairs.fates, [Fate::Same(2), Fate::Changed(1), Fate::Same(0), Fate::New]);
        assert!(pairs.gone.is_empty());
    }

    #[test]
    fn a_part_that_stands_twice_is_not_paired_twice() {
        let pairs = paired(&[("", 1)], &[("", 1), ("", 1)]);
        assert_eq!(pairs.fates, [Fate::Same(0), Fate::New]);
    }
}
