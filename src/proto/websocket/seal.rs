//! Bytes into frames.

use bytes::BytesMut;

use crate::wire::Seal;

/// Where a client's masks come from; servers do not mask.
pub type Mask = fn() -> [u8; 4];

/// Makes binary messages of what is written, each of one frame, and control frames when they are asked for.
#[derive(Debug)]
pub struct SealFrames {
    mask: Option<Mask>,
    ping: bool,
    /// What a ping held that was not answered yet.
    pong: Option<Vec<u8>>,
}

const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
/// Set in the second byte of a masked frame.
const MASKED: u8 = 0x80;
/// Longest payload whose length stands in two bytes.
const LONGEST: usize = 0xffff;
/// "Normal closure" (RFC 6455 7.4.1).
const NORMAL: [u8; 2] = 1000_u16.to_be_bytes();

impl SealFrames {
    /// A client with its source of masks, or a server.
    #[must_use]
    pub fn new(mask: Option<Mask>) -> Self {
        Self { mask, ping: false, pong: None }
    }

    /// Asks the peer whether it is there, with the next call.
    pub fn ping(&mut self) {
        self.ping = true;
    }

    /// Answers a ping, with the next call. Of several that wait, the last alone counts (RFC 6455 5.5.3).
    pub fn pong(&mut self, payload: Vec<u8>) {
        self.pong = Some(payload);
    }

    /// Whether a control frame waits for the next call.
    #[must_use]
    pub fn has_control(&self) -> bool {
        self.ping || self.pong.is_some()
    }

    fn frame(&self, kind: u8, payload: &[u8], out: &mut BytesMut) {
        let masked = if self.mask.is_some() { MASKED } else { 0 };
        let len = payload.len();
        match u8::try_from(len) {
            Ok(short) if short < 126 => out.extend_from_slice(&[kind, masked | short]),
            _ => {
                // Never longer than two bytes say: `seal` takes no more at once.
                let [high, low] = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
                out.extend_from_slice(&[kind, masked | 126, high, low]);
            }
        }
        let Some(mask) = self.mask.map(|mask| mask()) else { return out.extend_from_slice(payload) };
        out.extend_from_slice(&mask);
        let start = out.len();
        out.extend_from_slice(payload);
        apply(mask, &mut out[start..]);
    }
}

impl Seal for SealFrames {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        if let Some(payload) = self.pong.take() {
            self.frame(PONG, &payload, out);
        }
        if std::mem::take(&mut self.ping) {
            self.frame(PING, &[], out);
        }
        let taken = plain.len().min(LONGEST);
        if taken > 0 {
            self.frame(BINARY, &plain[..taken], out);
        }
        taken
    }

    fn finish(&mut self, out: &mut BytesMut) {
        self.frame(CLOSE, &NORMAL, out);
    }
}

/// Applies a mask whose first byte belongs to the first of `bytes`.
pub(super) fn apply(mask: [u8; 4], bytes: &mut [u8]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(mask: Option<Mask>, plain: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        assert_eq!(SealFrames::new(mask).seal(plain, &mut out), plain.len().min(LONGEST));
        out
    }

    /// RFC 6455 5.7, as binary instead of text.
    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(sealed(None, b"Hello")[..], *b"\x82\x05Hello");
        assert_eq!(
            sealed(Some(|| [0x37, 0xfa, 0x21, 0x3d]), b"Hello")[..],
            *b"\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"
        );
        let long = sealed(None, &[7; 256]);
        assert_eq!((&long[..4], long.len()), (&b"\x82\x7e\x01\x00"[..], 260));
    }

    #[test]
    fn a_message_is_no_longer_than_two_bytes_say() {
        assert_eq!(sealed(None, &[7; 70_000]).len(), 4 + LONGEST);
    }

    #[test]
    fn control_frames_come_with_the_next_bytes_or_alone() {
        let mut seal = SealFrames::new(None);
        seal.pong(b"old".to_vec());
        seal.pong(b"abc".to_vec());
        seal.ping();
        let mut out = BytesMut::new();
        assert!(seal.has_control());
        assert_eq!(seal.seal(b"x", &mut out), 1);
        assert_eq!(out[..], *b"\x8a\x03abc\x89\x00\x82\x01x");
        out.clear();
        assert_eq!((seal.has_control(), seal.seal(&[], &mut out)), (false, 0));
        seal.finish(&mut out);
        assert_eq!(out[..], *b"\x88\x02\x03\xe8");
    }
}
