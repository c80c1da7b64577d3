//! What seals the chunks of one direction.

use aws_lc_rs::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use bytes::BytesMut;
use md5::{Digest, Md5};

use super::options::Security;
use crate::wire::WireError;

/// A key with its nonces, which count. The count has sixteen bits and then begins again; that is how the protocol is.
pub(super) struct Cipher {
    key: Sealing,
    iv: [u8; 16],
    count: u16,
}

enum Sealing {
    /// By the protocol's own wish.
    Nothing,
    With(LessSafeKey),
    /// No key of these lengths is refused; if one were, nothing might leave unsealed.
    Never,
}

/// Bytes behind what is sealed.
pub(super) const TAG: usize = 16;

impl Cipher {
    pub(super) fn new(security: Security, key: &[u8; 16], iv: &[u8; 16]) -> Self {
        let made = match security {
            Security::Aes128Gcm => UnboundKey::new(&AES_128_GCM, key),
            Security::ChaCha20Poly1305 => UnboundKey::new(&CHACHA20_POLY1305, &widened(key)),
            Security::None => return Self { key: Sealing::Nothing, iv: *iv, count: 0 },
        };
        let key = made.map_or(Sealing::Never, |key| Sealing::With(LessSafeKey::new(key)));
        Self { key, iv: *iv, count: 0 }
    }

    /// Bytes that sealing adds.
    pub(super) fn overhead(&self) -> usize {
        if matches!(self.key, Sealing::Nothing) { 0 } else { TAG }
    }

    fn nonce(&mut self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..2].copy_from_slice(&self.count.to_be_bytes());
        nonce[2..].copy_from_slice(&self.iv[2..12]);
        self.count = self.count.wrapping_add(1);
        Nonce::assume_unique_for_key(nonce)
    }

    /// Appends the sealed form of what it is given.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut BytesMut) {
        let at = out.len();
        out.extend_from_slice(plain);
        let nonce = self.nonce();
        let tag = match &self.key {
            Sealing::Nothing => return,
            Sealing::With(key) => key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut out[at..]).ok(),
            Sealing::Never => None,
        };
        match tag {
            Some(tag) => out.extend_from_slice(tag.as_ref()),
            // Fails for inputs of many gigabytes alone; a chunk that is not there is refused by the peer.
            None => out.truncate(at),
        }
    }

    /// Opens what it is given where it lies; the plain bytes are in front.
    pub(super) fn open(&mut self, sealed: &mut [u8]) -> Result<(), WireError> {
        let nonce = self.nonce();
        let opened = match &self.key {
            Sealing::Nothing => return Ok(()),
            Sealing::With(key) => key.open_in_place(nonce, Aad::empty(), sealed).is_ok(),
            Sealing::Never => false,
        };
        if opened { Ok(()) } else { Err(WireError::Malformed { what: "sealed chunk" }) }
    }
}

/// The key of ChaCha20 that a key of sixteen bytes stands for.
fn widened(key: &[u8; 16]) -> [u8; 32] {
    let mut wide = [0; 32];
    let first: [u8; 16] = Md5::digest(key).into();
    let second: [u8; 16] = Md5::digest(first).into();
    wide[..16].copy_from_slice(&first);
    wide[16..].copy_from_slice(&second);
    wide
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::vectors::{KEY, array, hex};
    use super::*;

    #[test]
    fn the_wide_key_is_known() {
        let wide = widened(&array(KEY));
        assert_eq!(wide[..], hex("35ba6d08f0e34c15b9d0b09998960eb608192e2100960d3badb6175ebb26e7ab"));
    }

    #[test]
    fn without_a_key_nothing_leaves_and_nothing_is_believed() {
        let mut cipher = Cipher { key: Sealing::Never, iv: [2; 16], count: 0 };
        let mut out = BytesMut::from(&b"before"[..]);
        cipher.seal(b"secret", &mut out);
        assert_eq!((&out[..], cipher.overhead()), (&b"before"[..], TAG));
        assert!(cipher.open(&mut [0; 40]).is_err());
    }

    #[test]
    fn what_is_sealed_opens_once_in_order_and_untouched() {
        for security in [Security::Aes128Gcm, Security::ChaCha20Poly1305, Security::None] {
            let make = || Cipher::new(security, &[1; 16], &[2; 16]);
            let (mut seal, mut out) = (make(), BytesMut::new());
            seal.seal(b"one", &mut out);
            let first = out.split();
            seal.seal(b"one", &mut out);
            assert_eq!((first.len(), first == out), (3 + make().overhead(), security == Security::None));
            let mut open = make();
            open.open(&mut first.clone()).unwrap();
            open.open(&mut out.clone()).unwrap();
            out[0] ^= 1;
            assert_eq!(make().open(&mut out).is_err(), security != Security::None);
        }
    }
}
