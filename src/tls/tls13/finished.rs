//! A server that has said everything and waits for the client's Finished.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::error::Unspecified;
use bytes::BytesMut;

use super::messages::finished;
use super::opener::Opener;
use super::record::{APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, RecordKey, header};
use super::schedule::{HandshakeSecrets, TrafficSecret, Transcript};
use super::sealer::{Owed, Sealer};
use crate::wire::{Handshake, Seal, Step, WireError};

/// The handshake's last step.
pub struct Waiting {
    key: RecordKey,
    expected: Vec<u8>,
    /// Useless records that are borne.
    patience: usize,
    useless: usize,
    ready: Option<Ready>,
    opened: BytesMut,
}

/// Both halves of a connection that stands.
pub struct Ready {
    /// What is read.
    pub opener: Opener,
    /// What is written.
    pub sealer: Sealer,
}

impl Waiting {
    /// After the server's Finished, with which `hashed` ends. `secrets` are those of the handshake, `client` and `server`
    /// those behind it.
    ///
    /// # Errors
    /// None that inputs could cause.
    pub fn new(
        secrets: &HandshakeSecrets,
        (client, server): (TrafficSecret, TrafficSecret),
        hashed: &Transcript,
        patience: usize,
    ) -> Result<Self, Unspecified> {
        let owed = Owed::default();
        let sealer = Sealer::new(server, owed.clone())?;
        let opener = Opener::new(client, owed)?;
        Ok(Self {
            key: secrets.client.key()?,
            expected: finished(&secrets.client.finished_key()?, hashed),
            patience,
            useless: 0,
            ready: Some(Ready { opener, sealer }),
            opened: BytesMut::new(),
        })
    }

    /// What may be said already: the writing half stands before the client has finished.
    pub fn sealer(&mut self) -> Option<&mut Sealer> {
        self.ready.as_mut().map(|ready| &mut ready.sealer)
    }

    fn record(&mut self, input: &[u8]) -> Result<Step<Ready>, WireError> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let (kind, body) = match header(rest) {
                Err(WireError::Truncated { need }) => return Ok(Step::More { used, need }),
                other => other?,
            };
            if rest.len() < HEADER + body {
                return Ok(Step::More { used, need: HEADER + body - rest.len() });
            }
            let record = &rest[..HEADER + body];
            used += record.len();
            if kind == CHANGE_CIPHER_SPEC && record[HEADER..] == [1] {
                self.useless += 1;
                if self.useless > self.patience {
                    return Err(WireError::Malformed { what: "run of empty TLS records" });
                }
                continue;
            }
            if kind != APPLICATION_DATA {
                return Err(WireError::Malformed { what: "TLS record outside the protection" });
            }
            self.opened.clear();
            self.opened.extend_from_slice(record);
            let (kind, len) = self.key.open(&mut self.opened)?;
            let content = &self.opened[HEADER..HEADER + len];
            // One record, as every stack sends it.
            if kind != HANDSHAKE || verify_slices_are_equal(content, &self.expected).is_err() {
                return Err(WireError::Denied { what: "Finished" });
            }
            let value = self.ready.take().ok_or(WireError::Malformed { what: "Finished" })?;
            return Ok(Step::Done { used, value });
        }
    }
}

impl Handshake for Waiting {
    type Output = Ready;

    fn step(&mut self, input: &[u8], reply: &mut Vec<u8>) -> Result<Step<Ready>, WireError> {
        let step = self.record(input);
        if let (Err(error), Some(ready)) = (&step, &mut self.ready) {
            let mut alert = BytesMut::new();
            ready.sealer.complain(error, &mut alert);
            reply.extend_from_slice(&alert);
        }
        step
    }
}
