//! Datagrams of UDP as datagrams of QUIC, whole or in pieces.

use bytes::BufMut;

use super::request::{ADDRESS, put_text, target};
use super::varint::{self, take_prefixed};
use crate::addr::Target;
use crate::wire::{Reader, WireError};

/// Bytes in front of an address: whose the datagram is, which it is, which piece it is, and of how many.
pub const HEAD: usize = 8;

/// A datagram, or a piece of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The session, as the client numbers it.
    pub session: u32,
    /// Which datagram of the session it is a piece of.
    pub packet: u16,
    /// Which piece, from 0.
    pub index: u8,
    /// Pieces in all.
    pub count: u8,
    /// Where it goes, or where it came from.
    pub target: Target,
    /// Its bytes, at least one.
    pub payload: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// The session that a datagram belongs to.
    #[must_use]
    pub fn session(input: &[u8]) -> Option<u32> {
        input.first_chunk().copied().map(u32::from_be_bytes)
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// [`WireError`] where it is none.
    pub fn read(input: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(input);
        let session = reader.take_u32()?;
        let packet = reader.take_u16()?;
        let (index, count) = (reader.take_u8()?, reader.take_u8()?);
        let target = target(take_prefixed(&mut reader, ADDRESS)?)?;
        let payload = reader.take_rest();
        if payload.is_empty() {
            return Err(WireError::Truncated { need: 1 });
        }
        Ok(Self { session, packet, index, count, target, payload })
    }
}

/// How one datagram is cut so that each piece fits.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    session: u32,
    packet: u16,
    address: &'a str,
    payload: &'a [u8],
    room: usize,
    count: u8,
    next: u8,
}

impl<'a> Pieces<'a> {
    /// Of a datagram to or from `address`, a target in words, where QUIC takes `most` bytes at a time. Nothing where it has
    /// no bytes, or too many.
    #[must_use]
    pub fn new(session: u32, packet: u16, address: &'a str, payload: &'a [u8], most: usize) -> Option<Self> {
        let len = u16::try_from(address.len()).ok().filter(|len| usize::from(*len) <= ADDRESS)?;
        let head = HEAD + varint::len(len) + address.len();
        let room = most.checked_sub(head).filter(|room| *room > 0)?;
        let count = u8::try_from(payload.len().div_ceil(room)).ok().filter(|count| *count > 0)?;
        Some(Self { session, packet, address, payload, room, count, next: 0 })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Appends the next piece; whether there was one.
    pub fn write(&mut self, out: &mut impl BufMut) -> bool {
        if self.next >= self.count {
            return false;
        }
        let (piece, rest) = self.payload.split_at(self.room.min(self.payload.len()));
        out.put_u32(self.session);
        out.put_u16(self.packet);
        out.put_slice(&[self.next, self.count]);
        put_text(self.address, out);
        out.put_slice(piece);
        self.payload = rest;
        self.next += 1;
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(payload: &[u8], most: usize) -> Vec<Vec<u8>> {
        let Some(mut pieces) = Pieces::new(7, 9, "[2001:db8::1]:53", payload, most) else {
            return vec![];
        };
        let each = std::iter::from_fn(|| {
            let mut out = vec![];
            pieces.write(&mut out).then_some(out)
        });
        each.collect()
    }

    #[test]
    fn a_small_one_is_one_piece() {
        let written = pieces(b"question", 1200);
        assert_eq!(written, [b"\0\0\0\x07\0\x09\0\x01\x10[2001:db8::1]:53question"]);
        let read = Fragment::read(&written[0]).unwrap();
        assert_eq!((read.session, read.packet, read.index, read.count), (7, 9, 0, 1));
        assert_eq!((read.target.to_string().as_str(), read.payload), ("[2001:db8::1]:53", &b"question"[..]));
        assert_eq!(Fragment::session(&written[0]), Some(7));
    }

    #[test]
    fn a_large_one_is_cut_and_none_is_longer_than_it_may_be() {
        let payload: Vec<u8> = (0..4000).map(|i| i as u8).collect();
        let written = pieces(&payload, 1200);
        assert_eq!(written.len(), 4);
        assert!(written.iter().all(|piece| piece.len() <= 1200) && written[0].len() == 1200);
        let read: Vec<_> = written.iter().map(|piece| Fragment::read(piece).unwrap()).collect();
        assert!(read.iter().enumerate().all(|(at, piece)| usize::from(piece.index) == at && piece.count == 4));
        assert_eq!(read.iter().flat_map(|piece| piece.payload).copied().collect::<Vec<_>>(), payload);
    }

    #[test]
    fn what_cannot_be_sent_is_not() {
        assert!(pieces(b"", 1200).is_empty() && pieces(b"x", HEAD + 17).is_empty());
        assert_eq!(pieces(b"x", HEAD + 18).len(), 1);
        assert_eq!(pieces(&[7; 255], HEAD + 18).len(), 255);
        assert!(pieces(&[7; 256], HEAD + 18).is_empty());
    }

    #[test]
    fn what_is_no_datagram_is_refused() {
        for bad in [&b""[..], b"\0\0\0\x01\0\0\0\x01", b"\0\0\0\x01\0\0\0\x01\x03a:1", b"\0\0\0\x01\0\0\0\x01\x01ax"] {
            assert!(Fragment::read(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes: Vec<u8>) {
            let _ = Fragment::read(&bytes);
        }
    }
}
