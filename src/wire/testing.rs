//! The test that every handshake gets for free: any split of the input gives the same result as the whole.

use std::fmt::Debug;

use super::error::WireError;
use super::step::{Handshake, Step};

/// What a handshake came to after all input was shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome<T> {
    /// The value, the error, or nothing while it still waits.
    pub result: Option<Result<T, WireError>>,
    /// Bytes of the input that belonged to the handshake. Not compared after an error.
    pub used: usize,
    /// All it said.
    pub reply: Vec<u8>,
}

/// Feeds `input` in the given pieces, exactly as the driver does.
pub fn feed<'a, H: Handshake>(mut shake: H, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome<H::Output> {
    let mut reply = Vec::new();
    let mut held = Vec::new();
    let mut used = 0;
    for piece in std::iter::once(&[][..]).chain(pieces) {
        held.extend_from_slice(piece);
        match shake.step(&held, &mut reply) {
            Ok(Step::More { used: n, need }) => {
                assert!(n <= held.len(), "used more than was there");
                assert!(need > 0, "must need something");
                held.drain(..n);
                used += n;
            }
            Ok(Step::Done { used: n, value }) => {
                assert!(n <= held.len(), "used more than was there");
                return Outcome { result: Some(Ok(value)), used: used + n, reply };
            }
            Err(error) => return Outcome { result: Some(Err(error)), used: 0, reply },
        }
    }
    Outcome { result: None, used, reply }
}

/// Checks that every two-part split, and even pieces of one to seven bytes, give what the whole gives; returns that.
pub fn any_split<H: Handshake>(make: impl Fn() -> H, input: &[u8]) -> Outcome<H::Output>
where
    H::Output: Debug + PartialEq,
{
    let expected = feed(make(), [input]);
    for at in 0..=input.len() {
        let (left, right) = input.split_at(at);
        assert_eq!(feed(make(), [left, right]), expected, "split at {at} of {}", input.len());
    }
    for size in 1..=7 {
        assert_eq!(feed(make(), input.chunks(size)), expected, "pieces of {size}");
    }
    expected
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::step::whole;
    use super::*;

    /// Greets, then reads one length-prefixed word.
    struct Word;

    impl Handshake for Word {
        type Output = Vec<u8>;

        fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Vec<u8>>, WireError> {
            let step = whole(input, |reader| reader.take_prefixed_u8().map(<[u8]>::to_vec))?;
            if matches!(step, Step::Done { .. }) {
                reply.push(b'!');
            }
            Ok(step)
        }
    }

    #[test]
    fn a_well_behaved_handshake_passes() {
        let outcome = any_split(|| Word, b"\x03abcrest");
        assert_eq!(outcome, Outcome { result: Some(Ok(b"abc".to_vec())), used: 4, reply: b"!".to_vec() });
        assert_eq!(any_split(|| Word, b"\x09abc").result, None);
    }

    /// Mistakes the end of the first piece for the end of the message.
    struct Hasty;

    impl Handshake for Hasty {
        type Output = usize;

        fn step(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<Step<usize>, WireError> {
            Ok(if input.is_empty() {
                Step::More { used: 0, need: 1 }
            } else {
                Step::Done { used: input.len(), value: 0 }
            })
        }
    }

    #[test]
    #[should_panic(expected = "split at 1")]
    fn one_that_looks_at_piece_borders_fails() {
        any_split(|| Hasty, b"abc");
    }
}
