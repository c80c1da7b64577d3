//! The contract of every framed or encrypted body.

use bytes::BytesMut;

use super::error::WireError;

/// Turns plain bytes into wire bytes.
pub trait Seal: Send {
    /// Takes bytes from the front of `plain`, appends their wire form to `out`, and says how many it took: more than
    /// none if there were any.
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize;

    /// Appends whatever tells the peer that this half is over; most protocols have nothing to say.
    fn finish(&mut self, _out: &mut BytesMut) {}
}

/// Turns wire bytes into plain bytes.
pub trait Open: Send {
    /// Takes at most one frame from the front of `input` and appends its plain bytes to `plain`.
    ///
    /// # Errors
    /// [`WireError`] ends the stream.
    fn open(&mut self, input: &mut BytesMut, plain: &mut BytesMut) -> Result<Opened, WireError>;
}

/// What one call of [`Open::open`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// No whole frame is there yet.
    NeedMore,
    /// A frame was taken and gave so many plain bytes (none for padding).
    Plain(usize),
    /// From here on this half goes plain: what is left of the input, and all that follows, is payload.
    Direct,
    /// The peer ended this half.
    End,
}
