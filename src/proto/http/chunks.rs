//! Finding the end of a chunked body without touching it.
//!
//! The bytes travel as they are, so this must understand them exactly as the next hop does: line ends are CRLF and
//! nothing else, sizes are plain hexadecimal. Whoever is more generous here lets two requests hide in one.

use crate::wire::WireError;

/// Watches chunked bytes go by.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: State,
    /// Bytes of the current line, against endless lines.
    line: usize,
}

/// Longest size line and longest trailer section.
const MAX_LINE: usize = 16 * 1024;
/// Most digits of a size that surely fits.
const MAX_DIGITS: u8 = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of a size.
    Size {
        value: u64,
        digits: u8,
    },
    /// Behind the digits, in blanks or extensions.
    Extension {
        value: u64,
    },
    /// The line feed of a size line.
    SizeEnd {
        value: u64,
    },
    /// In the data of a chunk.
    Data {
        left: u64,
    },
    /// The line end behind the data.
    DataCr,
    DataLf,
    /// At the start of a trailer line.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    TrailerLf,
    /// The line feed that ends all.
    LastLf,
    Done,
}

impl Default for State {
    fn default() -> Self {
        Self::Size { value: 0, digits: 0 }
    }
}

impl Chunks {
    /// Takes bytes from the front of `input` as far as they belong to the body.
    pub(super) fn advance(&mut self, input: &[u8]) -> Result<usize, WireError> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if let State::Data { left } = self.state {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(input.len() - at);
                at += here;
                let left = left - here as u64;
                self.state = if left == 0 { State::DataCr } else { State::Data { left } };
            } else {
                self.state = self.byte(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    fn byte(&mut self, byte: u8) -> Result<State, WireError> {
        self.line += 1;
        if self.line > MAX_LINE {
            return Err(WireError::TooLong);
        }
        let bad = Err(WireError::Malformed { what: "chunk" });
        Ok(match (self.state, byte) {
            (State::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == MAX_DIGITS {
                    return Err(WireError::TooLong);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                State::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            (State::Size { digits: 0, .. }, _) => return bad,
            (State::Size { value, .. } | State::Extension { value }, b'\r') => State::SizeEnd { value },
            // Some servers pad the size with blanks.
            (State::Size { value, .. }, b';' | b' ' | b'\t') => State::Extension { value },
            (State::Extension { .. } | State::Trailer, b'\n' | 0) => return bad,
            (State::Extension { value }, _) => State::Extension { value },
            (State::SizeEnd { value: 0 }, b'\n') => State::TrailerStart,
            (State::SizeEnd { value }, b'\n') => {
                self.line = 0;
                State::Data { left: value }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                self.line = 0;
                State::default()
            }
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart, b' ' | b'\t' | b'\n' | b':' | 0) => return bad,
            (State::TrailerStart, _) => State::Trailer,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::Trailer, _) => State::Trailer,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::LastLf, b'\n') => State::Done,
            _ => return bad,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(usize, bool), WireError> {
        let mut chunks = Chunks::default();
        let mut used = 0;
        for piece in pieces {
            used += chunks.advance(piece)?;
        }
        Ok((used, chunks.is_done()))
    }

    #[test]
    fn the_end_is_found_at_any_split() {
        let body = b"5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n1  \r\nx\r\n0\r\nTrailer: 1\r\nOther: 2\r\n\r\n";
        let all = [&body[..], b"GET /next"].concat();
        assert_eq!(run([&all[..]]), Ok((body.len(), true)));
        for at in 0..all.len() {
            assert_eq!(run([&all[..at], &all[at..]]), Ok((body.len(), true)), "{at}");
        }
        for at in 0..body.len() {
            assert_eq!(run([&body[..at]]), Ok((at, false)), "{at}");
        }
    }

    #[test]
    fn what_two_readers_could_read_two_ways_is_refused() {
        for bad in [
            &b"5\nhello\r\n0\r\n\r\n"[..],
            b"5\r\nhello0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"0x5\r\nhello\r\n",
            b"+5\r\nhello\r\n",
            b" 5\r\nhello\r\n",
            b"-1\r\n",
            b";\r\n",
            b"5;a\nb\r\n",
            b"0\r\n folded\r\n\r\n",
            b"0\r\nA: b\n\r\n",
            b"fffffffffffffffff\r\n",
        ] {
            assert!(run([bad]).is_err(), "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(run([&[&b"1;"[..], &[b'a'; MAX_LINE]].concat()[..]]), Err(WireError::TooLong));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = run([&bytes[..]]);
            let _ = run(bytes.chunks(3));
        }

        #[test]
        fn sizes_are_summed(sizes in prop::collection::vec(1usize..5000, 0..8), cut in 0usize..100) {
            let mut body = Vec::new();
            for size in sizes {
                body.extend_from_slice(format!("{size:x}\r\n").as_bytes());
                body.resize(body.len() + size, b'\n');
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(run(body.chunks(cut + 1)), Ok((body.len(), true)));
        }
    }
}
