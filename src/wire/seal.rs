//! The contract of every framed or encrypted body.

use std::ops::Range;

use bytes::BytesMut;

use super::error::WireError;

/// How a half of a body goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Next {
    /// In frames of this codec.
    #[default]
    Framed,
    /// Bare: what follows is payload as it is, and the layer below stays as it is too.
    Bare,
    /// Bare, and the layer below stops transforming as well (Vision's switch).
    Direct,
}

/// Turns plain bytes into wire bytes.
pub trait Seal: Send + Unpin {
    /// Takes bytes from the front of `plain`, appends their wire form to `out`, and says how many it took: more than
    /// none if there were any. Whatever must stand in front of the first bytes (a salt, a header) is appended by the first
    /// call; a call with nothing to seal appends that alone, and later nothing.
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize;

    /// How this half goes on behind all that was sealed so far. Once it is not [`Next::Framed`], `seal` is not called again.
    fn next(&self) -> Next {
        Next::Framed
    }

    /// Appends whatever tells the peer that this half is over; most protocols have nothing to say.
    fn finish(&mut self, _out: &mut BytesMut) {}

    /// Appends whatever tells the peer that its own half was not understood; most protocols just end.
    fn complain(&mut self, _error: &WireError, _out: &mut BytesMut) {}

    /// Whether the layer above may end this codec anywhere and go on bare, as Vision does with TLS.
    fn may_leave(&self) -> bool {
        false
    }

    /// The layer above does that: how this half goes on. A codec that stays, because it hides more than payload, says
    /// [`Next::Framed`].
    fn leave(&mut self) -> Next {
        Next::Bare
    }
}

/// Turns wire bytes into plain bytes, in place.
pub trait Open: Send + Unpin {
    /// Looks at the front of `input` for at most one frame, and opens it where it lies. A call must come to the same
    /// however the bytes were split over calls; bytes it did not use are shown again.
    ///
    /// # Errors
    /// [`WireError`] ends the stream.
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError>;

    /// As [`Seal::may_leave`].
    fn may_leave(&self) -> bool {
        false
    }

    /// As [`Seal::leave`].
    fn leave(&mut self) -> Next {
        Next::Bare
    }
}

/// What one call of [`Open::open`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// No whole frame is there yet; so many bytes more are needed at least (never 0), beside those that are there. What is
    /// asked for together with what is there is bounded by the protocol's longest frame.
    More {
        /// Bytes still missing.
        need: usize,
    },
    /// A frame was taken.
    Plain {
        /// Bytes of the input that are done with.
        used: usize,
        /// Where in the input its plain bytes lie; empty for a frame that carries none.
        at: Range<usize>,
    },
    /// Behind `used` bytes this half goes on as [`Next`] says, which is not [`Next::Framed`].
    Over {
        /// Bytes of the input that are done with.
        used: usize,
        /// How it goes on.
        next: Next,
    },
    /// The peer ended this half.
    End {
        /// Bytes of the input that are done with.
        used: usize,
    },
}
