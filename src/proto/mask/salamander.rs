//! Hysteria's mask: salt, then the packet under a key stream of 32 bytes that repeats.

use std::fmt;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use rand::{Rng, RngExt};

/// A password's mask. It hides what a packet is; it protects nothing.
#[derive(Clone)]
pub struct Salamander {
    /// The hash, once the password went into it.
    begun: Blake2b<U32>,
}

impl Salamander {
    /// Bytes of salt in front.
    pub(super) const SALT: usize = 8;

    /// With a password, of four bytes or more as others want it.
    #[must_use]
    pub fn new(password: &[u8]) -> Self {
        Self { begun: Blake2b::new().chain_update(password) }
    }

    /// Fills in the salt of `place` and covers what lies behind it.
    pub(super) fn seal(&self, place: &mut [u8], rng: &mut impl Rng) {
        if let Some((salt, packet)) = place.split_first_chunk_mut::<{ Self::SALT }>() {
            *salt = rng.random();
            self.cover(salt, packet);
        }
    }

    pub(super) fn open<'a>(&self, packet: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let (salt, packet) = packet.split_first_chunk_mut::<{ Self::SALT }>()?;
        self.cover(salt, packet);
        Some(packet)
    }

    fn cover(&self, salt: &[u8; Self::SALT], packet: &mut [u8]) {
        let key: [u8; 32] = self.begun.clone().chain_update(salt).finalize().into();
        for part in packet.chunks_mut(key.len()) {
            for (byte, key) in part.iter_mut().zip(key) {
                *byte ^= key;
            }
        }
    }
}

impl fmt::Debug for Salamander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salamander")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Seen to be what sing-box 1.14.4 sends.
    #[test]
    fn a_known_packet() {
        let mut packet = [0, 1, 2, 3, 4, 5, 6, 7, 0x3e, 0xca, 0xee, 0x6e, 0x65];
        assert_eq!(Salamander::new(b"obfspass").open(&mut packet).unwrap(), b"hello");
        assert_ne!(Salamander::new(b"obfspast").open(&mut packet).unwrap(), b"hello");
        assert!(Salamander::new(b"obfspass").open(&mut packet[..7]).is_none());
    }
}
