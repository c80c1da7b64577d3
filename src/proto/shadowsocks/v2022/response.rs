//! The answer to the opening of a stream: its header says which question it answers, and carries the first payload's length.

use bytes::{BufMut, BytesMut};
use subtle::ConstantTimeEq;

use super::super::aead::{Counting, TAG};
use super::super::chunks::{Chunks, NEW_MOST, seal_chunk};
use super::super::method::Key;
use super::block::subkey;
use super::keys::ServerKeys;
use super::moment::check;
use crate::wire::{Open, Opened, Reader, Seal, WireError};

/// The type of what a server says.
pub(super) const RESPONSE: u8 = 1;

/// What a server writes.
pub struct ResponseSealer {
    /// Its salt and the client's, until they were said.
    head: Option<(Vec<u8>, Vec<u8>)>,
    clock: fn() -> u64,
    cipher: Counting,
}

impl ResponseSealer {
    /// To this user, who asked with the salt `asked`. The own salt must be fresh and as long as the key; `clock` gives
    /// seconds since 1970, and is asked when the answer begins, which may be long after the question.
    ///
    /// # Errors
    /// [`WireError`] for a user that does not exist.
    pub fn new(
        keys: &ServerKeys,
        user: usize,
        asked: Vec<u8>,
        salt: Vec<u8>,
        clock: fn() -> u64,
    ) -> Result<Self, WireError> {
        let cipher = Counting::new(subkey(keys.key(user)?, &salt)?);
        Ok(Self { head: Some((salt, asked)), clock, cipher })
    }
}

impl Seal for ResponseSealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        let taken = plain.len().min(NEW_MOST);
        let plain = &plain[..taken];
        if let Some((salt, asked)) = self.head.take() {
            out.extend_from_slice(&salt);
            let from = out.len();
            out.put_u8(RESPONSE);
            out.put_u64((self.clock)());
            out.extend_from_slice(&asked);
            out.put_u16(u16::try_from(taken).unwrap_or(u16::MAX));
            self.cipher.seal(out, from);
            let from = out.len();
            out.extend_from_slice(plain);
            self.cipher.seal(out, from);
        } else if taken > 0 {
            seal_chunk(&mut self.cipher, &[], plain, out);
        }
        taken
    }
}

/// What a client reads.
pub struct ResponseOpener {
    state: State,
    clock: fn() -> u64,
}

enum State {
    /// The header is awaited.
    Header {
        key: Key,
        asked: Vec<u8>,
    },
    Body(Chunks),
}

impl ResponseOpener {
    /// The answer to what was asked with this salt. `clock` gives seconds since 1970.
    #[must_use]
    pub fn new(key: Key, asked: Vec<u8>, clock: fn() -> u64) -> Self {
        Self { state: State::Header { key, asked }, clock }
    }
}

impl Open for ResponseOpener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        match &mut self.state {
            State::Body(chunks) => chunks.open(input),
            State::Header { key, asked } => {
                let salt = key.method().key_len();
                let whole = salt + 1 + 8 + asked.len() + 2 + TAG;
                let Some(head) = input.get_mut(..whole) else {
                    return Ok(Opened::More { need: whole - input.len() });
                };
                let (salt, sealed) = head.split_at_mut(salt);
                let mut cipher = Counting::new(subkey(key, salt)?);
                let mut header = Reader::new(cipher.open(sealed)?);
                if header.take_u8()? != RESPONSE {
                    return Err(WireError::Malformed { what: "type of header" });
                }
                check(header.take_u64()?, (self.clock)())?;
                if !bool::from(header.take_bytes(asked.len())?.ct_eq(asked)) {
                    return Err(WireError::Malformed { what: "answer to another question" });
                }
                let len = header.take_u16()?.into();
                self.state = State::Body(Chunks::expecting(cipher, len));
                Ok(Opened::Plain { used: whole, at: 0..0 })
            }
        }
    }
}
