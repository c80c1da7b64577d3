//! What a strategy may know of the flow that asks.

use super::key::Key;
use super::member::Member;
use crate::addr::Network;

/// A flow's question: who shall carry it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What the flow carries; members that cannot carry it are no candidates.
    pub network: Network,
    /// What rendezvous hashing goes by.
    pub key: Key,
    /// Members that were tried for this flow already and failed; they are no candidates.
    pub tried: Tried,
}

impl Ask {
    /// A flow of bytes.
    pub const TCP: Self = Self { network: Network::Tcp, key: Key::EMPTY, tried: Tried::NONE };
    /// A flow of datagrams.
    pub const UDP: Self = Self { network: Network::Udp, ..Self::TCP };

    /// Whether the member can carry this flow at all, and was not tried for it, neither here nor where else it stands in
    /// the list.
    #[must_use]
    pub fn open(self, members: &[Member], at: usize) -> bool {
        let Some(member) = members.get(at) else { return false };
        let tried = |at: usize| members.get(at).is_some_and(|other| other.hop == member.hop);
        (self.network != Network::Udp || member.udp) && !self.tried.places().any(tried)
    }
}

/// Members that a flow has tried. As many as a flow may try at most, so that no list is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    places: [u32; Self::MOST],
    len: u8,
}

impl Tried {
    /// How many members a flow may try (balancing rule 12.4).
    pub const MOST: usize = 3;

    /// Nobody yet.
    pub const NONE: Self = Self { places: [0; Self::MOST], len: 0 };

    /// The same and this member.
    #[must_use]
    pub fn and(mut self, member: usize) -> Self {
        if let Some(place) = self.places.get_mut(usize::from(self.len)) {
            *place = u32::try_from(member).unwrap_or(u32::MAX);
            self.len += 1;
        }
        self
    }

    /// How many.
    #[must_use]
    pub fn len(self) -> usize {
        usize::from(self.len)
    }

    /// Whether nobody was tried.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether this one was.
    #[must_use]
    pub fn contains(self, member: usize) -> bool {
        self.places().any(|place| place == member)
    }

    /// Their places in the list.
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.places.into_iter().take(self.len()).map(|place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::OutboundId;

    #[test]
    fn no_more_are_tried_than_fit() {
        let tried = (0..5).fold(Tried::NONE, Tried::and);
        assert_eq!((tried.len(), tried.contains(2), tried.contains(3)), (3, true, false));
    }

    #[test]
    fn whoever_was_tried_is_not_open_at_a_second_place() {
        let member = |id: u32| Member { tag: "m".into(), hop: OutboundId(id).into(), udp: true, weight: 1 };
        let members = [member(1), member(2), member(1)];
        let ask = Ask { tried: Tried::NONE.and(0), ..Ask::TCP };
        let open: Vec<bool> = (0..4).map(|at| ask.open(&members, at)).collect();
        assert_eq!(open, [false, true, false, false]);
    }
}
