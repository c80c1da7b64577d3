//! AES-256 in counter mode: bytes that hide public keys and headers, and protect nothing.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::derive::derive;

/// A stream of such bytes.
pub(super) struct Ctr {
    cipher: Aes256,
    counter: u128,
    block: [u8; 16],
    /// Bytes of the block that were used.
    used: usize,
}

impl Ctr {
    pub(super) fn new(material: &[u8], iv: [u8; 16]) -> Self {
        let cipher = Aes256::new(&Array(*derive(b"VLESS", material)));
        Self { cipher, counter: u128::from_be_bytes(iv), block: [0; 16], used: 16 }
    }

    /// Hides bytes, or shows them again.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.used == self.block.len() {
                let mut block = Array(self.counter.to_be_bytes());
                self.cipher.encrypt_block(&mut block);
                (self.block, self.counter, self.used) = (block.0, self.counter.wrapping_add(1), 0);
            }
            *byte ^= self.block[self.used];
            self.used += 1;
        }
    }
}
