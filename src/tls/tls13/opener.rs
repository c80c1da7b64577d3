//! Protected records into payload.

use aws_lc_rs::error::Unspecified;

use super::record::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, RecordKey, header};
use super::schedule::TrafficSecret;
use super::sealer::{KEY_UPDATE, Owed};
use crate::wire::{Open, Opened, WireError};

/// The reading half of a connection.
pub struct Opener {
    secret: TrafficSecret,
    key: RecordKey,
    owed: Owed,
    /// Records in a row that carried nothing.
    useless: usize,
}

/// As many as OpenSSL bears.
const PATIENCE: usize = 32;
const USER_CANCELED: u8 = 90;
const CLOSE_NOTIFY: u8 = 0;

impl Opener {
    pub(super) fn new(secret: TrafficSecret, owed: Owed) -> Result<Self, Unspecified> {
        Ok(Self { key: secret.key()?, secret, owed, useless: 0 })
    }

    fn nothing(&mut self, used: usize) -> Result<Opened, WireError> {
        self.useless += 1;
        if self.useless > PATIENCE {
            return Err(WireError::Malformed { what: "run of empty TLS records" });
        }
        Ok(Opened::Plain { used, at: 0..0 })
    }

    fn renew(&mut self) -> Result<(), Unspecified> {
        self.secret = self.secret.next()?;
        self.key = self.secret.key()?;
        Ok(())
    }
}

impl Open for Opener {
    fn open(&mut self, input: &mut [u8]) -> Result<Opened, WireError> {
        let (kind, body) = match header(input) {
            Err(WireError::Truncated { need }) => return Ok(Opened::More { need }),
            other => other?,
        };
        let used = HEADER + body;
        if input.len() < used {
            return Ok(Opened::More { need: used - input.len() });
        }
        let record = &mut input[..used];
        match kind {
            CHANGE_CIPHER_SPEC if record[HEADER..] == [1] => return self.nothing(used),
            APPLICATION_DATA => {}
            _ => return Err(WireError::Malformed { what: "TLS record outside the protection" }),
        }
        let (kind, len) = self.key.open(record)?;
        let content = &record[HEADER..HEADER + len];
        match (kind, content) {
            (APPLICATION_DATA, []) => self.nothing(used),
            (APPLICATION_DATA, _) => {
                self.useless = 0;
                Ok(Opened::Plain { used, at: HEADER..HEADER + len })
            }
            (ALERT, [_, CLOSE_NOTIFY]) => Ok(Opened::End { used }),
            (ALERT, [_, USER_CANCELED]) => self.nothing(used),
            (ALERT, _) => Err(WireError::Denied { what: "by a TLS alert" }),
            // Never cut in pieces: no stack does that to five bytes.
            (HANDSHAKE, [head @ .., ask @ (0 | 1)]) if *head == KEY_UPDATE => {
                if *ask == 1 {
                    self.owed.ask();
                }
                self.renew().map_err(|_| WireError::Malformed { what: "KeyUpdate" })?;
                self.nothing(used)
            }
            _ => Err(WireError::Malformed { what: "TLS message behind the handshake" }),
        }
    }

    fn may_leave(&self) -> bool {
        true
    }
}
