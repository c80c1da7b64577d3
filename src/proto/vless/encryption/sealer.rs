//! What is written behind a handshake.

use bytes::BytesMut;
use zeroize::Zeroizing;

use super::aead::{Aead, Cipher, TAG};
use super::header::{HEADER, Hidden, header};
use crate::wire::{Next, Seal};

/// All keys that both sides agreed on: what only this connection knows, and what the server's own keys gave.
pub(super) type United = Zeroizing<Vec<u8>>;

/// Most plain bytes of a record, as Xray has it: they fit its buffers.
const MOST: usize = 8192;

/// Seals records.
pub struct Sealer {
    /// What stands in front of the first.
    head: Vec<u8>,
    aead: Aead,
    united: United,
    cipher: Cipher,
    hidden: Option<Hidden>,
    /// The layer above seals by itself now.
    left: bool,
    failed: bool,
}

impl Sealer {
    pub(super) fn new(head: Vec<u8>, aead: Aead, united: United, cipher: Cipher, hidden: Option<Hidden>) -> Self {
        Self { head, aead, united, cipher, hidden, left: false, failed: false }
    }

    #[cfg(test)]
    pub(super) fn spend(&mut self) {
        self.aead.spend();
    }

    /// Appends one record of `plain`, sealed where it lies; whether it could.
    fn record(&mut self, plain: &[u8], out: &mut BytesMut) -> bool {
        let from = out.len();
        let head = header((plain.len() + TAG) as u16);
        out.reserve(HEADER + plain.len() + TAG);
        out.extend_from_slice(&head);
        out.extend_from_slice(plain);
        let spent = self.aead.is_spent();
        let Ok(tag) = self.aead.seal(&head, &mut out[from + HEADER..]) else {
            out.truncate(from);
            return false;
        };
        out.extend_from_slice(&tag);
        if spent {
            let Ok(next) = Aead::new(&out[from..], &self.united, self.cipher) else { return false };
            self.aead = next;
        }
        if let Some(hidden) = &mut self.hidden {
            hidden.whole(&mut out[from..from + HEADER]);
        }
        true
    }
}

impl Seal for Sealer {
    fn seal(&mut self, plain: &[u8], out: &mut BytesMut) -> usize {
        if !self.head.is_empty() {
            out.extend_from_slice(&std::mem::take(&mut self.head));
        }
        let part = &plain[..plain.len().min(MOST)];
        if part.is_empty() {
            return 0;
        }
        if !self.left {
            // No cipher fails at lengths like ours; if one did, nothing may leave unsealed, now or later.
            self.failed = self.failed || !self.record(part, out);
        } else if let Some(hidden) = &mut self.hidden {
            let from = out.len();
            out.extend_from_slice(part);
            hidden.hide(&mut out[from..]);
        }
        part.len()
    }

    fn may_leave(&self) -> bool {
        true
    }

    fn leave(&mut self) -> Next {
        self.left = true;
        if self.hidden.is_some() { Next::Framed } else { Next::Bare }
    }
}
