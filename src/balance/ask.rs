//! What a strategy may know of the flow that asks.

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

    /// Whether the member can carry this flow at all, and was not tried for it.
    #[must_use]
    pub fn open(self, members: &[Member], at: usize) -> bool {
        let fits = members.get(at).is_some_and(|member| self.network != Network::Udp || member.udp);
        fits && !self.tried.contains(at)
    }
}

/// The hashed key of a flow, to which each member's name is added: FNV-1a over the key's parts, joined by bytes that
/// cannot occur in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of no bytes.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The key with more bytes behind it.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// The key with the mark between two parts behind it.
    #[must_use]
    pub fn next(self) -> Self {
        self.with(&[0xFE])
    }

    /// The hash of this key and a member's name: mixed well enough that names which differ in one letter are far apart.
    #[must_use]
    pub fn and(self, name: &[u8]) -> u64 {
        let mut x = self.with(&[0xFF]).with(name).0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^ (x >> 33)
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
        self.places[..self.len()].iter().any(|&place| place as usize == member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(Key::EMPTY.with(b"a").0, 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Key::EMPTY.with(b"a").and(b"b"), 0x7afd_4e29_979e_4afe);
        assert_eq!(Key::EMPTY.with(b"10.0.0.5").and(b"srv-a"), 0x9e31_28df_8a86_58c1);
    }

    #[test]
    fn no_more_are_tried_than_fit() {
        let tried = (0..5).fold(Tried::NONE, Tried::and);
        assert_eq!((tried.len(), tried.contains(2), tried.contains(3)), (3, true, false));
    }
}
