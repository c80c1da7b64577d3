//! The cipher suites of TLS 1.3 that everybody speaks.

use aws_lc_rs::{aead, digest, hkdf};

/// A cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// `TLS_AES_128_GCM_SHA256`.
    Aes128,
    /// `TLS_AES_256_GCM_SHA384`.
    Aes256,
    /// `TLS_CHACHA20_POLY1305_SHA256`.
    ChaCha20,
}

impl Suite {
    /// The suite of a number on the wire.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        match code {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::ChaCha20),
            _ => None,
        }
    }

    pub(super) fn aead(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128 => &aead::AES_128_GCM,
            Self::Aes256 => &aead::AES_256_GCM,
            Self::ChaCha20 => &aead::CHACHA20_POLY1305,
        }
    }

    pub(super) fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Aes128 | Self::ChaCha20 => &digest::SHA256,
            Self::Aes256 => &digest::SHA384,
        }
    }

    pub(super) fn hkdf(self) -> hkdf::Algorithm {
        match self {
            Self::Aes128 | Self::ChaCha20 => hkdf::HKDF_SHA256,
            Self::Aes256 => hkdf::HKDF_SHA384,
        }
    }

    /// Bytes of its hash.
    #[must_use]
    pub fn hash_len(self) -> usize {
        self.digest().output_len()
    }
}
