//! The cipher of records and of handshakes, whose nonces count.

use aws_lc_rs::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::derive::derive;
use crate::wire::WireError;

/// Bytes of every tag.
pub(super) const TAG: usize = 16;

/// Which cipher. The client chooses, and the server tries both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM, for whoever has it in hardware.
    Aes,
    /// ChaCha20-Poly1305.
    Chacha,
}

impl Cipher {
    /// The faster one on this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        let aes = std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let aes = std::arch::is_aarch64_feature_detected!("aes");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let aes = false;
        if aes { Self::Aes } else { Self::Chacha }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Aes => Self::Chacha,
            Self::Chacha => Self::Aes,
        }
    }
}

/// A cipher with a key, and the nonce that was used last.
pub(super) struct Aead {
    key: LessSafeKey,
    nonce: [u8; 12],
}

/// A wrong key, or bytes that were changed on the way: nobody can tell them apart.
pub(super) const DENIED: WireError = WireError::Denied { what: "wrong keys, or bytes of another protocol" };

const MAX: [u8; 12] = [0xFF; 12];

impl Aead {
    pub(super) fn new(context: &[u8], material: &[u8], cipher: Cipher) -> Result<Self, WireError> {
        let algorithm = match cipher {
            Cipher::Aes => &AES_256_GCM,
            Cipher::Chacha => &CHACHA20_POLY1305,
        };
        let key = UnboundKey::new(algorithm, &*derive(context, material)).map_err(|_| DENIED)?;
        Ok(Self { key: LessSafeKey::new(key), nonce: [0; 12] })
    }

    /// Seals `text` where it lies, and gives the tag.
    pub(super) fn seal(&mut self, said: &[u8], text: &mut [u8]) -> Result<[u8; TAG], WireError> {
        let nonce = self.step();
        self.seal_with(nonce, said, text)
    }

    /// Opens `sealed`, whose last bytes are the tag, where it lies.
    pub(super) fn open<'a>(&mut self, said: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], WireError> {
        let nonce = self.step();
        self.open_with(nonce, said, sealed)
    }

    /// Seals with the one nonce that counting never gives.
    pub(super) fn seal_last(&self, text: &mut [u8]) -> Result<[u8; TAG], WireError> {
        self.seal_with(MAX, &[], text)
    }

    /// Opens what was sealed so.
    pub(super) fn open_last<'a>(&self, sealed: &'a mut [u8]) -> Result<&'a mut [u8], WireError> {
        self.open_with(MAX, &[], sealed)
    }

    /// Seals a whole message behind what `out` holds.
    pub(super) fn seal_onto(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let from = out.len();
        out.extend_from_slice(text);
        let tag = self.seal(&[], &mut out[from..])?;
        out.extend_from_slice(&tag);
        Ok(())
    }

    /// Whether the next record is the last under this key: the key after it comes of that record.
    pub(super) fn is_spent(&self) -> bool {
        self.nonce == MAX
    }

    #[cfg(test)]
    pub(super) fn spend(&mut self) {
        self.nonce = MAX;
    }

    fn seal_with(&self, nonce: [u8; 12], said: &[u8], text: &mut [u8]) -> Result<[u8; TAG], WireError> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(said), text).map_err(|_| DENIED)?;
        tag.as_ref().try_into().map_err(|_| DENIED)
    }

    fn open_with<'a>(&self, nonce: [u8; 12], said: &[u8], sealed: &'a mut [u8]) -> Result<&'a mut [u8], WireError> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key.open_in_place(nonce, Aad::from(said), sealed).map_err(|_| DENIED)
    }

    fn step(&mut self) -> [u8; 12] {
        for byte in self.nonce.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        self.nonce
    }
}
