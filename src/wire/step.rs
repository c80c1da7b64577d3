//! The contract of every sans-io handshake.

use super::error::WireError;
use super::reader::Reader;

/// What one call of [`Handshake::step`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<T> {
    /// `used` bytes of the input are done with; at least `need` more than the bytes kept are wanted next. `need` is a
    /// hint: calling again with fewer is allowed and gives the same in the end.
    More {
        /// Bytes of the input that need not be shown again.
        used: usize,
        /// Bytes still missing, at least 1.
        need: usize,
    },
    /// Finished; the bytes behind `used` belong to whatever comes next.
    Done {
        /// Bytes of the input that belonged to the handshake.
        used: usize,
        /// What the handshake found out.
        value: T,
    },
}

/// One side of a handshake as a value that eats bytes.
///
/// The driver calls `step` once with empty input, so that a side that speaks first can fill `reply`, and then after every
/// read with all bytes not yet used. Whatever is in `reply` after a call is sent, also after an error: that is how a server
/// says no. Any split of the input must give the same result as the whole (`wire::testing` checks that).
pub trait Handshake {
    /// What a finished handshake yields.
    type Output;

    /// Reads `input`, may append to `reply`; never waits, never looks at a clock.
    ///
    /// # Errors
    /// [`WireError`] ends the handshake and the connection.
    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Self::Output>, WireError>;
}

/// Runs a reader over one whole message: too short an input becomes [`Step::More`] with nothing used, a full one
/// [`Step::Done`] with what was read.
///
/// # Errors
/// Whatever `read` gives, but [`WireError::Truncated`].
pub fn whole<T>(
    input: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, WireError>,
) -> Result<Step<T>, WireError> {
    let mut reader = Reader::new(input);
    match read(&mut reader) {
        Ok(value) => Ok(Step::Done { used: reader.used(), value }),
        Err(WireError::Truncated { need }) => Ok(Step::More { used: 0, need: need.max(1) }),
        Err(error) => Err(error),
    }
}
