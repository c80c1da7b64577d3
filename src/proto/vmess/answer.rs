//! What a server says in front of its body.

use aws_lc_rs::digest::{SHA256, digest};

use super::cipher::TAG;
use super::request::Request;
use super::sealed::Part;
use crate::wire::WireError;

/// Keys of the answer, which follow from those of the request.
pub(super) struct Keys {
    pub(super) key: [u8; 16],
    pub(super) iv: [u8; 16],
}

impl Keys {
    pub(super) fn of(request: &Request) -> Self {
        let half = |bytes: &[u8]| {
            let mut half = [0; 16];
            half.copy_from_slice(&digest(&SHA256, bytes).as_ref()[..16]);
            half
        };
        Self { key: half(&*request.key), iv: half(&request.iv) }
    }

    fn length(&self) -> Part {
        Part::new((&self.key, &[b"AEAD Resp Header Len Key"]), (&self.iv, &[b"AEAD Resp Header Len IV"]))
    }

    fn header(&self) -> Part {
        Part::new((&self.key, &[b"AEAD Resp Header Key"]), (&self.iv, &[b"AEAD Resp Header IV"]))
    }
}

/// The server's header for a request: its mark again, no options, no command.
pub(super) fn seal_answer(request: &Request) -> Vec<u8> {
    let plain = [request.mark, 0, 0, 0];
    let keys = Keys::of(request);
    let mut out = Vec::new();
    keys.length().seal(&4u16.to_be_bytes(), &[], &mut out);
    keys.header().seal(&plain, &[], &mut out);
    out
}

/// Reads a server's header.
pub(super) struct Answer {
    keys: Keys,
    mark: u8,
    /// Once it is known: bytes of the sealed header.
    len: Option<usize>,
}

/// What one look came to.
pub(super) enum Heard {
    More { need: usize },
    All { used: usize },
}

/// Mark, options, and a command that nobody sends any more, with its length in one byte.
const LONGEST: usize = 4 + 255;

impl Answer {
    pub(super) fn to(request: &Request) -> Self {
        Self { keys: Keys::of(request), mark: request.mark, len: None }
    }

    /// Looks at the front of `input`, which stays as it is.
    pub(super) fn read(&mut self, input: &[u8]) -> Result<Heard, WireError> {
        const LENGTH: usize = 2 + TAG;
        let Some(length) = input.first_chunk::<LENGTH>() else {
            return Ok(Heard::More { need: LENGTH - input.len() });
        };
        let len = match self.len {
            Some(len) => len,
            None => {
                let plain = self.keys.length().open(length, &[])?;
                let len = plain.first_chunk().map_or(0, |word| usize::from(u16::from_be_bytes(*word)));
                if !(4..=LONGEST).contains(&len) {
                    return Err(WireError::TooLong);
                }
                *self.len.insert(len + TAG)
            }
        };
        let all = LENGTH + len;
        let Some(sealed) = input.get(LENGTH..all) else { return Ok(Heard::More { need: all - input.len() }) };
        let plain = self.keys.header().open(sealed, &[])?;
        if plain.first() != Some(&self.mark) {
            return Err(WireError::Malformed { what: "mark of a VMess answer" });
        }
        Ok(Heard::All { used: all })
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::known;
    use super::super::vectors::hex;
    use super::*;

    #[test]
    fn the_known_answer_is_written_and_read() {
        let keys = Keys::of(&known());
        assert_eq!(keys.key[..], hex("36db1adc807ac50e4c85bd86a174b4aa"));
        assert_eq!(keys.iv[..], hex("fc2e2c73072bfa2bda03ff9307472deb"));
        let sealed = seal_answer(&known());
        let text = "bdbf42fa9d3621ee2883fcdb50faf39e5149dd40906aaf2aa9dd7104e1199e566df7653bff43";
        assert_eq!(sealed, hex(text));
        let mut answer = Answer::to(&known());
        for end in 0..sealed.len() {
            assert!(matches!(answer.read(&sealed[..end]), Ok(Heard::More { need }) if end + need <= sealed.len()));
        }
        assert!(matches!(answer.read(&sealed), Ok(Heard::All { used }) if used == sealed.len()));
    }

    #[test]
    fn an_answer_to_another_is_none() {
        let sealed = seal_answer(&known());
        let other = Request { mark: 8, ..known() };
        assert!(Answer::to(&other).read(&sealed).is_err());
        for at in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[at] ^= 1;
            assert!(Answer::to(&known()).read(&bad).is_err(), "{at}");
        }
    }
}
