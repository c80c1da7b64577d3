//! Messages that hold bytes.

use bytes::{BufMut, BytesMut};

use crate::wire::WireError;

/// Most payload that one message of ours holds. A reader that takes messages whole needs as much memory, so not more than
/// what is read at a time.
pub const MOST: usize = 32 * 1024;

/// Bytes in front of `len` bytes of payload.
#[must_use]
pub fn overhead(len: usize) -> usize {
    HEAD + 1 + varint_len(len)
}

/// Appends what stands in front of `len` bytes of payload; the payload is to follow. At most [`MOST`] of it.
pub fn put_prefix(len: usize, out: &mut BytesMut) {
    let field = 1 + varint_len(len) + len;
    out.put_u8(0);
    // Not above `MOST` and a few, so that nothing is cut.
    out.put_u32(u32::try_from(field).unwrap_or(u32::MAX));
    out.put_u8(PAYLOAD);
    let mut left = len;
    while left >= 0x80 {
        out.put_u8(u8::try_from(left & 0x7f).unwrap_or_default() | 0x80);
        left >>= 7;
    }
    out.put_u8(u8::try_from(left).unwrap_or_default());
}

fn varint_len(mut value: usize) -> usize {
    let mut len = 1;
    while value >= 0x80 {
        value >>= 7;
        len += 1;
    }
    len
}

/// Reads messages as they come, of whatever size and however they are split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunks {
    /// Bytes of the message that have not come yet; not known within its head.
    message: u32,
    state: State,
}

/// What lies at the front of some input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Piece {
    /// Bytes that hold no payload.
    pub skip: usize,
    /// Bytes of payload right behind them.
    pub data: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Within the flag and the length of a message, of which so many bytes have come.
    Head { got: usize },
    /// Within the key of a field.
    Key(Varint),
    /// Within the length of a field.
    Len { payload: bool, len: Varint },
    /// Within a field that is a number.
    Number(Varint),
    /// So many bytes of a field have not come yet.
    Field { payload: bool, left: u32 },
}

/// A number of which the lowest bits have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Varint {
    value: u64,
    bits: u32,
}

impl Default for State {
    fn default() -> Self {
        Self::Head { got: 0 }
    }
}

impl Hunks {
    /// Says where in `input` the next payload lies. It need not be shown again; nothing is left of the input when this says
    /// that no payload follows.
    ///
    /// # Errors
    /// [`WireError::Malformed`] for a compressed message, and for what is no protobuf.
    pub fn next(&mut self, input: &[u8]) -> Result<Piece, WireError> {
        let mut at = 0;
        while let Some(byte) = input.get(at) {
            if let State::Field { payload, left } = self.state {
                let there = u32::try_from(input.len() - at).unwrap_or(u32::MAX).min(left);
                self.message -= there;
                self.state =
                    if there == left { self.behind_field() } else { State::Field { payload, left: left - there } };
                let there = there as usize;
                if payload {
                    return Ok(Piece { skip: at, data: there });
                }
                at += there;
                continue;
            }
            at += 1;
            self.eat(*byte)?;
        }
        Ok(Piece { skip: at, data: 0 })
    }

    /// Whether the bytes so far are whole messages.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.state == State::Head { got: 0 }
    }

    fn eat(&mut self, byte: u8) -> Result<(), WireError> {
        if let State::Head { got } = self.state {
            match got {
                0 if byte != 0 => return Err(WireError::Malformed { what: "gRPC message: it is compressed" }),
                0 => self.message = 0,
                _ => self.message = self.message << 8 | u32::from(byte),
            }
            self.state = if got + 1 == HEAD { self.behind_field() } else { State::Head { got: got + 1 } };
            return Ok(());
        }
        self.message -= 1;
        let next = match self.state {
            State::Head { .. } | State::Field { .. } => self.state,
            State::Key(key) => match key.with(byte)? {
                Ok(key) => self.field(key)?,
                Err(part) => State::Key(part),
            },
            State::Len { payload, len } => match len.with(byte)? {
                Ok(len) => self.bytes(payload, len)?,
                Err(part) => State::Len { payload, len: part },
            },
            State::Number(number) => match number.with(byte)? {
                Ok(_) => self.behind_field(),
                Err(part) => State::Number(part),
            },
        };
        if self.message == 0 && !matches!(next, State::Head { .. }) {
            return Err(MALFORMED);
        }
        self.state = next;
        Ok(())
    }

    /// What a field's key announces.
    fn field(&self, key: u64) -> Result<State, WireError> {
        match key & 7 {
            0 => Ok(State::Number(Varint::default())),
            1 => self.bytes(false, 8),
            2 => Ok(State::Len { payload: key == u64::from(PAYLOAD), len: Varint::default() }),
            5 => self.bytes(false, 4),
            _ => Err(MALFORMED),
        }
    }

    fn bytes(&self, payload: bool, len: u64) -> Result<State, WireError> {
        match u32::try_from(len) {
            Ok(0) => Ok(self.behind_field()),
            Ok(left) if left <= self.message => Ok(State::Field { payload, left }),
            _ => Err(MALFORMED),
        }
    }

    /// What comes behind a field, or behind the head of a message.
    fn behind_field(&self) -> State {
        if self.message == 0 { State::Head { got: 0 } } else { State::Key(Varint::default()) }
    }
}

impl Varint {
    /// The number once it is whole, else what there is of it.
    fn with(self, byte: u8) -> Result<Result<u64, Self>, WireError> {
        let low = u64::from(byte & 0x7f);
        if self.bits > 63 || (self.bits == 63 && low > 1) {
            return Err(MALFORMED);
        }
        let value = self.value | low << self.bits;
        Ok(if byte & 0x80 == 0 { Ok(value) } else { Err(Self { value, bits: self.bits + 7 }) })
    }
}

/// The flag and the length.
const HEAD: usize = 5;

/// Key of field 1 with bytes in it.
const PAYLOAD: u8 = 0x0a;

const MALFORMED: WireError = WireError::Malformed { what: "gRPC message" };

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// All payload of the pieces, and whether they end between messages.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, bool), WireError> {
        let (mut hunks, mut out) = (Hunks::default(), Vec::new());
        for mut piece in pieces {
            while !piece.is_empty() {
                let Piece { skip, data } = hunks.next(piece)?;
                assert!(data > 0 || skip == piece.len(), "stopped early");
                out.extend_from_slice(&piece[skip..skip + data]);
                piece = &piece[skip + data..];
            }
        }
        Ok((out, hunks.is_between()))
    }

    /// The same for every split.
    fn any_split(input: &[u8]) -> Result<(Vec<u8>, bool), WireError> {
        let whole = read([input]);
        for at in 0..=input.len() {
            let (left, right) = input.split_at(at);
            assert_eq!(read([left, right]), whole, "split at {at}");
        }
        for size in 1..=7 {
            assert_eq!(read(input.chunks(size)), whole, "pieces of {size}");
        }
        whole
    }

    fn hunk(payload: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::new();
        put_prefix(payload.len(), &mut out);
        assert_eq!(out.len(), overhead(payload.len()));
        out.extend_from_slice(payload);
        out.to_vec()
    }

    #[test]
    fn the_known_answer() {
        let hello = hunk(b"hello");
        assert_eq!(hello, b"\0\0\0\0\x07\x0a\x05hello");
        assert_eq!(any_split(&hello).unwrap(), (b"hello".to_vec(), true));
    }

    #[test]
    fn messages_of_any_size_follow_one_another() {
        let mut wire = vec![];
        let mut plain = vec![];
        for len in [0, 1, 127, 128, 300, 16_383, 16_384, MOST] {
            let payload: Vec<_> = (0..len).map(|at| at.to_le_bytes()[0]).collect();
            wire.extend(hunk(&payload));
            plain.extend(payload);
        }
        assert_eq!(read([&wire[..]]).unwrap(), (plain.clone(), true));
        for size in [1, 2, 3, 5, 1000, 16_384] {
            assert_eq!(read(wire.chunks(size)).unwrap(), (plain.clone(), true));
        }
    }

    #[test]
    fn several_fields_foreign_fields_and_empty_messages() {
        assert_eq!(any_split(b"\0\0\0\0\x08\x0a\x02ab\x0a\x02cd").unwrap(), (b"abcd".to_vec(), true));
        assert_eq!(any_split(b"\0\0\0\0\0\0\0\0\0\x02\x0a\0").unwrap(), (vec![], true));
        // A number, eight bytes, four bytes, text of field 2, then payload.
        let foreign = b"\0\0\0\0\x19\x08\x96\x01\x1112345678\x1d1234\x12\x02no\x0a\x02ok";
        assert_eq!(any_split(foreign).unwrap(), (b"ok".to_vec(), true));
        assert_eq!(any_split(b"\0\0\0\0\x04\x0a").unwrap(), (vec![], false));
    }

    #[test]
    fn what_is_malformed_is_an_error() {
        let cases: &[&[u8]] = &[
            b"\x01\0\0\0\x07\x0a\x05hello",
            // A field longer than its message, one that ends within its length, a group.
            b"\0\0\0\0\x07\x0a\x06hello!",
            b"\0\0\0\0\x02\x0a\x80\x01",
            b"\0\0\0\0\x02\x0b\x00",
            // Numbers of more than 64 bits.
            b"\0\0\0\0\xff\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            b"\0\0\0\0\xff\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            // Four bytes are announced, three fit.
            b"\0\0\0\0\x04\x1d123",
        ];
        for case in cases {
            assert!(matches!(any_split(case), Err(WireError::Malformed { .. })), "{case:?}");
        }
    }
}
