//! The ClientHello of a connection, put together from its first packets.

use std::fmt;

use super::initial::{Client, frames, pieces};
use crate::proto::hello::ClientHello;
use crate::wire::WireError;

/// A hello that comes in pieces. Browsers cut theirs into several, in any order, and with keys that a quantum computer
/// does not break it fills two packets.
#[derive(Default)]
pub struct Hello {
    client: Option<Client>,
    bytes: Vec<u8>,
    /// What is there, as sorted ranges that do not touch.
    there: Vec<(usize, usize)>,
}

/// Longest hello that is put together, and most gaps in it.
const MOST: usize = 16 * 1024;
const GAPS: usize = 64;

impl Hello {
    /// Takes a datagram, and gives the hello once all of it is there.
    ///
    /// # Errors
    /// [`WireError`] for what is no first packet of a QUIC client.
    pub fn take(&mut self, datagram: &[u8]) -> Result<Option<ClientHello>, WireError> {
        let Self { client, bytes, there } = self;
        pieces(datagram, client, |at, piece| put(bytes, there, at, piece))?;
        self.whole()
    }

    /// Takes what stood in a packet that was opened already, and gives the hello once all of it is there.
    ///
    /// # Errors
    /// [`WireError`] for frames that no first packet has.
    pub fn take_frames(&mut self, plain: &[u8]) -> Result<Option<ClientHello>, WireError> {
        let Self { bytes, there, .. } = self;
        frames(plain, &mut |at, piece| put(bytes, there, at, piece))?;
        self.whole()
    }

    fn whole(&self) -> Result<Option<ClientHello>, WireError> {
        let Some((0, end)) = self.there.first() else { return Ok(None) };
        match ClientHello::from_handshake(&self.bytes[..*end]) {
            Ok(hello) => Ok(Some(hello)),
            Err(WireError::Truncated { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn put(bytes: &mut Vec<u8>, there: &mut Vec<(usize, usize)>, at: usize, piece: &[u8]) -> Result<(), WireError> {
    let end = at.checked_add(piece.len()).filter(|end| *end <= MOST).ok_or(WireError::TooLong)?;
    if there.len() >= GAPS {
        return Err(WireError::TooLong);
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(piece);
    there.push((at, end));
    there.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::with_capacity(there.len());
    for (from, to) in there.drain(..) {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    *there = joined;
    Ok(())
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello").field("there", &self.there).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
