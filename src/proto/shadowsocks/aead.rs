//! The ciphers, sealing and opening bytes where they lie.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use bytes::BytesMut;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, Tag, XChaCha20Poly1305, XNonce};

use super::method::Method;
use crate::wire::WireError;

/// Bytes of every cipher's tag.
pub(super) const TAG: usize = 16;

/// Bytes of the longest nonce; shorter ones are its front.
const NONCE: usize = 24;

const SHORT: usize = 12;

/// A cipher with a key.
pub(super) enum Aead {
    Short(LessSafeKey),
    Long(Box<XChaCha20Poly1305>),
}

impl Aead {
    pub(super) fn new(method: Method, key: &[u8]) -> Result<Self, WireError> {
        let algorithm = match method {
            Method::Aes128 => &AES_128_GCM,
            Method::Aes256 => &AES_256_GCM,
            Method::Chacha20 => &CHACHA20_POLY1305,
            Method::Xchacha20 => return Self::long(key),
        };
        UnboundKey::new(algorithm, key).map(|key| Self::Short(LessSafeKey::new(key))).map_err(|_| bad_key())
    }

    /// XChaCha20-Poly1305, also where a method of 2022 uses it for its datagrams.
    pub(super) fn long(key: &[u8]) -> Result<Self, WireError> {
        XChaCha20Poly1305::new_from_slice(key).map(|cipher| Self::Long(Box::new(cipher))).map_err(|_| bad_key())
    }

    /// Seals what `out` holds from `from` on, and appends the tag.
    pub(super) fn seal(&self, nonce: &[u8], out: &mut BytesMut, from: usize) {
        let tag = match self {
            Self::Short(key) => short(nonce).and_then(|nonce| {
                let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut out[from..]).ok()?;
                <[u8; TAG]>::try_from(tag.as_ref()).ok()
            }),
            Self::Long(cipher) => XNonce::try_from(nonce)
                .ok()
                .and_then(|nonce| cipher.encrypt_inout_detached(&nonce, &[], (&mut out[from..]).into()).ok())
                .map(Into::into),
        };
        match tag {
            Some(tag) => out.extend_from_slice(&tag),
            // No cipher fails at lengths like ours; if one did, nothing may leave unsealed.
            None => out.truncate(from),
        }
    }

    /// Opens `sealed`, whose last bytes are the tag, where it lies.
    pub(super) fn open<'a>(&self, nonce: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], WireError> {
        let len = sealed.len().checked_sub(TAG).ok_or(WireError::Truncated { need: TAG })?;
        match self {
            Self::Short(key) => {
                let nonce = short(nonce).ok_or_else(bad_key)?;
                key.open_in_place(nonce, Aad::empty(), sealed).map_err(|_| DENIED)
            }
            Self::Long(cipher) => {
                let nonce = XNonce::try_from(nonce).map_err(|_| bad_key())?;
                let (text, tag) = sealed.split_at_mut(len);
                let tag = Tag::try_from(&*tag).map_err(|_| bad_key())?;
                cipher.decrypt_inout_detached(&nonce, &[], (&mut *text).into(), &tag).map_err(|_| DENIED)?;
                Ok(text)
            }
        }
    }

    /// Bytes of its nonces.
    pub(super) fn nonce_len(&self) -> usize {
        match self {
            Self::Short(_) => SHORT,
            Self::Long(_) => NONCE,
        }
    }
}

/// A wrong key, or bytes that were changed on the way: nobody can tell them apart.
pub(super) const DENIED: WireError = WireError::Denied { what: "a wrong password, or bytes of another protocol" };

fn bad_key() -> WireError {
    WireError::Malformed { what: "key" }
}

fn short(nonce: &[u8]) -> Option<Nonce> {
    nonce.try_into().ok().map(Nonce::assume_unique_for_key)
}

/// A cipher whose nonce counts up from 0, little-endian, one step an operation.
pub(super) struct Counting {
    aead: Aead,
    nonce: [u8; NONCE],
}

impl Counting {
    pub(super) fn new(aead: Aead) -> Self {
        Self { aead, nonce: [0; NONCE] }
    }

    /// As [`Aead::seal`].
    pub(super) fn seal(&mut self, out: &mut BytesMut, from: usize) {
        let nonce = self.step();
        self.aead.seal(&nonce[..self.aead.nonce_len()], out, from);
    }

    /// As [`Aead::open`].
    pub(super) fn open<'a>(&mut self, sealed: &'a mut [u8]) -> Result<&'a mut [u8], WireError> {
        let nonce = self.step();
        self.aead.open(&nonce[..self.aead.nonce_len()], sealed)
    }

    /// This operation's nonce.
    fn step(&mut self) -> [u8; NONCE] {
        let nonce = self.nonce;
        for byte in &mut self.nonce {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        nonce
    }
}
