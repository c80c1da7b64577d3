//! Frames into bytes.

use super::seal::apply;
use crate::wire::{Open, Opened, Reader, WireError};

/// Gives the payload of data frames as it comes, whatever the messages and their kinds, and keeps what pings hold.
#[derive(Debug)]
pub struct OpenFrames {
    /// Clients mask and servers do not; whoever does otherwise speaks something else.
    masked: bool,
    /// Bytes of the frame that did not come yet.
    left: u64,
    /// The mask, turned to the next byte.
    mask: [u8; 4],
    ping: Option<Vec<u8>>,
}

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const CONTROL: u8 = 0x08;
const MASKED: u8 = 0x80;
const MAX_CONTROL: u64 = 125;

impl OpenFrames {
    /// For what clients send, which is masked, or for what servers send.
    #[must_use]
    pub fn new(masked: bool) -> Self {
        Self { masked, left: 0, mask: [0; 4], ping: None }
    }

    /// What a ping held that came since the last call.
    pub fn take_ping(&mut self) -> Option<Vec<u8>> {
        self.ping.take()
    }

    /// Opens as much of a data frame as is there, behind `head` bytes.
    fn payload(&mut self, input: &mut [u8], head: usize) -> Opened {
        let there = input.len() - head;
        let len = usize::try_from(self.left).map_or(there, |left| left.min(there));
        apply(self.mask, &mut input[head..head + len]);
        self.mask.rotate_left(len % 4);
        self.left -= len as u64;
        Opened::Plain { used: head + len, at: head..head + len }
    }

    fn control(&mut self, kind: u8, payload: &mut [u8], used: usize) -> Result<Opened, WireError> {
        apply(self.mask, payload);
        match kind {
            0x8 => return Ok(Opened::End { used }),
            0x9 => self.ping = Some(payload.to_vec()),
            0xa => {}
            _ => return Err(WireError::Malformed { what: "WebSocket frame kind" }),
        }
        Ok(Opened::Plain { used, at: used..used })
    }
}

impl Open for OpenFrames {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        if self.left > 0 {
            return Ok(if input.is_empty() { Opened::More { need: 1 } } else { self.payload(input, 0) });
        }
        let mut reader = Reader::new(input);
        let head = match head(&mut reader, self.masked) {
            Ok(head) => head,
            Err(WireError::Truncated { need }) => return Ok(Opened::More { need }),
            Err(error) => return Err(error),
        };
        let used = reader.used();
        self.mask = head.mask;
        if head.kind & CONTROL == 0 {
            self.left = head.len;
            return Ok(self.payload(input, used));
        }
        let len = usize::try_from(head.len).unwrap_or(usize::MAX);
        match len.saturating_sub(input.len() - used) {
            0 => self.control(head.kind, &mut input[used..used + len], used + len),
            need => Ok(Opened::More { need }),
        }
    }
}

struct Head {
    kind: u8,
    len: u64,
    mask: [u8; 4],
}

fn head(reader: &mut Reader<'_>, masked: bool) -> Result<Head, WireError> {
    let first = reader.take_u8()?;
    let second = reader.take_u8()?;
    let kind = first & 0x0f;
    if first & RESERVED != 0 || kind & !CONTROL > 2 {
        return Err(WireError::Malformed { what: "WebSocket frame" });
    }
    if (second & MASKED != 0) != masked {
        return Err(WireError::Malformed { what: "WebSocket mask" });
    }
    let len = match second & !MASKED {
        126 => reader.take_u16()?.into(),
        127 => reader.take_u64()?,
        short => short.into(),
    };
    if kind & CONTROL != 0 && (len > MAX_CONTROL || first & FINAL == 0) {
        return Err(WireError::Malformed { what: "WebSocket control frame" });
    }
    if len > u64::MAX >> 1 {
        return Err(WireError::TooLong);
    }
    let mask = if masked { reader.take_array()? } else { [0; 4] };
    Ok(Head { kind, len, mask })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Heard {
        plain: Vec<u8>,
        pings: Vec<Vec<u8>>,
        ended: bool,
    }

    /// What all of `wire` says, shown in pieces.
    fn opened(masked: bool, wire: &[u8], piece: usize) -> Result<Heard, WireError> {
        let mut open = OpenFrames::new(masked);
        let (mut held, mut heard) = (Vec::new(), Heard::default());
        for piece in wire.chunks(piece) {
            held.extend_from_slice(piece);
            loop {
                let used = match open.open(&mut held)? {
                    Opened::More { .. } => break,
                    Opened::Plain { used, at } => {
                        heard.plain.extend_from_slice(&held[at]);
                        used
                    }
                    Opened::End { .. } => return Ok(Heard { ended: true, ..heard }),
                    Opened::Over { .. } => unreachable!("frames never end in bare bytes"),
                };
                heard.pings.extend(open.take_ping());
                held.drain(..used);
            }
        }
        Ok(heard)
    }

    /// A text in two fragments with a masked ping between them, a binary message, a pong, and the end.
    const SPOKEN: &[u8] = b"\x01\x83\x01\x02\x03\x04Igo\x89\x82\x37\xfa\x21\x3d_\x93\x80\x82\0\0\0\0lo\
        \x82\x80aaaa\x82\xfe\0\x03\0\0\0\0 yo\x8a\x80abcd\x88\x82\0\0\0\0\x03\xe8never";

    #[test]
    fn any_split_gives_the_same() {
        for piece in 1..=SPOKEN.len() {
            let expected = Heard { plain: b"Hello yo".to_vec(), pings: vec![b"hi".to_vec()], ended: true };
            assert_eq!(opened(true, SPOKEN, piece), Ok(expected), "{piece}");
        }
    }

    #[test]
    fn the_masks_of_the_standard_come_off() {
        let wire = b"\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        for piece in 1..=wire.len() {
            assert_eq!(opened(true, wire, piece).unwrap().plain, b"Hello", "{piece}");
        }
        assert_eq!(opened(false, b"\x82\x7f\0\0\0\0\0\0\0\x02hi", 3).unwrap().plain, b"hi");
    }

    #[test]
    fn a_huge_frame_asks_for_no_room() {
        let mut open = OpenFrames::new(false);
        let mut wire = *b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffabc";
        assert_eq!(open.open(&mut wire), Ok(Opened::Plain { used: 13, at: 10..13 }));
        assert_eq!(open.open(&mut []), Ok(Opened::More { need: 1 }));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (masked, wire) in [
            (true, &b"\x82\x01x"[..]),
            (false, b"\x82\x81aaaax"),
            (false, b"\xc2\x01x"),
            (false, b"\x83\x01x"),
            (false, b"\x8b\x01x"),
            (false, b"\x09\x00"),
            (false, b"\x89\x7e\x00\x7e"),
            (false, b"\x82\x7f\xff\0\0\0\0\0\0\0"),
        ] {
            assert!(opened(masked, wire, wire.len()).is_err(), "{wire:02x?}");
        }
    }
}
