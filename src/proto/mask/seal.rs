//! What sealed mKCP's packets before it was a mask: a checksum, or a cipher whose key is a seed.

use std::fmt;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use rand::{Rng, RngExt};

/// Bytes of the checksum and the length behind it.
pub(super) const CHECK: usize = 4 + 2;
pub(super) const NONCE: usize = 12;
pub(super) const TAG: usize = 16;

/// What seals a packet.
pub enum Seal {
    /// A checksum, and each byte mixed with the fourth before it. Whoever knows the format can make one.
    Sum,
    /// AES-128-GCM.
    Key(Box<LessSafeKey>),
}

impl Seal {
    /// With the key that a seed means; an empty one means the checksum.
    #[must_use]
    pub fn keyed(seed: &str) -> Self {
        let hash = digest(&SHA256, seed.as_bytes());
        let key = hash.as_ref().get(..16).and_then(|key| UnboundKey::new(&AES_128_GCM, key).ok());
        match key.filter(|_| !seed.is_empty()) {
            Some(key) => Self::Key(Box::new(LessSafeKey::new(key))),
            None => Self::Sum,
        }
    }

    /// Seals the packet that lies in `place` with this seal's room around it.
    pub(super) fn seal(&self, place: &mut [u8], rng: &mut impl Rng) {
        match self {
            Self::Sum => sum(place),
            Self::Key(key) => {
                let sealed = lock(key, place, rng);
                if sealed.is_none() {
                    // No packet is too long for the cipher; if one were, it must not leave as it is.
                    place.fill(0);
                }
            }
        }
    }

    pub(super) fn open<'a>(&self, packet: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let key = match self {
            Self::Sum => return summed(packet),
            Self::Key(key) => key,
        };
        let (nonce, sealed) = packet.split_first_chunk_mut::<NONCE>()?;
        key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), sealed).ok()
    }
}

fn lock(key: &LessSafeKey, place: &mut [u8], rng: &mut impl Rng) -> Option<()> {
    let (nonce, rest) = place.split_first_chunk_mut::<NONCE>()?;
    let (packet, end) = rest.split_last_chunk_mut::<TAG>()?;
    *nonce = rng.random();
    let tag = key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(*nonce), Aad::empty(), packet).ok()?;
    end.copy_from_slice(tag.as_ref());
    Some(())
}

fn sum(place: &mut [u8]) {
    // Longer datagrams do not exist.
    let len = u16::try_from(place.len().saturating_sub(CHECK)).unwrap_or(u16::MAX);
    let Some((check, rest)) = place.split_first_chunk_mut::<4>() else { return };
    if let Some(place) = rest.first_chunk_mut() {
        *place = len.to_be_bytes();
    }
    *check = fnv1a(rest).to_be_bytes();
    for at in 4..place.len() {
        place[at] ^= place[at - 4];
    }
}

fn summed(packet: &mut [u8]) -> Option<&mut [u8]> {
    for at in (4..packet.len()).rev() {
        packet[at] ^= packet[at - 4];
    }
    let (check, rest) = packet.split_first_chunk_mut::<4>()?;
    let right = u32::from_be_bytes(*check) == fnv1a(rest);
    let (len, packet) = rest.split_first_chunk_mut::<2>()?;
    (right && usize::from(u16::from_be_bytes(*len)) == packet.len()).then_some(packet)
}

/// FNV-1a of 32 bits.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sum => "Sum",
            Self::Key(_) => "Key",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// A segment of mKCP as v2ray 4.34.0 sends it without a seed and with one.
    #[test]
    fn known_packets() {
        let segment = bytes("00010100000000070000000000000000000568656c6c6f");
        let mut plain = bytes("9665872c9672872d9772872d9775872d9775872d97758728ff10eb4490");
        assert_eq!(Seal::Sum.open(&mut plain.clone()).unwrap(), segment);
        assert!(Seal::keyed("seed123").open(&mut plain).is_none());
        let mut sealed = bytes(concat!(
            "000102030405060708090a0b37dbe4ddeb0d03c3ddfb7c681aceb660e78e9927995b69",
            "9412086bf538c88665d2a5a5f056df4b"
        ));
        assert_eq!(Seal::keyed("seed123").open(&mut sealed.clone()).unwrap(), segment);
        assert!(Seal::keyed("seed124").open(&mut sealed.clone()).is_none());
        assert!(Seal::keyed("").open(&mut sealed).is_none());
    }

    #[test]
    fn the_checksum_is_what_v2ray_makes() {
        let mut place = bytes("00000000000000010100000000070000000000000000000568656c6c6f");
        sum(&mut place);
        assert_eq!(place, bytes("9665872c9672872d9772872d9775872d9775872d97758728ff10eb4490"));
    }
}
