//! What is derived from a key for one stream or session, and the cipher of single blocks.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt};
use aes::{Aes128, Aes256};
use chacha20poly1305::KeyInit;

use super::super::aead::Aead;
use super::super::method::Key;
use crate::wire::WireError;

/// Bytes of a block, and of an identity header.
pub(super) const BLOCK: usize = 16;

/// The key of one stream, or of one session of datagrams, whose salt is its id.
pub(super) fn subkey(key: &Key, salt: &[u8]) -> Result<Aead, WireError> {
    let derived = derive("shadowsocks 2022 session subkey", key, salt);
    Aead::new(key.method(), &derived[..key.bytes().len()])
}

/// The block cipher of the identity headers of one stream.
pub(super) fn identity(key: &Key, salt: &[u8]) -> Result<Block, WireError> {
    let derived = derive("shadowsocks 2022 identity subkey", key, salt);
    Block::new(&derived[..key.bytes().len()])
}

fn derive(context: &str, key: &Key, salt: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(key.bytes());
    hasher.update(salt);
    hasher.finalize().into()
}

/// AES of single blocks.
pub(super) enum Block {
    Short(Box<Aes128>),
    Long(Box<Aes256>),
}

impl Block {
    pub(super) fn new(key: &[u8]) -> Result<Self, WireError> {
        let no = |_| WireError::Malformed { what: "key" };
        if key.len() == 16 {
            return Aes128::new_from_slice(key).map(|aes| Self::Short(Box::new(aes))).map_err(no);
        }
        Aes256::new_from_slice(key).map(|aes| Self::Long(Box::new(aes))).map_err(no)
    }

    pub(super) fn encrypt(&self, block: &mut [u8; BLOCK]) {
        match self {
            Self::Short(aes) => aes.encrypt_block(block.into()),
            Self::Long(aes) => aes.encrypt_block(block.into()),
        }
    }

    pub(super) fn decrypt(&self, block: &mut [u8; BLOCK]) {
        match self {
            Self::Short(aes) => aes.decrypt_block(block.into()),
            Self::Long(aes) => aes.decrypt_block(block.into()),
        }
    }
}
