//! Bytes as they are behind a head.

use bytes::BytesMut;

use crate::wire::{Handshake, Next, Open, Opened, Seal, Step, WireError};

/// A head in front of the first bytes written, or none.
#[derive(Debug, Default)]
pub(super) struct Bared {
    head: Vec<u8>,
    begun: bool,
}

impl Bared {
    pub(super) fn behind(head: Vec<u8>) -> Self {
        Self { head, begun: false }
    }
}

impl Seal for Bared {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        self.begun = true;
        out.extend_from_slice(&std::mem::take(&mut self.head));
        out.extend_from_slice(plain);
        plain.len()
    }

    fn next(&self) -> Next {
        if self.begun { Next::Bare } else { Next::Framed }
    }
}

/// A head in front of the first bytes read, which is taken off.
#[derive(Debug)]
pub(super) struct Headless<H>(H);

impl<H: Handshake<Output = ()>> Headless<H> {
    /// By the handshake that reads it, which has nothing to say.
    pub(super) fn new(head: H) -> Self {
        Self(head)
    }
}

impl<H: Handshake<Output = ()> + Send + Unpin> Open for Headless<H> {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        Ok(match self.0.step(input, &mut Vec::new())? {
            Step::More { used: 0, need } => Opened::More { need },
            Step::More { used, .. } => Opened::Plain { used, at: used..used },
            Step::Done { used, .. } => Opened::Over { used, next: Next::Bare },
        })
    }
}
