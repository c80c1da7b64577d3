//! Small parts sealed with keys derived for them alone: the headers of both directions.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rand::{Rng, RngExt};

use super::account::{Account, AuthId};
use super::kdf::{kdf12, kdf16};
use super::request::Request;
use crate::wire::WireError;

/// Seals or opens one part.
pub(super) struct Part {
    key: Option<LessSafeKey>,
    iv: [u8; 12],
}

impl Part {
    /// With a key of this secret and path, and a nonce of another.
    pub(super) fn new(key: (&[u8], &[&[u8]]), nonce: (&[u8], &[&[u8]])) -> Self {
        let secret = kdf16(key.0, key.1);
        let key = UnboundKey::new(&AES_128_GCM, &secret).ok().map(LessSafeKey::new);
        Self { key, iv: kdf12(nonce.0, nonce.1) }
    }

    /// Appends the sealed form.
    pub(super) fn seal(self, plain: &[u8], beside: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(plain);
        let nonce = Nonce::assume_unique_for_key(self.iv);
        let tag = self.key.map(|key| key.seal_in_place_separate_tag(nonce, Aad::from(beside), &mut out[at..]));
        match tag {
            Some(Ok(tag)) => out.extend_from_slice(tag.as_ref()),
            // No key of that length is refused; if one were, nothing may leave unsealed.
            _ => out.truncate(at),
        }
    }

    /// Opens a sealed form into bytes of its own.
    pub(super) fn open(self, sealed: &[u8], beside: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(self.iv);
        let key = self.key.ok_or(WIRE)?;
        let plain = key.open_in_place(nonce, Aad::from(beside), &mut bytes).map_err(|_| WIRE)?.len();
        bytes.truncate(plain);
        Ok(bytes)
    }
}

const WIRE: WireError = WireError::Malformed { what: "sealed VMess header" };

/// The part of a request's header that says how long it is.
pub(super) fn length(command: &[u8; 16], id: &AuthId, nonce: &[u8; 8]) -> Part {
    let path = |word: &'static [u8]| [word, id, nonce];
    let (key, iv) = (path(b"VMess Header AEAD Key_Length"), path(b"VMess Header AEAD Nonce_Length"));
    Part::new((command, &key), (command, &iv))
}

/// The header itself.
pub(super) fn header(command: &[u8; 16], id: &AuthId, nonce: &[u8; 8]) -> Part {
    let path = |word: &'static [u8]| [word, id, nonce];
    let (key, iv) = (path(b"VMess Header AEAD Key"), path(b"VMess Header AEAD Nonce"));
    Part::new((command, &key), (command, &iv))
}

/// All that stands in front of a request's body, made now.
#[must_use]
pub fn seal_request(account: &Account, request: &Request, now: u64, rng: &mut impl Rng) -> Vec<u8> {
    let id = account.auth_id(now, rng.random());
    let padding: [u8; 15] = rng.random();
    let mut plain = Vec::new();
    request.write(&padding[..rng.random_range(0..=15)], &mut plain);
    sealed(account.command(), &id, rng.random(), &plain)
}

fn sealed(command: &[u8; 16], id: &AuthId, nonce: [u8; 8], plain: &[u8]) -> Vec<u8> {
    let mut out = id.to_vec();
    // A header has a few hundred bytes.
    let len = u16::try_from(plain.len()).unwrap_or(u16::MAX);
    length(command, id, &nonce).seal(&len.to_be_bytes(), id, &mut out);
    out.extend_from_slice(&nonce);
    header(command, id, &nonce).seal(plain, id, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{AUTH_ID, CMD_KEY, PLAIN, SEALED, array, hex};
    use super::*;

    #[test]
    fn without_a_key_nothing_leaves() {
        let mut out = b"before".to_vec();
        Part { key: None, iv: [0; 12] }.seal(b"secret", b"", &mut out);
        assert_eq!(out, b"before");
    }

    #[test]
    fn known_answers() {
        let out = sealed(&array(CMD_KEY), &array(AUTH_ID), [0, 1, 2, 3, 4, 5, 6, 7], &hex(PLAIN));
        assert_eq!(out, hex(SEALED));
        let out = sealed(b"1234567890123456", &[0; 16], [0; 8], &[0; 16]);
        let known = "000000000000000000000000000000008965192117f742085eabb5a2b015136f22a10000000000000000c7160d7bd1ce4e\
                     a645c6071de036d6924922423d0acb90a0511111bf27c5a3f6";
        assert_eq!(out, hex(known));
    }
}
