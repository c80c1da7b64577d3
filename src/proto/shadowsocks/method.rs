//! Methods, and the keys made of passwords.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use md5::{Digest, Md5};
use zeroize::Zeroizing;

/// The cipher behind a method, of either generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// AES-128-GCM.
    Aes128,
    /// AES-256-GCM.
    Aes256,
    /// ChaCha20-Poly1305.
    Chacha20,
    /// XChaCha20-Poly1305, with its longer nonce.
    Xchacha20,
}

impl Method {
    /// Bytes of its key, and of its salt: both generations use salts as long as keys.
    #[must_use]
    pub fn key_len(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 | Self::Chacha20 | Self::Xchacha20 => 32,
        }
    }
}

/// The long-lived key of a user or server.
#[derive(Clone)]
pub struct Key {
    method: Method,
    bytes: Zeroizing<Vec<u8>>,
}

impl Key {
    /// The key of a password in the old generation: OpenSSL's `EVP_BytesToKey` with MD5, without salt, one round.
    #[must_use]
    pub fn of_password(method: Method, password: &[u8]) -> Self {
        let mut bytes = Zeroizing::new(Vec::with_capacity(method.key_len()));
        while bytes.len() < method.key_len() {
            let mut hash = Md5::new();
            if let Some(before) = bytes.len().checked_sub(16) {
                hash.update(&bytes[before..]);
            }
            hash.update(password);
            bytes.extend_from_slice(&hash.finalize());
        }
        Self { method, bytes }
    }

    /// A key of the generation of 2022 as its bytes; longer ones count as their SHA-256, cut to length. `None` if they are
    /// too few, or the method has no place in that generation.
    #[must_use]
    pub fn of_bytes(method: Method, bytes: &[u8]) -> Option<Self> {
        let len = method.key_len();
        if method == Method::Xchacha20 || bytes.len() < len {
            return None;
        }
        let bytes = if bytes.len() == len { bytes.to_vec() } else { digest(&SHA256, bytes).as_ref()[..len].to_vec() };
        Some(Self { method, bytes: Zeroizing::new(bytes) })
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A number that depends on these keys and on nothing else, and tells nothing of them.
pub fn seed_of<'a>(keys: impl IntoIterator<Item = &'a Key>) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("etemenanki shadowsocks how strangers are sent away");
    for key in keys {
        hasher.update(&key.bytes);
    }
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk().map_or(0, |front| u64::from_be_bytes(*front))
}

/// Without the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.method)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn passwords_become_the_keys_that_openssl_makes() {
        let key = |method| hex(Key::of_password(method, b"password").bytes());
        assert_eq!(key(Method::Aes128), "5f4dcc3b5aa765d61d8327deb882cf99");
        assert_eq!(key(Method::Aes256), "5f4dcc3b5aa765d61d8327deb882cf992b95990a9151374abd8ff8c5a7a0fe08");
    }

    #[test]
    fn a_key_of_2022_is_as_long_as_its_method_says() {
        assert!(Key::of_bytes(Method::Aes256, &[1; 31]).is_none());
        assert!(Key::of_bytes(Method::Xchacha20, &[1; 32]).is_none());
        assert_eq!(Key::of_bytes(Method::Aes128, &[1; 16]).unwrap().bytes(), [1; 16]);
        let cut = Key::of_bytes(Method::Aes128, b"a key that is longer than that").unwrap();
        assert_eq!(cut.bytes(), &digest(&SHA256, b"a key that is longer than that").as_ref()[..16]);
        assert_eq!(format!("{cut:?}"), "Key(Aes128)");
    }
}
