//! What a server puts in front of its first bytes.

use crate::wire::{Open, Opened, Reader, WireError};

/// The answer: the version, and no addons. No server says more.
pub const ANSWER: [u8; 2] = [0, 0];

/// Takes the answer off, and leaves what is behind it to another codec.
#[derive(Debug)]
pub struct Answered<O> {
    inner: O,
    heard: bool,
}

impl<O> Answered<O> {
    /// In front of this codec.
    #[must_use]
    pub fn new(inner: O) -> Self {
        Self { inner, heard: false }
    }
}

/// How long the answer at the front of `input` is.
pub(super) fn length(input: &[u8]) -> Result<usize, WireError> {
    let mut reader = Reader::new(input);
    if reader.take_u8()? != 0 {
        return Err(WireError::Malformed { what: "version of the answer" });
    }
    reader.take_prefixed_u8()?;
    Ok(reader.used())
}

impl<O: Open> Open for Answered<O> {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        if self.heard {
            return self.inner.open(input);
        }
        match length(input) {
            Ok(used) => {
                self.heard = true;
                Ok(Opened::Plain { used, at: 0..0 })
            }
            Err(WireError::Truncated { need }) => Ok(Opened::More { need }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Next, Unframed};

    #[test]
    fn the_answer_is_taken_off_with_its_addons() {
        let mut open = Answered::new(Unframed);
        let mut bytes = *b"\x00\x02abrest";
        assert_eq!(open.open(&mut []), Ok(Opened::More { need: 1 }));
        assert_eq!(open.open(&mut bytes[..1]), Ok(Opened::More { need: 1 }));
        assert_eq!(open.open(&mut bytes[..3]), Ok(Opened::More { need: 1 }));
        assert_eq!(open.open(&mut bytes), Ok(Opened::Plain { used: 4, at: 0..0 }));
        assert_eq!(open.open(&mut bytes[4..]), Ok(Opened::Over { used: 0, next: Next::Bare }));
        assert!(Answered::new(Unframed).open(&mut [1, 0]).is_err());
    }
}
