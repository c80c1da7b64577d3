//! What is inside a datagram, and the outer cipher that hides whose session it belongs to.

use std::ops::Range;

use bytes::{BufMut, BytesMut};

use super::super::aead::{Aead, TAG};
use super::super::method::{Key, Method};
use super::block::{BLOCK, Block, subkey};
use super::moment::check;
use crate::addr::Target;
use crate::proto::socks::{read_address, write_address};
use crate::wire::{Reader, WireError};

/// Session id and number of a packet.
pub(super) const HEADER: usize = BLOCK;

/// Bytes of the nonce in front of a datagram of ChaCha20.
pub(super) const NONCE: usize = 24;

/// The cipher of what stands outside: with AES the header alone, with ChaCha20 all of it.
pub(super) enum Outer {
    Block(Block),
    Whole(Aead),
}

impl Outer {
    pub(super) fn new(key: &Key) -> Result<Self, WireError> {
        if key.method() == Method::Chacha20 {
            return Aead::long(key.bytes()).map(Self::Whole);
        }
        Block::new(key.bytes()).map(Self::Block)
    }

    /// Makes the header of a datagram readable where it lies, and says where it begins. With ChaCha20 all the rest is
    /// readable then too, and was checked.
    pub(super) fn open(&self, datagram: &mut [u8]) -> Result<usize, WireError> {
        match self {
            Self::Block(block) => {
                let len = datagram.len();
                block.decrypt(
                    datagram
                        .first_chunk_mut()
                        .ok_or_else(|| WireError::Truncated { need: HEADER.saturating_sub(len) })?,
                );
                Ok(0)
            }
            Self::Whole(aead) => {
                let missing = (NONCE + HEADER + TAG).saturating_sub(datagram.len());
                if missing > 0 {
                    return Err(WireError::Truncated { need: missing });
                }
                let (nonce, sealed) = datagram.split_at_mut(NONCE);
                aead.open(nonce, sealed)?;
                Ok(NONCE)
            }
        }
    }
}

/// One direction of a session: its id, and its cipher where it has one of its own.
pub(super) struct Inner {
    pub(super) id: [u8; 8],
    aead: Option<Aead>,
}

impl Inner {
    pub(super) fn new(key: &Key, id: [u8; 8]) -> Result<Self, WireError> {
        let aead = if key.method() == Method::Chacha20 { None } else { Some(subkey(key, &id)?) };
        Ok(Self { id, aead })
    }

    /// Opens the body, which begins behind the header at `header` and behind `between` bytes more; gives where it lies.
    pub(super) fn open(&self, datagram: &mut [u8], header: usize, between: usize) -> Result<Range<usize>, WireError> {
        let from = header + HEADER + between;
        let missing = (from + TAG).saturating_sub(datagram.len());
        if missing > 0 {
            return Err(WireError::Truncated { need: missing });
        }
        let (front, sealed) = datagram.split_at_mut(from);
        if let Some(aead) = &self.aead {
            aead.open(&front[header + 4..header + HEADER], sealed)?;
        }
        Ok(from..datagram.len() - TAG)
    }

    /// Appends a whole datagram: what stands outside is written by `identity` between header and body.
    pub(super) fn seal(
        &self,
        outer: &Outer,
        number: u64,
        nonce: [u8; NONCE],
        identity: impl FnOnce(&[u8; HEADER], &mut BytesMut),
        body: &Body<'_>,
        out: &mut BytesMut,
    ) {
        let start = out.len();
        if let Outer::Whole(_) = outer {
            out.extend_from_slice(&nonce);
        }
        let at = out.len();
        out.extend_from_slice(&self.id);
        out.put_u64(number);
        let mut header = [0; HEADER];
        header.copy_from_slice(&out[at..]);
        match (outer, &self.aead) {
            (Outer::Whole(aead), _) => {
                body.write(out);
                aead.seal(&nonce, out, at);
            }
            (Outer::Block(block), Some(aead)) => {
                identity(&header, out);
                let from = out.len();
                body.write(out);
                aead.seal(&header[4..], out, from);
                block.encrypt(&mut header);
                out[at..at + HEADER].copy_from_slice(&header);
            }
            (Outer::Block(_), None) => out.truncate(start),
        }
    }
}

/// What is inside.
pub(super) struct Body<'a> {
    pub(super) kind: u8,
    pub(super) now: u64,
    /// The client's session, in what a server says.
    pub(super) answers: &'a [u8],
    pub(super) padding: u16,
    pub(super) peer: &'a Target,
    pub(super) payload: &'a [u8],
}

impl Body<'_> {
    fn write(&self, out: &mut BytesMut) {
        out.put_u8(self.kind);
        out.put_u64(self.now);
        out.extend_from_slice(self.answers);
        out.put_u16(self.padding);
        out.put_bytes(0, self.padding.into());
        write_address(self.peer, out);
        out.extend_from_slice(self.payload);
    }
}

/// Reads what is inside; gives the peer and where the payload begins.
pub(super) fn read_body(body: &[u8], kind: u8, now: u64, answers: &[u8]) -> Result<(Target, usize), WireError> {
    let mut reader = Reader::new(body);
    if reader.take_u8()? != kind {
        return Err(WireError::Malformed { what: "type of datagram" });
    }
    check(reader.take_u64()?, now)?;
    if reader.take_bytes(answers.len())? != answers {
        return Err(WireError::Malformed { what: "answer to another session" });
    }
    reader.take_prefixed_u16()?;
    let peer = read_address(&mut reader)?;
    Ok((peer, reader.used()))
}
