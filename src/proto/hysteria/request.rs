//! What a client says first on a stream.

use std::str;

use bytes::BufMut;
use rand::{Rng, RngExt};

use super::auth::letters;
use super::varint::{put, take, take_len, take_prefixed};
use crate::addr::Target;
use crate::wire::{Handshake, Reader, Step, WireError, whole};

/// What the stream of a flow begins with, where a stream of HTTP/3 has the type of its first frame.
pub const STREAM: u16 = 0x401;

/// Most bytes of a target in words.
pub(super) const ADDRESS: usize = 2048;
/// Most padding that is taken.
pub(super) const PADDING: usize = 4096;

/// Appends the opening of a stream to a target.
pub fn write_request(target: &Target, out: &mut Vec<u8>, rng: &mut impl Rng) {
    let text = target.to_string();
    put(STREAM, out);
    put_text(&text, out);
    let padding = rng.random_range(64..512);
    put(padding, out);
    letters(padding.into(), out, rng);
}

/// Appends text behind its length. Names have at most 253 bytes, so it fits.
pub(super) fn put_text(text: &str, out: &mut impl BufMut) {
    put(u16::try_from(text.len()).unwrap_or(0), out);
    out.put_slice(text.as_bytes());
}

/// Reads a target in words.
pub(super) fn target(text: &[u8]) -> Result<Target, WireError> {
    let text = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    text.ok_or(WireError::Malformed { what: "address" })
}

/// What a stream is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A flow to this target.
    Flow(Target),
    /// Something else, of which nothing was taken: a request of HTTP/3.
    Other,
}

/// Reads what a client says first on a stream.
#[derive(Debug, Default)]
pub struct ReadOpening;

impl Handshake for ReadOpening {
    type Output = Opening;

    fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<Opening>, WireError> {
        whole(input, |reader| {
            let mut first = reader.clone();
            if take(&mut first)? != u64::from(STREAM) {
                return Ok(Opening::Other);
            }
            let target = request(&mut first)?;
            reader.take_bytes(first.used() - reader.used())?;
            Ok(Opening::Flow(target))
        })
    }
}

fn request(reader: &mut Reader<'_>) -> Result<Target, WireError> {
    let target = target(take_prefixed(reader, ADDRESS)?)?;
    let padding = take_len(reader, PADDING)?;
    reader.take_bytes(padding)?;
    Ok(target)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::wire::testing::{any_split, feed};

    /// As an independent client wrote it, and sing-box 1.14.4 took it.
    const KNOWN: &[u8] = b"\x44\x01\x0eexample.com:80\x03aaa";

    #[test]
    fn a_known_request() {
        let outcome = any_split(|| ReadOpening, &[KNOWN, b"payload"].concat());
        let wanted = Opening::Flow("example.com:80".parse().unwrap());
        assert_eq!((outcome.result, outcome.used), (Some(Ok(wanted)), KNOWN.len()));
    }

    #[test]
    fn what_is_written_is_read() {
        let mut rng = StdRng::seed_from_u64(1);
        for target in ["a.example:443", "10.0.0.1:1", "[2001:db8::1]:53"] {
            let (target, mut out): (Target, _) = (target.parse().unwrap(), vec![]);
            write_request(&target, &mut out, &mut rng);
            assert!(out.len() > 64 && out.starts_with(&[0x44, 1]));
            let outcome = feed(ReadOpening, [&out[..]]);
            assert_eq!((outcome.result, outcome.used), (Some(Ok(Opening::Flow(target))), out.len()));
        }
    }

    #[test]
    fn requests_of_http_are_left_as_they_are() {
        for other in [&b"\x01\x05hello"[..], b"\x00", b"\x44\x02rest"] {
            let outcome = any_split(|| ReadOpening, other);
            assert_eq!((outcome.result, outcome.used), (Some(Ok(Opening::Other)), 0));
        }
    }

    #[test]
    fn what_is_too_long_or_no_address_is_refused() {
        let read = |input: &[u8]| feed(ReadOpening, [input]).result;
        assert_eq!(read(b"\x44\x01\x48\x01"), Some(Err(WireError::TooLong)));
        assert_eq!(read(b"\x44\x01\x01a"), Some(Err(WireError::Malformed { what: "address" })));
        assert_eq!(read(b"\x44\x01\x00"), Some(Err(WireError::Malformed { what: "address" })));
        assert_eq!(read(b"\x44\x01\x03a:1\x50\x01"), Some(Err(WireError::TooLong)));
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes: Vec<u8>) {
            let _ = feed(ReadOpening, [&[&[0x44, 1], &bytes[..]].concat()[..]]);
            let _ = feed(ReadOpening, [&bytes[..]]);
        }
    }
}
