//! A name with the hashes that tables are asked by.
//!
//! A name is hashed from its end, so the hash of every parent falls out on the way and one walk over the bytes asks for all
//! of them. A fixed hash is enough: entries come from the configuration, and a stranger who finds names that collide with one
//! of them gains a comparison.

/// A name with the hashes of itself and its parents, made once for any number of tables.
#[derive(Debug, Clone, Copy)]
pub struct Hashed<'n> {
    text: &'n str,
    /// Hash of the whole.
    pub(super) whole: u64,
    /// Hash and beginning of each parent, the shortest first.
    parents: [(u64, u8); LABELS],
    len: usize,
}

/// Parents that are asked for. Names have two to six labels; keys with more than these are found as whole names alone.
const LABELS: usize = 32;

impl<'n> Hashed<'n> {
    /// Of a name in lower case.
    #[must_use]
    pub fn new(text: &'n str) -> Self {
        let bytes = text.as_bytes();
        let (mut whole, mut parents, mut len) = (SEED, [(0, 0); LABELS], 0);
        for at in (0..bytes.len()).rev() {
            if bytes[at] == b'.'
                && let Ok(begin) = u8::try_from(at + 1)
                && let Some(place) = parents.get_mut(len)
            {
                *place = (spread(whole), begin);
                len += 1;
            }
            whole = mix(whole, bytes[at]);
        }
        Self { text, whole: spread(whole), parents, len }
    }

    /// The name.
    #[must_use]
    pub fn text(&self) -> &'n str {
        self.text
    }

    /// Hash and beginning of each parent, the shortest first.
    pub(super) fn parents(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.parents[..self.len].iter().map(|(hash, at)| (*hash, usize::from(*at)))
    }
}

/// The hash of a key, as a name that equals it has it.
pub(super) fn hash(key: &str) -> u64 {
    spread(key.bytes().rev().fold(SEED, mix))
}

/// FNV-1a, because it goes byte by byte and has no table.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// FNV's highest bits know little of the last bytes, and those are the ones that tables spread by.
fn spread(hash: u64) -> u64 {
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
