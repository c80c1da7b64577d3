//! The body of both generations: a sealed length, sealed bytes, and so on.

use bytes::{BufMut, BytesMut};

use super::aead::{Counting, TAG};
use crate::wire::{Opened, WireError};

/// Bytes of a sealed length.
pub(super) const LENGTH: usize = 2 + TAG;

/// Most bytes of a chunk that the old generation writes.
pub(super) const OLD_MOST: usize = 0x3fff;

/// Most bytes of a chunk of the generation of 2022; receivers of the old one take as many, as Xray does.
pub(super) const NEW_MOST: usize = 0xffff;

/// Appends one chunk of `lead` and `plain`, which fit its length together.
pub(super) fn seal_chunk(cipher: &mut Counting, lead: &[u8], plain: &[u8], out: &mut BytesMut) {
    let len = u16::try_from(lead.len() + plain.len()).unwrap_or(u16::MAX);
    out.reserve(LENGTH + usize::from(len) + TAG);
    let from = out.len();
    out.put_u16(len);
    cipher.seal(out, from);
    let from = out.len();
    out.extend_from_slice(lead);
    out.extend_from_slice(plain);
    cipher.seal(out, from);
}

/// Opens chunks.
pub(super) struct Chunks {
    cipher: Counting,
    /// The length of the chunk whose bytes are awaited.
    len: Option<usize>,
    /// Bytes in front of them that are done with once they are there: their sealed length, if it stood before them.
    front: usize,
    /// Whether a chunk without bytes is the end.
    empty_ends: bool,
}

impl Chunks {
    /// Of the old generation, where a chunk without bytes is the end.
    pub(super) fn old(cipher: Counting) -> Self {
        Self { cipher, len: None, front: LENGTH, empty_ends: true }
    }

    /// Of the generation of 2022.
    pub(super) fn new(cipher: Counting) -> Self {
        Self { cipher, len: None, front: LENGTH, empty_ends: false }
    }

    /// The same; the length of the first chunk stood elsewhere.
    pub(super) fn expecting(cipher: Counting, len: usize) -> Self {
        Self { cipher, len: Some(len), front: 0, empty_ends: false }
    }

    /// See [`Open`](crate::wire::Open). A length is opened on a copy and remembered, so that each chunk is taken as a whole.
    pub(super) fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        let len = match self.len {
            Some(len) => len,
            None => {
                let Some(mut sealed) = input.first_chunk::<LENGTH>().copied() else {
                    return Ok(Opened::More { need: LENGTH - input.len() });
                };
                let len = length(self.cipher.open(&mut sealed)?);
                self.front = LENGTH;
                *self.len.insert(len)
            }
        };
        let whole = self.front + len + TAG;
        if input.len() < whole {
            return Ok(Opened::More { need: whole - input.len() });
        }
        self.cipher.open(&mut input[self.front..whole])?;
        self.len = None;
        if len == 0 && self.empty_ends {
            return Ok(Opened::End { used: whole });
        }
        Ok(Opened::Plain { used: whole, at: self.front..self.front + len })
    }
}

fn length(plain: &[u8]) -> usize {
    plain.first_chunk().map_or(0, |len| usize::from(u16::from_be_bytes(*len)))
}
