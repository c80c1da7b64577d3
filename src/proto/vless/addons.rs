//! The protobuf message in the header: field 1 says how the payload is wrapped, and what is not known is passed over.

use bytes::BufMut;

use crate::wire::{Reader, WireError};

/// How the payload is wrapped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// Not at all.
    #[default]
    Plain,
    /// By Vision.
    Vision,
    /// In a way that nobody here knows.
    Unknown,
}

/// The name of Vision on the wire.
const VISION: &[u8] = b"xtls-rprx-vision";

/// Field 1 with a length, as protobuf numbers it.
const FLOW: u64 = 1 << 3 | LENGTH;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

const BAD: WireError = WireError::Malformed { what: "addons" };

impl Wrapping {
    /// Reads the addons with their length byte.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut message = Reader::new(reader.take_prefixed_u8()?);
        let mut wrapping = Self::Plain;
        // The message is whole: what ends inside it will not go on.
        while !message.is_empty() {
            let tag = varint(&mut message)?;
            match tag & 7 {
                VARINT => drop(varint(&mut message)?),
                FIXED64 => drop(message.take_bytes(8).map_err(|_| BAD)?),
                FIXED32 => drop(message.take_bytes(4).map_err(|_| BAD)?),
                LENGTH => {
                    let len = usize::try_from(varint(&mut message)?).map_err(|_| BAD)?;
                    let value = message.take_bytes(len).map_err(|_| BAD)?;
                    if tag == FLOW {
                        wrapping = match value {
                            b"" => Self::Plain,
                            VISION => Self::Vision,
                            _ => Self::Unknown,
                        };
                    }
                }
                _ => return Err(BAD),
            }
        }
        Ok(wrapping)
    }

    /// Appends the addons with their length byte.
    pub(super) fn write(self, out: &mut impl BufMut) {
        if self == Self::Vision {
            out.put_slice(&[18, 0x0a, 16]);
            out.put_slice(VISION);
        } else {
            out.put_u8(0);
        }
    }
}

fn varint(reader: &mut Reader<'_>) -> Result<u64, WireError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = reader.take_u8().map_err(|_| BAD)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(BAD)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(message: &[u8]) -> Result<Wrapping, WireError> {
        let bytes = [&[u8::try_from(message.len()).unwrap()], message].concat();
        Wrapping::read(&mut Reader::new(&bytes))
    }

    #[test]
    fn the_flow_is_found_among_fields_nobody_knows() {
        let vision = [&[0x0a, 16][..], VISION].concat();
        assert_eq!(read(&[]), Ok(Wrapping::Plain));
        assert_eq!(read(&vision), Ok(Wrapping::Vision));
        assert_eq!(read(b"\x0a\x03abc"), Ok(Wrapping::Unknown));
        let around = [&b"\x12\x02ab\x18\xff\x01\x21abcdefgh"[..], &vision, b"\x2dabcd"].concat();
        assert_eq!(read(&around), Ok(Wrapping::Vision));
    }

    #[test]
    fn a_message_that_breaks_off_is_malformed_and_no_reason_to_wait() {
        for message in [&b"\x0a"[..], b"\x0a\x10xtls", b"\x18\xff", b"\x0b", b"\x21abc", &[0xff; 11]] {
            assert_eq!(read(message), Err(BAD), "{message:x?}");
        }
        assert!(matches!(Wrapping::read(&mut Reader::new(&[3, 0x0a])), Err(WireError::Truncated { need: 2 })));
    }

    #[test]
    fn vision_is_written_as_it_is_read() {
        let mut out = Vec::new();
        Wrapping::Vision.write(&mut out);
        assert_eq!(out.len(), 19);
        assert_eq!(Wrapping::read(&mut Reader::new(&out)), Ok(Wrapping::Vision));
    }
}
