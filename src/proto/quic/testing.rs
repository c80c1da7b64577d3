//! Initial packets as a client writes them.
#![allow(clippy::unwrap_used)]

use aws_lc_rs::aead::{Aad, Nonce};

use super::keys::{Keys, Version};

/// A CRYPTO frame.
pub fn crypto(at: usize, piece: &[u8]) -> Vec<u8> {
    let number = |number: usize| (u16::try_from(number).unwrap() | 0x4000).to_be_bytes();
    [&[6][..], &number(at), &number(piece.len()), piece].concat()
}

/// An Initial packet with these frames, filled up to the size that clients must send.
pub fn initial(version: u32, count: u8, frames: &[u8]) -> Vec<u8> {
    let id = [1, 2, 3, 4, 5, 6, 7, 8];
    let keys = Keys::new(Version::of(version).unwrap(), &id).unwrap();
    let mut payload = frames.to_vec();
    payload.resize(payload.len().max(1150), 0);
    let kind = Version::of(version).unwrap().initial();
    let mut packet = vec![0xc1 | kind << 4];
    packet.extend_from_slice(&version.to_be_bytes());
    packet.push(8);
    packet.extend_from_slice(&id);
    // No id of its own, no token.
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(&(u16::try_from(payload.len() + 18).unwrap() | 0x4000).to_be_bytes());
    let at = packet.len();
    packet.extend_from_slice(&[0, count]);
    let nonce = Nonce::assume_unique_for_key(keys.nonce(count.into()));
    let tag = keys.aead.seal_in_place_separate_tag(nonce, Aad::from(&packet[..]), &mut payload).unwrap();
    packet.extend_from_slice(&payload);
    packet.extend_from_slice(tag.as_ref());
    let mask = keys.mask(packet[at + 4..].first_chunk().unwrap());
    packet[0] ^= mask[0] & 0x0f;
    packet[at] ^= mask[1];
    packet[at + 1] ^= mask[2];
    packet
}
