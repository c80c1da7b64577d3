//! What is read behind a handshake.

use std::sync::Arc;

use super::aead::{Aead, Cipher, DENIED, TAG};
use super::ctr::Ctr;
use super::header::{HEADER, Hidden, Mode, length};
use super::memory::Memory;
use super::sealer::United;
use crate::wire::{Next, Open, Opened, WireError};

/// Opens records.
pub struct Opener {
    state: State,
    united: United,
    cipher: Cipher,
    hidden: Option<Hidden>,
    /// The header that stands in front, as it is in the clear: its bytes may be shown again.
    header: Option<[u8; HEADER]>,
    /// Where the ticket that this connection rests on is kept, until the server has shown that it knows it.
    resumed: Option<(Arc<Memory>, [u8; 16])>,
    /// The layer above opens by itself now.
    left: bool,
}

enum State {
    /// A client that resumed waits for the bytes that the server's key comes of.
    Random(Mode),
    /// A client has not read all of the server's padding.
    Padding(Aead, usize),
    Records(Aead),
}

/// Bytes by which a server that resumes begins.
pub(super) const RANDOM: usize = 16;

const STALE: WireError =
    WireError::Denied { what: "the server does not know the ticket any more; the next connection brings none" };

impl Opener {
    pub(super) fn new(aead: Aead, united: United, cipher: Cipher, hidden: Option<Hidden>) -> Self {
        Self { state: State::Records(aead), united, cipher, hidden, header: None, resumed: None, left: false }
    }

    /// Behind so many sealed bytes of padding.
    pub(super) fn padded(self, len: usize) -> Self {
        let State::Records(aead) = self.state else { return self };
        Self { state: State::Padding(aead, len), ..self }
    }

    /// Of a client that resumed.
    pub(super) fn resumed(
        united: United,
        cipher: Cipher,
        mode: Mode,
        memory: Arc<Memory>,
        ticket: [u8; RANDOM],
    ) -> Self {
        let (state, resumed) = (State::Random(mode), Some((memory, ticket)));
        Self { state, united, cipher, hidden: None, header: None, resumed, left: false }
    }

    #[cfg(test)]
    pub(super) fn spend(&mut self) {
        if let State::Records(aead) = &mut self.state {
            aead.spend();
        }
    }

    /// What follows the header in front of `input`.
    fn length(&mut self, input: &[u8]) -> Result<Option<([u8; HEADER], usize)>, WireError> {
        let header = match (self.header, input.first_chunk()) {
            (Some(header), _) => header,
            (None, None) => return Ok(None),
            (None, Some(&(mut header))) => {
                if let Some(hidden) = &mut self.hidden {
                    hidden.whole(&mut header);
                }
                *self.header.insert(header)
            }
        };
        let Some(len) = length(header) else {
            let Some((memory, ticket)) = self.resumed.take() else {
                return Err(WireError::Malformed { what: "header of a record" });
            };
            memory.forget(&ticket);
            return Err(STALE);
        };
        self.resumed = None;
        Ok(Some((header, len)))
    }
}

impl Open for Opener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        match &mut self.state {
            State::Random(mode) => {
                let Some(random) = input.first_chunk::<RANDOM>() else {
                    return Ok(Opened::More { need: RANDOM - input.len() });
                };
                self.hidden = (*mode == Mode::Random).then(|| Hidden::new(Ctr::new(&self.united, *random)));
                self.state = State::Records(Aead::new(random, &self.united, self.cipher)?);
                return Ok(Opened::Plain { used: RANDOM, at: 0..0 });
            }
            State::Padding(_, len) if input.len() < *len => return Ok(Opened::More { need: *len - input.len() }),
            State::Padding(aead, len) => {
                let used = *len;
                aead.open(&[], &mut input[..used])?;
                // The cipher moves on; a placeholder would need a key.
                let State::Padding(aead, _) = std::mem::replace(&mut self.state, State::Random(Mode::Native)) else {
                    return Err(DENIED);
                };
                self.state = State::Records(aead);
                return Ok(Opened::Plain { used, at: 0..0 });
            }
            State::Records(_) if self.left => {
                if input.is_empty() {
                    return Ok(Opened::More { need: 1 });
                }
                if let Some(hidden) = &mut self.hidden {
                    hidden.show(input);
                }
                return Ok(Opened::Plain { used: input.len(), at: 0..input.len() });
            }
            State::Records(_) => {}
        }
        let Some((header, len)) = self.length(input)? else {
            return Ok(Opened::More { need: HEADER - input.len() });
        };
        let end = HEADER + len;
        if input.len() < end {
            return Ok(Opened::More { need: end - input.len() });
        }
        let State::Records(aead) = &mut self.state else { return Err(DENIED) };
        let sealed = &mut input[HEADER..end];
        let next = match aead.is_spent() {
            true => Some(Aead::new(&[&header, &*sealed].concat(), &self.united, self.cipher)?),
            false => None,
        };
        aead.open(&header, sealed)?;
        if let Some(next) = next {
            *aead = next;
        }
        self.header = None;
        Ok(Opened::Plain { used: end, at: HEADER..end - TAG })
    }

    fn may_leave(&self) -> bool {
        true
    }

    fn leave(&mut self) -> Next {
        self.left = true;
        if self.hidden.is_some() { Next::Framed } else { Next::Bare }
    }
}
