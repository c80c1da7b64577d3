//! What a server says first on the stream of a flow.

use bytes::BufMut;
use rand::{Rng, RngExt};

use super::auth::letters;
use super::request::{PADDING, put_text};
use super::varint::{put, take_len, take_prefixed};
use crate::wire::{Open, Opened, Reader, WireError};

/// Most bytes of a message.
const MESSAGE: usize = 2048;

const OK: u8 = 0;
const ERROR: u8 = 1;

/// Appends the answer: the flow runs, or does not, and why.
pub fn write_response(result: Result<(), &str>, out: &mut Vec<u8>, rng: &mut impl Rng) {
    out.put_u8(if result.is_ok() { OK } else { ERROR });
    put_text(result.err().unwrap_or_default(), out);
    let padding = rng.random_range(128..1024);
    put(padding, out);
    letters(padding.into(), out, rng);
}

/// Takes the answer off, and leaves what is behind it to another codec. A server that refuses ends the half.
#[derive(Debug)]
pub struct Responded<O> {
    inner: O,
    heard: bool,
}

impl<O> Responded<O> {
    /// In front of this codec.
    #[must_use]
    pub fn new(inner: O) -> Self {
        Self { inner, heard: false }
    }
}

/// How long the answer at the front of `input` is.
fn length(input: &[u8]) -> Result<usize, WireError> {
    let mut reader = Reader::new(input);
    let status = reader.take_u8()?;
    take_prefixed(&mut reader, MESSAGE)?;
    let padding = take_len(&mut reader, PADDING)?;
    reader.take_bytes(padding)?;
    match status {
        OK => Ok(reader.used()),
        // Its words are the server's, and nothing that a log could trust.
        ERROR => Err(WireError::Denied { what: "the server did not reach the target" }),
        _ => Err(WireError::Malformed { what: "status of the answer" }),
    }
}

impl<O: Open> Open for Responded<O> {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        if self.heard {
            return self.inner.open(input);
        }
        match length(input) {
            Ok(used) => {
                self.heard = true;
                Ok(Opened::Plain { used, at: 0..0 })
            }
            Err(WireError::Truncated { need }) => Ok(Opened::More { need: need.max(1) }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::wire::{Next, Unframed};

    #[test]
    fn the_answer_is_taken_off_however_it_comes() {
        let mut out = vec![];
        write_response(Ok(()), &mut out, &mut StdRng::seed_from_u64(1));
        let len = out.len();
        assert!(out.starts_with(&[0, 0]) && len > 128);
        out.extend_from_slice(b"rest");
        for end in 0..len {
            let opened = Responded::new(Unframed).open(&mut out.clone()[..end]).unwrap();
            assert!(matches!(opened, Opened::More { need } if need > 0 && end + need <= len), "{end}");
        }
        let mut open = Responded::new(Unframed);
        assert_eq!(open.open(&mut out), Ok(Opened::Plain { used: len, at: 0..0 }));
        assert_eq!(open.open(&mut out[len..]), Ok(Opened::Over { used: 0, next: Next::Bare }));
    }

    #[test]
    fn a_refusal_is_an_error() {
        let mut out = vec![];
        write_response(Err("no route"), &mut out, &mut StdRng::seed_from_u64(1));
        assert!(out.starts_with(b"\x01\x08no route"));
        assert!(matches!(Responded::new(Unframed).open(&mut out), Err(WireError::Denied { .. })));
        out[0] = 2;
        assert!(matches!(Responded::new(Unframed).open(&mut out), Err(WireError::Malformed { .. })));
        assert_eq!(Responded::new(Unframed).open(&mut [0, 0x48, 1]), Err(WireError::TooLong));
        assert_eq!(Responded::new(Unframed).open(&mut [0, 0, 0x50, 1]), Err(WireError::TooLong));
    }
}
