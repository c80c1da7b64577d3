//! The protobuf wire format, as far as geodata files use it (<https://protobuf.dev/programming-guides/encoding/>).

use super::fault::DatError;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A number of fixed width; nothing in a geodata file is one.
    Fixed,
}

/// Fields of a message, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    message: &'a [u8],
    at: usize,
    /// Where the message begins in its file; errors count from there.
    base: u64,
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8], base: u64) -> Self {
        Self { message, at: 0, base }
    }

    /// Where the next field begins in the file.
    pub(super) fn place(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The next field's number and value.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, DatError> {
        if self.at >= self.message.len() {
            return Ok(None);
        }
        let place = self.place();
        let fault = |what| DatError { at: place, what };
        let tag = self.number().ok_or_else(|| fault("a field's number cannot be read"))?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.number().ok_or_else(|| fault("a number cannot be read"))?),
            BYTES => {
                let len = self.number().ok_or_else(|| fault("a length cannot be read"))?;
                let bytes = usize::try_from(len).ok().and_then(|len| self.take(len));
                Value::Bytes(bytes.ok_or_else(|| fault("a length reaches past the end"))?)
            }
            FIXED64 => self.take(8).map(|_| Value::Fixed).ok_or_else(|| fault("the file ends within a field"))?,
            FIXED32 => self.take(4).map(|_| Value::Fixed).ok_or_else(|| fault("the file ends within a field"))?,
            _ => return Err(fault("a field of an unknown kind")),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn number(&mut self) -> Option<u64> {
        let (number, used) = varint(self.message.get(self.at..)?)?;
        self.at += used;
        Some(number)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let bytes = self.message.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }
}

pub(super) const VARINT: u64 = 0;
pub(super) const FIXED64: u64 = 1;
pub(super) const BYTES: u64 = 2;
pub(super) const FIXED32: u64 = 5;

/// Bytes that a number may take.
pub(super) const LONGEST: usize = 10;

/// A number, and the bytes it takes; nothing if it does not end or is larger than 64 bits.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0u64;
    for (n, byte) in bytes.iter().take(LONGEST).enumerate() {
        let part = u64::from(byte & 0x7f);
        if n == LONGEST - 1 && part > 1 {
            return None;
        }
        number |= part << (7 * n);
        if byte & 0x80 == 0 {
            return Some((number, n + 1));
        }
    }
    None
}

/// Appends a field that is a number.
pub(super) fn put_number(out: &mut Vec<u8>, field: u64, number: u64) {
    put_varint(out, field << 3 | VARINT);
    put_varint(out, number);
}

/// Appends a field that is a text, bytes or a message.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | BYTES);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = vec![];
            put_varint(&mut out, number);
            assert_eq!(varint(&out), Some((number, out.len())));
            assert_eq!(varint(&out[..out.len() - 1]), None, "{number} is cut");
        }
        assert_eq!(varint(&[0xff; 11]), None);
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None, "65 bits");
    }

    #[test]
    fn fields_of_every_kind_are_read_and_faults_have_a_place() {
        let mut message = vec![];
        put_number(&mut message, 3, 300);
        put_bytes(&mut message, 68_000, b"ab");
        message.extend([5 << 3 | 5, 0, 0, 0, 0, 6 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut fields = Fields::new(&message, 100);
        assert_eq!(fields.next().unwrap(), Some((3, Value::Number(300))));
        assert_eq!(fields.next().unwrap(), Some((68_000, Value::Bytes(b"ab"))));
        assert_eq!(fields.next().unwrap(), Some((5, Value::Fixed)));
        assert_eq!(fields.next().unwrap(), Some((6, Value::Fixed)));
        assert_eq!(fields.next().unwrap(), None);
        for (broken, what) in [
            (&[0x0a, 5, 1][..], "a length reaches past the end"),
            (&[0x0b][..], "a field of an unknown kind"),
            (&[0x08, 0x80][..], "a number cannot be read"),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..], "a length reaches past the end"),
        ] {
            let error = Fields::new(broken, 100).next().unwrap_err();
            assert_eq!((error.at, error.what), (100, what));
        }
    }
}
