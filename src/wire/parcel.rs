//! The contract of datagrams that travel inside a byte stream.

use std::ops::Range;

use bytes::BytesMut;

use super::error::WireError;
use super::seal::{Open, Opened, Seal};

/// Packs datagrams into a stream and finds them in one. One value serves one direction only, or both where the protocol
/// keeps no state.
pub trait Parcel: Send + Unpin {
    /// Whom a datagram goes to or comes from.
    type Peer;

    /// Appends one datagram in its wire form, with whatever must stand in front of the first; whether it could: one that is
    /// too large is dropped, and `out` stays as it was.
    fn pack(&mut self, payload: &[u8], peer: &Self::Peer, out: &mut BytesMut) -> bool;

    /// Looks at the front of `input` for one datagram, and opens it where it lies.
    ///
    /// # Errors
    /// [`WireError`] ends the association.
    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<Self::Peer>, WireError>;
}

/// What one call of [`Parcel::unpack`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpacked<P> {
    /// No whole datagram is there yet; so many bytes more are needed at least (never 0).
    More {
        /// Bytes still missing.
        need: usize,
    },
    /// A datagram was taken.
    Packet {
        /// Bytes of the input that are done with.
        used: usize,
        /// Where in the input its payload lies.
        at: Range<usize>,
        /// Its peer; `None` where the protocol names none and the association's own is meant.
        peer: Option<P>,
    },
    /// Something that carries no datagram was taken.
    Nothing {
        /// Bytes of the input that are done with.
        used: usize,
    },
    /// The peer ended the association.
    End,
}

/// A codec in whose frames datagrams fit, one each.
pub trait SealWhole: Seal {
    /// Most bytes of a datagram: no call of [`Seal::seal`] leaves some of so many over.
    const MOST: usize;
}

/// Datagrams as frames of a body codec, one each, in both directions, all with the association's own peer.
#[derive(Debug)]
pub struct Frames<C, O, P> {
    seal: C,
    open: O,
    peer: std::marker::PhantomData<fn(P)>,
}

impl<C: SealWhole, O: Open, P> Frames<C, O, P> {
    /// Of these two codecs.
    pub fn new(seal: C, open: O) -> Self {
        Self { seal, open, peer: std::marker::PhantomData }
    }
}

impl<C: SealWhole, O: Open, P> Parcel for Frames<C, O, P> {
    type Peer = P;

    fn pack(&mut self, payload: &[u8], _: &P, out: &mut BytesMut) -> bool {
        // Asked first: what was sealed once cannot be taken back, since the codec has counted it.
        payload.len() <= C::MOST && self.seal.seal(payload, out) == payload.len()
    }

    fn unpack(&mut self, input: &mut [u8]) -> Result<Unpacked<P>, WireError> {
        Ok(match self.open.open(input)? {
            Opened::More { need } => Unpacked::More { need },
            Opened::Plain { used, at } if at.is_empty() => Unpacked::Nothing { used },
            Opened::Plain { used, at } => Unpacked::Packet { used, at, peer: None },
            Opened::Over { .. } => return Err(WireError::Malformed { what: "body of datagrams" }),
            Opened::End { .. } => Unpacked::End,
        })
    }
}
