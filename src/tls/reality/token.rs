//! What a client hides in the session id of its hello.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use zeroize::Zeroizing;

/// What both sides derive from the client's X25519 key share and the server's key of the configuration.
pub(super) type AuthKey = Zeroizing<[u8; 32]>;

/// Bytes of a token, which fills a session id.
pub(super) const SEALED: usize = 32;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// Version of the client.
    pub(super) version: [u8; 3],
    /// Its clock, in seconds since 1970.
    pub(super) time: u32,
    /// The id it shows.
    pub(super) short_id: [u8; 8],
}

/// The key of one hello.
pub(super) fn auth_key(own: &PrivateKey, peer: &[u8], random: &[u8; 32]) -> Result<AuthKey, Unspecified> {
    agree(own, UnparsedPublicKey::new(&X25519, peer), Unspecified, |shared| {
        let mut key = Zeroizing::new([0; 32]);
        Salt::new(HKDF_SHA256, &random[..20]).extract(shared).expand(&[b"REALITY"], HKDF_SHA256)?.fill(&mut *key)?;
        Ok(key)
    })
}

impl Token {
    /// Seals it for the session id of a hello. `blank` is the whole message with zeros in its place.
    pub(super) fn seal(&self, key: &AuthKey, random: &[u8; 32], blank: &[u8]) -> Result<[u8; SEALED], Unspecified> {
        let [x, y, z] = self.version;
        let mut sealed = [0; SEALED];
        let (plain, tag) = sealed.split_at_mut(SEALED / 2);
        plain[..4].copy_from_slice(&[x, y, z, 0]);
        plain[4..8].copy_from_slice(&self.time.to_be_bytes());
        plain[8..].copy_from_slice(&self.short_id);
        let made = cipher(key)?.seal_in_place_separate_tag(nonce(random), Aad::from(blank), plain)?;
        tag.copy_from_slice(made.as_ref());
        Ok(sealed)
    }

    /// Opens the session id of a hello. `blank` is the whole message with zeros in its place.
    pub(super) fn open(key: &AuthKey, random: &[u8; 32], blank: &[u8], mut sealed: [u8; SEALED]) -> Option<Self> {
        let cipher = cipher(key).ok()?;
        let plain = cipher.open_in_place(nonce(random), Aad::from(blank), &mut sealed).ok()?;
        let (version, rest) = plain.split_first_chunk()?;
        let (time, short_id) = rest.get(1..)?.split_first_chunk()?;
        Some(Self { version: *version, time: u32::from_be_bytes(*time), short_id: *short_id.first_chunk()? })
    }
}

fn cipher(key: &AuthKey) -> Result<LessSafeKey, Unspecified> {
    UnboundKey::new(&AES_256_GCM, &key[..]).map(LessSafeKey::new)
}

fn nonce(random: &[u8; 32]) -> Nonce {
    let mut nonce = [0; 12];
    nonce.copy_from_slice(&random[20..]);
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::keys::hex;

    fn array<const N: usize>(text: &str) -> [u8; N] {
        hex(text).unwrap().try_into().unwrap()
    }

    /// The known answer that both sides must give.
    #[test]
    fn the_known_answer() {
        let random = array("404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f");
        let own: [u8; 32] = array("202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f");
        let peer = hex("8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f").unwrap();
        let own = PrivateKey::from_private_key(&X25519, &own).unwrap();
        let key = auth_key(&own, &peer, &random).unwrap();
        assert_eq!(*key, array("f3598505b480ef06b191cd17ecaea9c1e8391dd17711da28685d1f3a40ec83d3"));
        let blank = [&hex("010000470303").unwrap()[..], &random, &[32], &[0; 32], &[0]].concat();
        let sealed = array("ac915014438dc0503ac9f25a0ae49da3dbcf11d4c505c71dde4ba06242494322");
        let token = Token {
            version: [26, 7, 28],
            time: 0x6553_f100,
            short_id: [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef],
        };
        assert_eq!(Token::open(&key, &random, &blank, sealed), Some(token));
        assert_eq!(token.seal(&key, &random, &blank).unwrap(), sealed);
        let mut other = blank;
        other[10] ^= 1;
        assert_eq!(Token::open(&key, &random, &other, sealed), None);
    }

    #[test]
    fn a_key_of_no_order_is_none() {
        let own = PrivateKey::from_private_key(&X25519, &[7; 32]).unwrap();
        assert!(auth_key(&own, &[0; 32], &[0; 32]).is_err());
    }
}
