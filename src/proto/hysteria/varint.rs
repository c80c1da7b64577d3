//! QUIC's numbers of one, two, four or eight bytes (RFC 9000, 16).

use bytes::BufMut;

use crate::wire::{Reader, WireError};

/// Reads a number, in whichever length.
pub(super) fn take(reader: &mut Reader<'_>) -> Result<u64, WireError> {
    let first = reader.peek().ok_or(WireError::Truncated { need: 1 })?;
    let bytes = reader.take_bytes(1 << (first >> 6))?;
    let whole = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Ok(whole & u64::MAX >> (66 - 8 * bytes.len()))
}

/// Reads a length that may be at most so much.
pub(super) fn take_len(reader: &mut Reader<'_>, most: usize) -> Result<usize, WireError> {
    let len = take(reader)?;
    usize::try_from(len).ok().filter(|len| *len <= most).ok_or(WireError::TooLong)
}

/// Reads bytes behind their length, which may be at most so much.
pub(super) fn take_prefixed<'a>(reader: &mut Reader<'a>, most: usize) -> Result<&'a [u8], WireError> {
    let len = take_len(reader, most)?;
    reader.take_bytes(len)
}

/// Writes a number below 2¹⁴ in its shortest form; no length of this protocol is larger.
pub(super) fn put(number: u16, out: &mut impl BufMut) {
    match u8::try_from(number) {
        Ok(byte) if byte < 64 => out.put_u8(byte),
        _ => out.put_u16(number & 0x3fff | 0x4000),
    }
}

/// Bytes of the shortest form of a number below 2¹⁴.
pub(super) fn len(number: u16) -> usize {
    if number < 64 { 1 } else { 2 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_protocol_has_them() {
        // The examples of RFC 9000, A.1.
        for (bytes, expected) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            assert_eq!(take(&mut Reader::new(bytes)), Ok(expected));
        }
        assert_eq!(take(&mut Reader::new(&[0xc2, 0])), Err(WireError::Truncated { need: 6 }));
        assert_eq!(take(&mut Reader::new(&[])), Err(WireError::Truncated { need: 1 }));
    }

    #[test]
    fn what_is_written_is_read() {
        for number in [0, 1, 63, 64, 0x401, 0x3fff] {
            let mut out = vec![];
            put(number, &mut out);
            assert_eq!((take(&mut Reader::new(&out)).unwrap(), out.len()), (number.into(), len(number)));
        }
        let mut out = vec![];
        put(0x401, &mut out);
        assert_eq!(out, [0x44, 1]);
    }
}
